import KVCloneLMDB
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneBranches
@testable import KVCloneCore
@testable import KVCloneRecords

/// Random entries of a store and of branches, compared with dictionaries: the backend of a branch has to be correct for
/// all keys of the tables that it layers, whichever of them a store would write.
@Suite("Overlays compared with dictionaries")
struct OverlayPropertyTests {
  static let roundCount = PropertySeeds.count(40)

  @Test("random changes, rollbacks and aborts", arguments: StorageKind.allCases, PropertySeeds.seeds)
  func random(_ kind: StorageKind, _ seed: UInt64) throws {
    let run = try OverlayRun(kind, seed)
    for _ in 0..<Self.roundCount { try run.step() }
    try run.end()
  }

  @Test(
    "B2, B3: many lookups in a transaction, before and after its writes, show the branch",
    arguments: [StorageKind.memory, .lmdb])
  func manyLookups(_ kind: StorageKind) throws {
    let fixture = try BranchFixture(kind)
    let store = fixture.store
    let tags = try store.write { tx in
      try (0..<200).map { try tx.insert("Tag", ["name": .string("tag \($0)")]) }
    }
    let branch = try store.branches.create("draft")
    var expected = Dictionary(uniqueKeysWithValues: tags.enumerated().map { ($1, "tag \($0)") })
    func change(_ tags: some Sequence<ObjectID>, to name: String, _ tx: inout WriteTransaction) throws {
      for (place, tag) in tags.enumerated() {
        if place.isMultiple(of: 3) {
          _ = try tx.delete([tag])
          expected[tag] = nil
        } else {
          try tx.set(tag, "name", .string("\(name) \(place)"))
          expected[tag] = "\(name) \(place)"
        }
      }
    }
    func expectAll(_ tx: borrowing some ObjectReading & ~Copyable) throws {
      // The objects of the layer are remembered after some thousand lookups.
      for _ in 0..<30 {
        for tag in tags {
          let name = try tx.exists(tag) ? tx.value(tag, "name") : nil
          #expect(name == expected[tag].map { .string($0) })
        }
      }
    }
    try branch.write { tx in try change(stride(from: 0, to: 200, by: 10).map { tags[$0] }, to: "changed", &tx) }
    try branch.read { tx in try expectAll(tx) }
    try branch.write { tx in
      try expectAll(tx)
      try change(stride(from: 5, to: 200, by: 10).map { tags[$0] }, to: "later", &tx)
      try expectAll(tx)
    }
    try branch.read { tx in try expectAll(tx) }
    #expect(try store.read { tx in try tx.value(tags[0], "name") } == .string("tag 0"))
  }
}

/// One sequence of random changes.
private final class OverlayRun {
  /// The entries by table and key.
  typealias State = [TableCode: [[UInt8]: [UInt8]]]

  private struct Branch {
    let store: ObjectStore
    var state: State
  }

  private let fixture: BranchFixture
  private var generator: SeededGenerator
  private var main: State = [:]
  private var branches: [String: Branch] = [:]
  private var names = 0
  private let tables: [StorageTable]
  private let root: UInt16
  /// The first serial that no snapshot sees.
  private var nextSerial: UInt64 = 1

  init(_ kind: StorageKind, _ seed: UInt64) throws {
    fixture = try BranchFixture(kind)
    generator = SeededGenerator(seed: seed)
    let schema = fixture.store.schema
    let book = try schema.entity("Book")
    root = book.rootCode
    tables = [book.table, schema.tables.links, schema.tables.indexes, schema.tables.provenance]
    for table in tables { main[table.code] = [:] }
    try reserveSerials()
    for _ in 0..<10 { try writeStore() }
  }

  /// Makes all ids that were used so far older than the next snapshot.
  private func reserveSerials() throws {
    var session = try fixture.store.writeSession(label: "test")
    _ = try session.reserveSerials(rootCode: root, count: 20)
    nextSerial += 20
    session.changes.isEmpty = false
    try session.writeCounters()
    try session.commitStorage()
  }

  func step() throws {
    switch Int.random(in: 0..<20, using: &generator) {
    case 0 where branches.count < 4:
      names += 1
      try reserveSerials()
      branches["b\(names)"] = Branch(store: try fixture.store.branches.create("b\(names)"), state: main)
    case 1:
      guard let name = branches.keys.sorted().randomElement(using: &generator) else { return }
      try fixture.store.branches.delete(name)
      branches[name] = nil
    case 2..<8:
      try writeStore()
    default:
      guard let name = branches.keys.sorted().randomElement(using: &generator) else { return }
      try write(name)
    }
    let view = StorageTransaction(try fixture.store.engine.beginRead())
    try expect(view, main, "store")
    for name in branches.keys.sorted() {
      guard let branch = branches[name] else { continue }
      try expect(StorageTransaction(try branch.store.engine.beginRead()), branch.state, name)
    }
  }

