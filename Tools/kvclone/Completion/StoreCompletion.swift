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

  private static func names(
    _ words: [String], _ prefix: String, _ body: (ObjectStore) throws -> [String]
  ) -> [String] {
    guard let text = storeText(words), let address = try? StoreAddress(text) else { return [] }
    var options = StoreOptions()
    options.isReadOnly = true
    options.keepsStaleReaders = true
    guard let store = try? address.withShortWait.open(options) else { return [] }
    defer { store.close() }
    return ((try? body(store)) ?? []).filter { $0.hasPrefix(prefix) }
  }

  /// The store named by the words so far, or by the environment.
  private static func storeText(_ words: [String]) -> String? {
    for (index, word) in words.enumerated() {
      if word == "-s" || word == "--store", index + 1 < words.count { return words[index + 1] }
      if word.hasPrefix("--store=") { return String(word.dropFirst("--store=".count)) }
    }
    let path = ProcessInfo.processInfo.environment["KVCLONE_STORE"] ?? ""
    return path.isEmpty ? nil : path
  }
}
