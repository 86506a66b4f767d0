import Foundation

/// Values that start with "-", which the argument parser treats as options: predicates, negative numbers, file names.
///
/// Used only for a command line that the parser rejects. Options keep their meaning; what does not look like one is a
/// value.
struct DashValues {
  /// The options of a command, as the parser describes it.
  private struct Command {
    var subcommands: [String: [String: Any]] = [:]
    /// `--limit`, `-s`; whether a value follows.
    var options: [String: (hasValue: Bool, longName: String?)] = [:]

    init(_ json: [String: Any]) {
      for command in json["subcommands"] as? [[String: Any]] ?? [] {
        if let name = command["commandName"] as? String { subcommands[name] = command }
      }
      for argument in json["arguments"] as? [[String: Any]] ?? [] {
        let names = (argument["names"] as? [[String: Any]] ?? []).compactMap { name -> String? in
          guard let text = name["name"] as? String else { return nil }
          return name["kind"] as? String == "long" ? "--\(text)" : "-\(text)"
        }
        let hasValue = argument["kind"] as? String == "option"
        for name in names { options[name] = (hasValue, names.first { $0.hasPrefix("--") }) }
      }
    }
  }

  /// Rewrites the command line to a form that the parser accepts: options with a value that begins with a dash as
  /// `--name=value`, and positional values behind `--`. Nil if no value begins with a dash, or if a word looks like an
  /// option and is not one.
  static func rewritten(_ arguments: [String]) -> [String]? {
    let description = try? JSONSerialization.jsonObject(with: Data(KVCloneTool._dumpHelp().utf8)) as? [String: Any]
    guard let root = description?["command"] as? [String: Any] else { return nil }
    var command = Command(root)
    var index = 0
    while index < arguments.count, let inner = command.subcommands[arguments[index]] {
      command = Command(inner)
      index += 1
    }
    let words = arguments[..<index]
    var options: [String] = []
    var values: [String] = []
    var hasDash = false
    while index < arguments.count {
      let argument = arguments[index]
      index += 1
      if argument == "--" {
        values += arguments[index...]
        break
      }
      if let option = command.options[argument] {
        guard option.hasValue, index < arguments.count else {
          options.append(argument)
          continue
        }
        let value = arguments[index]
        index += 1
        if let name = option.longName, value.hasPrefix("-"), value != "-", !isOption(value, of: command) {
          options.append("\(name)=\(value)")
          hasDash = true
        } else {
          options += [argument, value]
        }
      } else if isOption(argument, of: command) {
        options.append(argument)
      } else if argument.hasPrefix("-"), argument != "-" {
        if looksLikeOption(argument) { return nil }
        values.append(argument)
        hasDash = true
      } else {
        values.append(argument)
      }
    }
    return hasDash ? Array(words) + options + ["--"] + values : nil
  }

  /// Whether the parser accepts it as an option of the command: `--json`, `--limit=3`, `-qv`, `--`.
  private static func isOption(_ argument: String, of command: Command) -> Bool {
    if argument == "--" || command.options[argument] != nil { return true }
    if argument.hasPrefix("--"), let equals = argument.firstIndex(of: "=") {
      return command.options[String(argument[..<equals])]?.hasValue == true
    }
    return argument.count > 2 && argument.first == "-"
      && argument.dropFirst().allSatisfy { command.options["-\($0)"]?.hasValue == false }
  }

  /// Whether it is probably a misspelled option: `--nonsense`, `--limt=3`, `-x`. A comparison, `--n == 3`, is not.
  private static func looksLikeOption(_ argument: String) -> Bool {
    argument.wholeMatch(of: #/--?[A-Za-z][A-Za-z0-9-]*/#) != nil
      || argument.wholeMatch(of: #/--[A-Za-z][A-Za-z0-9-]*=(?:[^=].*)?/#) != nil
  }
}
