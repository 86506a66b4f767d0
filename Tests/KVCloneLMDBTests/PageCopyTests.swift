import Foundation
import Testing

@testable import KVCloneLMDB

/// The compact copy of a file: the same entries in sound trees, and nothing else.
@Suite struct PageCopyTests {
  /// Copies the state of the fixture's file.
  private func copy(_ store: TemporaryStore, to path: String, watch: PageWatch? = nil) throws -> UInt64 {
    let file = try PageFile(at: store.path, watch: watch)
    let copy = try StoreCopy(to: path)
    let pages = try copy.copyPages(of: file) { _ in }
    try copy.sync(isForgotten: true)
    try copy.publish()
    return pages
  }

  private static func entries(_ path: String) throws -> [String: [[UInt8]: [UInt8]]] {
    let environment = try LMDBEnvironment.open(at: path)
    defer { environment.close() }
    var entries: [String: [[UInt8]: [UInt8]]] = [:]
    for name in try environment.tableNames() {
      try environment.openTables([name], create: false)
      let table = try environment.table(named: name)
      var found: [[UInt8]: [UInt8]] = [:]
      let transaction = try environment.beginRead()
      try transaction.scan(table) { (key, value) throws(LMDBError) in
        found[key.withUnsafeBytes { Array($0) }] = value.withUnsafeBytes { Array($0) }
        return true
      }
      entries[name] = found
    }
    return entries
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func hasTheSameEntriesInFullPages(seed: UInt64) throws {
    let fixture = try PageFixture(seed: seed, rounds: 3 + Int(seed % 3), entries: seed % 2 == 0 ? 400 : 2500)
    let path = fixture.store.root + "/copy"
    let pages = try copy(fixture.store, to: path)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["data.mdb"], "seed \(seed)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.store.root).sorted() == ["copy", "store"])
    let source = try PageFile(at: fixture.store.path).meta
    do {
      let file = try PageFile(at: path)
      let map = try file.walk()
      #expect(map.findings == [], "seed \(seed)")
      #expect(map.freePages == 0 && map.usedPages == pages && file.byteCount == pages * 4096, "seed \(seed)")
      #expect(file.meta?.commitNumber == source?.commitNumber)
      let before = try PageFile(at: fixture.store.path).walk().usedPages
      #expect(pages <= before, "seed \(seed)")
    }
    let isSame = try Self.entries(path) == Self.entries(fixture.store.path)
    #expect(isSame, "seed \(seed)")
    // The copy is a store that can be written, with either meta page.
    for round in 0..<3 {
      let environment = try LMDBEnvironment.open(at: path)
      try environment.openTables(PageFixture.names, create: false)
      try PageFixture.fill(environment, seed: seed + 100, rounds: 2, entries: 300)
      #expect(try environment.auditPages().isConsistent, "seed \(seed), round \(round)")
      environment.close()
      #expect(try PageFile(at: path).walk().findings == [], "seed \(seed), round \(round)")
    }
  }

  /// Nodes of every length around a page's limits, and branches of the longest keys, in many levels.
  @Test func treesOfManyLevels() throws {
    let store = try TemporaryStore()
    let environment = try store.create(["a", "b", "c"])
    var writer = try environment.beginWrite()
    for (index, name) in ["a", "b", "c"].enumerated() {
      let table = try environment.table(named: name)
      for number in 0..<(index == 0 ? 4000 : 700) {
        let key =
          Array(String(format: "%06d", number).utf8) + [UInt8](repeating: 0x2E, count: index == 0 ? 505 : number % 500)
        let value = [UInt8](repeating: 1, count: index == 2 ? 1300 + number : number % 40)
        try writer.put(table, key.span.bytes, value.span.bytes)
      }
    }
    try writer.commit()
    environment.close()
    let path = store.root + "/copy"
    _ = try copy(store, to: path)
    let map = try PageFile(at: path).walk()
    #expect(map.findings == [])
    #expect(map.tables.map(\.tree.depth).max() ?? 0 >= 4)
    let isSame = try Self.entries(path) == Self.entries(store.path)
    #expect(isSame)
  }

  @Test func nothingThatWasDeletedIsLeft() throws {
    let store = try TemporaryStore()
    let environment = try store.create()
    let table = try environment.table(named: "a")
    let secret = "a secret that was deleted"
    for round in 0..<3 {
      var writer = try environment.beginWrite()
      for number in 0..<600 {
        try writer.put(table, "k\(number)", number % 3 == round ? secret : String(repeating: "x", count: number % 90))
      }
      // Also in keys: LMDB leaves some in the branches above. And in a value on overflow pages that is replaced by a
      // shorter one.
      for number in 0..<400 { try writer.put(table, "\(secret) \(number)", "value") }
      try writer.put(table, "long", String(repeating: secret, count: 2000))
      try writer.commit()
      writer = try environment.beginWrite()
      for number in 0..<600 where number % 3 == round { try writer.put(table, "k\(number)", "short") }
      for number in 0..<400 { _ = try writer.delete(table, "\(secret) \(number)") }
      try writer.put(table, "long", String(repeating: "y", count: 9000))
      try writer.commit()
    }
    environment.close()
    let needle = Data(secret.utf8)
    #expect(try Data(contentsOf: URL(fileURLWithPath: store.data)).range(of: needle) != nil)
    let path = store.root + "/copy"
    _ = try copy(store, to: path)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path + "/data.mdb")).range(of: needle) == nil)
    let isSame = try Self.entries(path) == Self.entries(store.path)
    #expect(isSame)
  }

  @Test func noDamageMakesItCrashAndNoneIsTakenOver() throws {
    let fixture = try PageFixture(entries: 500)
    _ = try fixture.walk { _ in }
    let sound = try Self.entries(fixture.store.path)
    for seed in 0..<150 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let map = try fixture.walk { bytes in
        for _ in 0..<1 + generator.next() % 3 {
          let page = Int(generator.next() % UInt64(bytes.count / 4096)) * 4096
          let offset = page + Int(generator.next() % (generator.next() % 2 == 0 ? 64 : 4096))
          bytes[offset] = UInt8(truncatingIfNeeded: generator.next())
        }
        if seed % 20 == 0 { bytes.removeLast(Int(generator.next() % UInt64(bytes.count - 8192))) }
      }
      let path = fixture.store.root + "/copy\(seed)"
      defer { try? FileManager.default.removeItem(atPath: path) }
      do {
        _ = try copy(fixture.store, to: path)
      } catch PageCopyError.corrupted {
        // Surplus overflow pages of a value, for example, are no obstacle; a rejected file was corrupted.
        #expect(!map.findings.isEmpty, "seed \(seed)")
        #expect(!FileManager.default.fileExists(atPath: path))
        continue
      }
      #expect(try PageFile(at: path).walk().findings == [], "seed \(seed)")
      if map.findings.isEmpty {
        // Values may have changed: they have no checksums here.
        #expect(try Self.entries(path).mapValues(\.count) == sound.mapValues(\.count), "seed \(seed)")
      }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.store.root) == ["store"])
  }

  @Test func itIsStoppedAndLeavesNothing() throws {
    let fixture = try PageFixture(entries: 6000)
    _ = try fixture.walk { _ in }
    do {
      _ = try copy(fixture.store, to: fixture.store.root + "/copy", watch: PageWatch { _ in false })
      Issue.record("it was not stopped")
    } catch PageCopyError.stopped {}
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.store.root) == ["store"])
  }

  @Test func aCopyThatDiedBeforeItsNameIsSwept() throws {
    let store = try TemporaryStore()
    try store.prepare()
    // A copy that was killed before it was published: its lock is released, and no process has marked its file.
    let dead = store.root + "/.copy.creating-abcdef"
    try FileSystem.createDirectory(dead)
    try Data(count: 4096).write(to: URL(fileURLWithPath: dead + "/data.mdb"))
    let empty = store.root + "/.copy.creating-ghijkl"
    try FileSystem.createDirectory(empty)
    // A copy in progress is kept, with its lock and without.
    let copy = try StoreCopy(to: store.root + "/copy")
    #expect(try !FileSystem.exists(dead) && !FileSystem.exists(empty))
    let directory = copy.directory
    CreationDirectory.sweep(for: StorePaths(store.root + "/copy"))
    #expect(try FileSystem.exists(directory + "/data.mdb"))
    FileSystem.removeFile(directory + "/writer.lock")
    CreationDirectory.sweep(for: StorePaths(store.root + "/copy"))
    #expect(try FileSystem.exists(directory + "/data.mdb"))
    let file = try PageFile(at: store.path)
    _ = try copy.copyPages(of: file) { _ in }
    try copy.publish()
    #expect(try PageFile(at: store.root + "/copy").walk().findings == [])
  }
}
