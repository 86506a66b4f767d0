import Foundation
import Testing

/// The help of every command, from the argument parser's dump.
@Suite("kvclone: help")
struct HelpTests {
  private struct Command {
    /// `snapshot create`.
    let name: String
    let discussion: String
    /// `--json`, `-s`.
    let options: Set<String>
    let subcommands: [Command]

    init(_ json: [String: Any], below parent: String) {
      let own = json["commandName"] as? String ?? ""
      name = parent.isEmpty ? own : "\(parent) \(own)"
      discussion = json["discussion"] as? String ?? ""
      let arguments = json["arguments"] as? [[String: Any]] ?? []
      let names = arguments.flatMap { $0["names"] as? [[String: Any]] ?? [] }
      options = Set(
        names.map { ($0["kind"] as? String == "short" ? "-" : "--") + ($0["name"] as? String ?? "") })
      let isRoot = parent.isEmpty && own == "kvclone"
      let below = (json["subcommands"] as? [[String: Any]] ?? []).filter { $0["commandName"] as? String != "help" }
      let prefix = isRoot ? "" : name
      subcommands = below.map { Command($0, below: prefix) }
    }

    var all: [Command] { [self] + subcommands.flatMap(\.all) }

    /// The lines below EXAMPLES, one for each command in them.
    var examples: [String] {
      guard let range = discussion.range(of: "EXAMPLES:\n") else { return [] }
      return discussion[range.upperBound...].replacing(/\\\n\s+/, with: "")
        .split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }
  }

  private func root() throws -> Command {
    let run = try Scratch().run(["--experimental-dump-help"])
    return Command(try #require(try run.json()["command"] as? [String: Any]), below: "")
  }

  /// Returns the words of the `kvclone` command in a shell's command line.
  private static func words(_ line: String) -> [String] {
    var words: [String] = []
    var word = ""
    var quote: Character?
    for character in line + " " {
      if let open = quote {
        if character == open { quote = nil } else { word.append(character) }
      } else if character == "'" || character == "\"" {
        quote = character
      } else if character == " " {
        if !word.isEmpty { words.append(word) }
        word = ""
      } else {
        word.append(character)
      }
    }
    let start = words.firstIndex(of: "kvclone").map { $0 + 1 } ?? words.count
    return Array(words[start...].prefix { $0 != "|" && $0 != ">" })
  }

  @Test("every command shows examples, and an example has only options that there are")
  func examples() throws {
    let root = try root()
    let all = root.all
    #expect(all.count > 40)
    let global: Set<String> = ["-s", "--store", "--json", "-q", "--quiet", "-v", "--verbose"]
    for command in all {
      #expect(!command.examples.isEmpty, "\(command.name) has no examples")
      for example in command.examples {
        var words = Self.words(example)[...]
        #expect(!words.isEmpty, "\(command.name): \(example) does not run kvclone")
        while let word = words.first, word.hasPrefix("-"), global.contains(word) {
          words.removeFirst()
          if word == "-s" || word == "--store" { _ = words.popFirst() }
        }
        var shown = root
        while let next = shown.subcommands.first(where: {
          $0.name.hasSuffix(words.first ?? "-") && $0.name.split(separator: " ").last.map(String.init) == words.first
        }) {
          shown = next
          words.removeFirst()
        }
        let isOwn = shown.name == command.name || shown.name.hasPrefix(command.name + " ")
        #expect(
          isOwn || command.name == "kvclone" || command.examples.count > 1, "\(command.name) shows \(shown.name)")
        for word in words where word.hasPrefix("-") && word.count > 1 {
          let option = String(word.prefix { $0 != "=" })
          let isThere = shown.options.contains(option) || option == "--generate-completion-script"
          #expect(isThere, "\(command.name): \(example): \(shown.name) has no \(option)")
        }
      }
    }
  }

  @Test("help has lines of at most 80 columns, but for what the usage line and examples need")
  func width() throws {
    let scratch = try Scratch()
    for command in try root().all {
      let words = command.name.split(separator: " ").map(String.init)
      let run = try scratch.run((command.name == "kvclone" ? [] : words) + ["--help"])
      #expect(run.code == 0 && run.errors.isEmpty)
      let lines = run.text.split(separator: "\n").filter { !$0.hasPrefix("USAGE:") }
      #expect(lines.allSatisfy { $0.count <= 80 }, "\(command.name): \(lines.filter { $0.count > 80 })")
    }
  }

  @Test("no command: short help; no subcommand: those there are")
  func bare() throws {
    let scratch = try Scratch()
    let bare = try scratch.run([])
    #expect(bare.code == 0 && bare.errors.isEmpty)
    let lines = bare.text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count < 16 && lines.allSatisfy { $0.count <= 80 }, "\(lines.filter { $0.count > 80 })")
    // The commands that the help names exist.
    let names = Set(try root().subcommands.map(\.name))
    for command in ["demo", "init", "load", "query", "clone", "check"] {
      #expect(bare.text.contains(" \(command)") && names.contains(command))
    }
    #expect(bare.text.contains("kvclone --help"))
    for group in ["snapshot", "branch", "model", "blob"] {
      let run = try scratch.run([group])
      #expect(run.code == 0 && run.text.contains("SUBCOMMANDS:"), "\(group)")
    }
  }
}
