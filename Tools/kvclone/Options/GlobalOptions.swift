import ArgumentParser
import Foundation
import KVClone
import KVCloneExplorer

/// Options of all commands, before or after the command's name.
struct GlobalOptions: ParsableArguments {
  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "The store's directory, or its URL in a cluster: postgresql://USER@HOST/DATABASE/NAME (default: $KVCLONE_STORE).",
      valueName: "path"),
    completion: .directory)
  var store: String?

  @Option(
    help: ArgumentHelp("Work on this branch of the store (default: the store itself).", valueName: "name"),
    completion: StoreCompletion.branches)
  var branch: String?

  @Flag(help: "Write JSON to stdout, and errors as JSON lines to stderr.")
  var json = false

  @Flag(name: [.short, .long], help: "Suppress non-essential output.")
  var quiet = false

  @Flag(name: [.short, .long], help: "Print more details to stderr.")
  var verbose = false

  @Flag(name: .customLong("no-color"), help: "Disable colored output (as NO_COLOR does).")
  var noColor = false

  @Flag(name: .customLong("no-progress"), help: "Disable progress output.")
  var noProgress = false

  /// The store's address, from the option or the environment.
  func storeAddress() throws -> StoreAddress {
    if let store {
      // A script's unset variable must not lead to the default store.
      guard !store.isEmpty else { throw Failure(usage: "--store is an empty string; give a path") }
      return try StoreAddress(store)
    }
    if let store = ProcessInfo.processInfo.environment["KVCLONE_STORE"], !store.isEmpty {
      return try StoreAddress(store)
    }
    throw Failure(usage: "no store is given; use --store PATH, or set KVCLONE_STORE")
  }

  /// Whether a store is given, by the option or the environment.
  var hasStore: Bool {
    store?.isEmpty == false || ProcessInfo.processInfo.environment["KVCLONE_STORE"]?.isEmpty == false
  }

  /// The path of the store's directory, from the option or the environment.
  ///
  /// - Parameters:
  ///   - operation: what needs the directory: the subject of the error.
  ///   - remedy: the end of the error; by default, to copy the store to a directory.
  /// - Throws: `unsupportedByEngine` for a store in a cluster.
  func storePath(for operation: String, remedy: String? = nil) throws -> String {
    try storeAddress().directory(for: operation, remedy: remedy)
  }

  /// Opens the store, which contains its model, or its branch of --branch.
  func openStore(isReadOnly: Bool) throws -> ObjectStore {
    // Not the default: what a script does with a branch must not happen to the store.
    if branch?.isEmpty == true { throw Failure(usage: "--branch is an empty string; give the name of a branch") }
    var options = StoreOptions()
    options.isReadOnly = isReadOnly
    let store = try storeAddress().open(options)
    guard let branch else { return store }
    do {
      return try store.branches.open(branch)
    } catch {
      store.close()
      throw error
    }
  }

  /// Closes a store that `openStore` has opened; of a branch, also the store.
  static func close(_ store: ObjectStore) { (store.parent ?? store).close() }

  /// Writes a result: the members of an object with --json, else a text.
  func show(_ members: (inout JSONWriter) throws -> Void, text: (Output) throws -> Void) throws {
    let output = Output()
    if json { return try output.json(members) }
    try text(output)
    try output.flush()
  }

  /// Writes a result: the members of an object with --json, else a text, which --quiet omits.
  func report(_ members: (inout JSONWriter) throws -> Void, text: (Output) throws -> Void) throws {
    if json || !quiet { try show(members, text: text) }
  }

  /// Writes an informational message to stderr, unless --quiet is set.
  func note(_ text: String) {
    if !quiet, !json { StandardError.write(Text.folded(text, to: Terminal.width(ofDescriptor: 2)) + "\n") }
  }

  /// Writes further information for --verbose.
  func detail(_ text: String) {
    if verbose, !json { StandardError.write(text + "\n") }
  }
}

/// Moves global options before the command behind it, because the parser reads them with the command.
enum CommandLineOrder {
  private static let flags: Set<String> = [
    "--json", "-q", "--quiet", "-v", "--verbose", "--no-color", "--no-progress",
  ]
  private static let optionsWithValue: Set<String> = ["-s", "--store", "--branch"]
  /// Commands with subcommands.
  private static let groups: Set<String> = ["model", "blob", "snapshot", "branch", "cluster"]

  static func globalsAfterCommand(_ arguments: [String]) -> [String] {
    var globals: [String] = []
    var index = takeGlobals(arguments, from: 0, into: &globals)
    guard index < arguments.count, !arguments[index].hasPrefix("-") else {
      return arguments
    }
    var words = [arguments[index]]
    index += 1
    if groups.contains(words[0]) {
      // `kvclone model --json show` as well.
      index = takeGlobals(arguments, from: index, into: &globals)
      if index < arguments.count, !arguments[index].hasPrefix("-") {
        words.append(arguments[index])
        index += 1
      }
    }
    let rest = arguments[index...]
    return words + globals + (words == ["branch", "diff"] ? comparingWithStore(rest) : Array(rest))
  }

  /// In `branch diff NAME --store`, the option has no value: it is the other state of the comparison.
  private static func comparingWithStore(_ arguments: ArraySlice<String>) -> [String] {
    arguments.indices.map { index in
      let isFlag = arguments[index] == "--store" && (arguments[index...].dropFirst().first ?? "-").hasPrefix("-")
      return isFlag ? "--against-store" : arguments[index]
    }
  }

  /// Several one-letter flags in one word: `-qv`.
  private static func isBundle(_ argument: String) -> Bool {
    argument.count > 2 && argument.first == "-" && argument.dropFirst().allSatisfy { "qv".contains($0) }
  }

  private static func takeGlobals(_ arguments: [String], from start: Int, into globals: inout [String]) -> Int {
    var index = start
    while index < arguments.count {
      let argument = arguments[index]
      if flags.contains(argument) || argument.hasPrefix("--store=") || argument.hasPrefix("--branch=")
        || isBundle(argument)
      {
        globals.append(argument)
      } else if optionsWithValue.contains(argument), index + 1 < arguments.count {
        globals += [argument, arguments[index + 1]]
        index += 1
      } else {
        break
      }
      index += 1
    }
    return index
  }
}
