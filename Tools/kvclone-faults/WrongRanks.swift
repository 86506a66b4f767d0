import Foundation
import KVClone
import KVCloneLMDB

/// A planted bug: a long ordered list changes, but its directory or the rank of a member does not.
enum WrongRanks {
  private typealias Entries = [[UInt8]: [UInt8]]

  static func group(_ subject: DamageSubject, _ count: Int) -> TrialGroup {
    let trials = (0..<count).map { index in
      Trial(id: "rank:\(index)") { lane in
        try DamageSubject.write(subject.map.bytes, to: lane.root)
        var random = SeededGenerator(seed: subject.context.workload.seed, stream: 15_000_000 + UInt64(index))
        let path = lane.root + "/store"
        let before = try leaders(path)
        try moveSome(path, &random)
        let after = try leaders(path)
        // In a deterministic order.
        let changed = before.keys.filter { after[$0] != nil && after[$0] != before[$0] }.sorted {
          $0.lexicographicallyPrecedes($1)
        }
        guard let key = random.element(changed), let value = before[key] else {
          throw Finding("no list directory and no member rank has changed")
        }
        try put(value, at: key, path)
        switch try lane.examine(subject.context, root: lane.root, .opened) {
        case .ended(let ending): return "the process that examined the store ended: \(ending)"
        case .examined(let found): return found.damages.first.map { "check says \($0.kind): \($0.message)" }
        }
      }
    }
    return TrialGroup(title: "planted: wrong rank", trials: trials) { failures, trials in
      failures == trials ? nil : "\(trials - failures) of \(trials) wrong ranks were not detected"
    }
  }

  /// Moves a member far enough to change chunks.
  private static func moveSome(_ path: String, _ random: inout SeededGenerator) throws {
    let store = try ObjectStore.open(at: path)
    defer { store.close() }
    guard let project = try store.read({ try Workload.ids(of: "Project", in: $0) }).first else { return }
    let albums = try store.read { try $0.members(project, "albums") }
    let half = albums.count / 2
    let (from, to) = (random.below(half), half + random.below(half))
    try store.write { try $0.link(project, "albums", [albums[from]], at: to) }
  }

  /// The offset of the entry kind in a key of `links`; chunks have kind 0.
  private static let kindOffset = 10

  /// The entries of directories and member indexes.
  private static func leaders(_ path: String) throws -> Entries {
    let environment = try LMDBEnvironment.open(at: path)
    defer { environment.close() }
    var entries: Entries = [:]
    guard let table = try environment.openTables(["links"], create: false).first else { return [:] }
    let transaction = try environment.beginRead()
    try transaction.scan(table) { key, value in
      let key = key.withUnsafeBytes { Array($0) }
      if key[kindOffset] != 0 { entries[key] = value.withUnsafeBytes { Array($0) } }
      return true
    }
    return entries
  }

  private static func put(_ value: [UInt8], at key: [UInt8], _ path: String) throws {
    let environment = try LMDBEnvironment.open(at: path)
    defer { environment.close() }
    guard let table = try environment.openTables(["links"], create: false).first else { return }
    var transaction = try environment.beginWrite(label: "planted")
    try transaction.put(table, key.span.bytes, value.span.bytes)
    try transaction.commit()
  }
}