  /// Deletes all branches; nothing of them may remain.
  func end() throws {
    for name in branches.keys.sorted() { try fixture.store.branches.delete(name) }
    #expect(try fixture.remains() == [:])
  }

  // MARK: Changes

  private func writeStore() throws {
    var session = try fixture.store.writeSession(label: "test")
    var state = main
    for _ in 0..<Int.random(in: 1...8, using: &generator) {
      try change(&session.storage, &state, isOld: Bool.random(using: &generator))
    }
    if Int.random(in: 0..<4, using: &generator) == 0 { return }
    session.changes.isEmpty = false
    try session.writeCounters()
    try session.commitStorage()
    main = state
  }

  private func write(_ name: String) throws {
    guard let branch = branches[name] else { return }
    var storage = StorageTransaction(try branch.store.engine.beginWrite(label: "test", timeout: .seconds(5)))
    var state = branch.state
    for _ in 0..<Int.random(in: 1...4, using: &generator) {
      let isSavepoint = Bool.random(using: &generator)
      let before = state
      let savepoint = isSavepoint ? try storage.beginSavepoint(directory: { "/tmp" }) : nil
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        try change(&storage, &state, isOld: Bool.random(using: &generator))
      }
      if let savepoint {
        if Bool.random(using: &generator) {
          try storage.rollBack(to: savepoint)
          state = before
        } else {
          storage.release(savepoint)
        }
      }
      try expect(storage, state, name)
    }
    if Int.random(in: 0..<4, using: &generator) == 0 { return }
    try storage.commit()
    branches[name]?.state = state
  }

  private func change(_ storage: inout StorageTransaction, _ state: inout State, isOld: Bool) throws {
    guard let table = tables.randomElement(using: &generator) else { return }
    let key = key(table.code, isOld: isOld)
    if Int.random(in: 0..<3, using: &generator) == 0 {
      let existed = try storage.delete(table, key)
      let removed = state[table.code]?.removeValue(forKey: key)
      #expect(existed == (removed != nil))
    } else {
      let value = (0..<Int.random(in: 8..<40, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      try storage.put(table, key, value)
      state[table.code]?[key] = value
    }
  }

  /// A key of a table, with a horizon that tells old from new ones by the key.
  private func key(_ table: TableCode, isOld: Bool) -> [UInt8] {
    let serials = isOld ? 1..<nextSerial : nextSerial..<nextSerial + 20
    let id = ObjectID(rootCode: root, serial: UInt64.random(in: serials, using: &generator))
    switch table {
    case .links:
      let place = ObjectID(rootCode: root, serial: UInt64.random(in: serials, using: &generator))
      let kinds: [LinkKey.Kind] = [.chunk, .memberIndex, .positionDirectory]
      return ShortKey.link(
        LinkKey(
          owner: id, relationship: UInt16.random(in: 1...3, using: &generator),
          kind: kinds.randomElement(using: &generator) ?? .chunk, position: place.rawValue)
      ).array
    case .indexes:
      let index: [UInt8] = [0, 1]
      let value = (0..<Int.random(in: 0..<4, using: &generator)).map { _ in UInt8.random(in: 0...2, using: &generator) }
      return index + value + [9] + ShortKey.object(id).array
    default: return ShortKey.object(id).array
    }
  }

  // MARK: Comparison

  private func expect(_ storage: borrowing StorageTransaction, _ state: State, _ name: String) throws {
    for table in tables {
      let wanted = (state[table.code] ?? [:]).map { MemoryEntry(key: $0, value: $1) }
        .sorted { $0.key.lexicographicallyPrecedes($1.key) }
      let found = try storage.entries(table)
      #expect(found == wanted, "\(name), \(table.code)")
      if table.code.rootCode != nil {
        let count = try storage.entryCount(table)
        #expect(count == UInt64(wanted.count), "\(name)")
      }
      for _ in 0..<3 {
        let key = key(table.code, isOld: Bool.random(using: &generator))
        let value = try storage.value(table, key)
        #expect(value == state[table.code]?[key], "\(name), \(table.code)")
        let next = try storage.entry(table, key, .atOrAfter)
        #expect(next == wanted.first { !$0.key.lexicographicallyPrecedes(key) }, "\(name), \(table.code)")
        let last = try storage.entry(table, key, .atOrBefore)
        #expect(last == wanted.last { !key.lexicographicallyPrecedes($0.key) }, "\(name), \(table.code)")
        let some = try storage.entries(table, from: key, limit: 3)
        #expect(some == Array(wanted.filter { !$0.key.lexicographicallyPrecedes(key) }.prefix(3)), "\(name)")
      }
    }
  }
}
