import ArgumentParser
import Foundation
import KVClone

/// Shell completion of names in the store: that of --store, or of the environment. If it does not exist or cannot be
/// opened, the completion is silently empty.
enum StoreCompletion {
  /// The number of completed objects per entity: users look for the first ones, or type the number.
  private static let objectLimit = 20
  /// The number of objects that are examined for that.
  private static let lookLimit = 100_000

  /// Entities.
  static let entities = CompletionKind.custom { words, _, prefix in
    names(words, prefix) { store in store.model.entities.map(\.name) }
  }

  /// The first objects of each entity, or of the typed entity.
  static let objects = CompletionKind.custom { words, _, prefix in
    names(words, prefix) { store in
      let typed = prefix.firstIndex(of: "/").map { String(prefix[..<$0]) }
      var names: [String] = []
      for entity in store.model.entities where !entity.isAbstract && (typed == nil || typed == entity.name) {
        guard typed != nil || entity.name.hasPrefix(prefix) else { continue }
        var count = 0
        var looked = 0
        try store.read { transaction in
          try transaction.forEachObject(of: entity.name) { object in
            if object.name.hasPrefix(prefix) {
              names.append(object.name)
              count += 1
            }
            looked += 1
            return count < objectLimit && looked < lookLimit
          }
        }
      }
      return names
    }
  }

  /// Snapshots.
  static let snapshots = CompletionKind.custom { words, _, prefix in
    names(words, prefix) { store in try store.snapshots().map(\.name) }
  }

  /// Branches.
  static let branches = CompletionKind.custom { words, _, prefix in
    names(words, prefix, onBranch: false) { store in try store.branches.list().map(\.name) }
  }

  /// - Parameter onBranch: whether to look at the branch that the words name.
  private static func names(
    _ words: [String], _ prefix: String, onBranch: Bool = true, _ body: (ObjectStore) throws -> [String]
  ) -> [String] {
    guard let text = value(of: ["-s", "--store"], words) ?? environmentStore, let address = try? StoreAddress(text)
    else { return [] }
    var options = StoreOptions()
    options.isReadOnly = true
    options.keepsStaleReaders = true
    guard let store = try? address.withShortWait.open(options) else { return [] }
    defer { store.close() }
    var shown = store
    if onBranch, let name = value(of: ["--branch"], words) {
      guard let branch = try? store.branches.open(name) else { return [] }
      shown = branch
    }
    return ((try? body(shown)) ?? []).filter { $0.hasPrefix(prefix) }
  }

  /// The value of an option in the words so far.
  private static func value(of names: [String], _ words: [String]) -> String? {
    for (index, word) in words.enumerated() {
      if names.contains(word), index + 1 < words.count { return words[index + 1] }
      for name in names where name.hasPrefix("--") && word.hasPrefix("\(name)=") {
        return String(word.dropFirst(name.count + 1))
      }
    }
    return nil
  }

  private static var environmentStore: String? {
    let path = ProcessInfo.processInfo.environment["KVCLONE_STORE"] ?? ""
    return path.isEmpty ? nil : path
  }
}
