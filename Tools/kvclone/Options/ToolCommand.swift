import ArgumentParser
import KVClone

/// A command with the global options.
protocol ToolCommand: ParsableCommand {
  var global: GlobalOptions { get }
}

/// A command that concerns the whole store, or none: it refuses --branch.
protocol WholeStoreCommand: ToolCommand {}

extension WholeStoreCommand {
  /// - Throws: a usage error if a branch is given.
  func requireNoBranch() throws {
    guard global.branch != nil else { return }
    throw Failure(usage: "the command works on the whole store; remove --branch")
  }
}

/// A command that first opens the store, and closes it at the end.
protocol StoreCommand: ToolCommand {
  var isReadOnly: Bool { get }

  /// Checks the arguments before the store is opened.
  func prepare() throws

  func run(_ store: ObjectStore) throws
}

extension StoreCommand {
  func prepare() throws {}

  func run() throws {
    try prepare()
    let store = try global.openStore(isReadOnly: isReadOnly)
    defer { GlobalOptions.close(store) }
    try run(store)
  }
}

/// A command that reads the store.
protocol ReadingCommand: StoreCommand {}

extension ReadingCommand {
  var isReadOnly: Bool { true }
}

/// A command that changes the store.
protocol WritingCommand: StoreCommand {}

extension WritingCommand {
  var isReadOnly: Bool { false }
}
