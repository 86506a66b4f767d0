import Foundation
import Testing

@testable import KVCloneLMDB

/// The walk finds nothing in files that LMDB writes, and every violation of a rule that LMDB relies on.
@Suite struct PageWalkTests {
  // MARK: Sound files

  @Test(arguments: [1, 2, 3] as [UInt64]) func whatLMDBWritesIsSound(seed: UInt64) throws {
    let store = try TemporaryStore()
    let environment = try store.create(PageFixture.names)
    for round in 0..<4 {
      try PageFixture.fill(environment, seed: seed &+ UInt64(round) * 100, rounds: 2, entries: 1200)
      let file = try PageFile(pinning: environment)
      let map = try file.walk()
      #expect(map.findings == [], "seed \(seed), round \(round)")
      let audit = try environment.auditPages()
      #expect(map.usedPages == audit.used && map.freePages == audit.free && map.pageCount == audit.total)
      #expect(map.tables.map(\.name) == PageFixture.names)
      for table in map.tables {
        #expect(table.tree.entries == UInt64(try environment.sizes(environment.table(named: table.name)).entries))
      }
    }
    environment.close()
    #expect(try PageFile(at: store.path).walk().findings == [])
  }

  @Test func aNewFileIsSound() throws {
    let store = try TemporaryStore()
    try store.create(["a"]).close()
    #expect(try PageFile(at: store.path).walk().findings == [])
  }

  /// The last pages are of a large value that was put and deleted in one transaction.
  @Test func aFileThatEndsBeforeItsLastPageCanBeSound() throws {
    let store = try TemporaryStore()
    var options = LMDBOptions()
    options.spillBudget = 0
    let environment = try store.create(["a"], options)
    let table = try environment.table(named: "a")
    // The other pages that the transaction needs were freed by earlier ones.
    for round in 0..<8 {
      var writer = try environment.beginWrite()
      for number in 0..<200 { try writer.put(table, "key \(number)", "value \(round)") }
      try writer.commit()
    }
    let value = [UInt8](repeating: 1, count: 1 << 20)
    var writer = try environment.beginWrite()
    try writer.put(table, "key 1", "another value")
    let key: [UInt8] = [0xFF]
    try writer.put(table, key.span.bytes, value.span.bytes)
    let isDeleted = try writer.delete(table, key.span.bytes)
    #expect(isDeleted)
    try writer.commit()
    let file = try PageFile(pinning: environment)
    #expect(file.byteCount < (try #require(file.meta).lastPage + 1) * UInt64(LMDBLimits.pageSize))
    #expect(try file.walk().findings == [])
  }

  @Test func pinnedPagesStayWhileOthersAreWritten() throws {
    let store = try TemporaryStore()
    let environment = try store.create(PageFixture.names)
    try PageFixture.fill(environment, seed: 9, rounds: 2, entries: 800)
    let file = try PageFile(pinning: environment)
    let before = try file.walk()
    for round in 0..<4 { try PageFixture.fill(environment, seed: UInt64(50 + round), rounds: 1, entries: 800) }
    let after = try file.walk()
    #expect(after.findings == [] && after.usedPages == before.usedPages && after.pageCount == before.pageCount)
    #expect(try PageFile(pinning: environment).walk().findings == [])
  }

  @Test func aFileOfOurOwnIsNotOpenedTwice() throws {
    let store = try TemporaryStore()
    let environment = try store.create(["a"])
    #expect(throws: LMDBError.alreadyOpen(path: store.data)) { _ = try PageFile(at: store.path) }
    environment.close()
    do {
      let file = try PageFile(at: store.path)
      #expect(throws: LMDBError.alreadyOpen(path: store.data)) { _ = try store.open() }
      #expect(file.isStillCurrent)
    }
    try store.open().close()
  }

  // MARK: Corrupted pages

  /// A change of one page's bytes, and the expected finding.
  struct Change: Sendable, CustomTestStringConvertible {
    let name: String
    let problem: PageProblem
    let change: @Sendable (inout [UInt8], Int, PageFixture) -> Void
    var testDescription: String { name }
  }

  static let leafChanges: [Change] = [
    Change(name: "number", problem: .wrongNumber) { bytes, base, _ in bytes[base] ^= 1 },
    Change(name: "flags", problem: .wrongKind) { bytes, base, _ in bytes[base + 10] = 1 },
    Change(name: "dirty", problem: .wrongKind) { bytes, base, _ in bytes[base + 10] |= 0x10 },
    Change(name: "lower", problem: .badBounds) { bytes, base, _ in bytes[base + 12] ^= 1 },
    Change(name: "fewer", problem: .badBounds) { bytes, base, file in
      bytes.put16(file.word16(base + 12) - 2, at: base + 12)
    },
    Change(name: "none", problem: .badBounds) { bytes, base, _ in bytes.put16(16, at: base + 12) },
    Change(name: "upper", problem: .badBounds) { bytes, base, _ in bytes.put16(5000, at: base + 14) },
    Change(name: "offset", problem: .badEntry) { bytes, base, _ in bytes.put16(4095, at: base + 16) },
    Change(name: "into the header", problem: .badEntry) { bytes, base, _ in bytes.put16(0, at: base + 16) },
    Change(name: "key length", problem: .badEntry) { bytes, base, file in
      bytes.put16(600, at: file.nodes(base / 4096)[0] + 6)
    },
    Change(name: "no key", problem: .badEntry) { bytes, base, file in bytes.put16(0, at: file.nodes(base / 4096)[0] + 6)
    },
    Change(name: "data length", problem: .badEntry) { bytes, base, file in
      guard let node = file.nodes(base / 4096).first(where: { file.word16($0 + 4) == 0 }) else { return }
      bytes[node + 2] = 9
    },
    Change(name: "misplaced", problem: .misplacedKey) { bytes, base, file in
      bytes[file.nodes(base / 4096)[0] + 8] = 0
    },
    Change(name: "zero", problem: .wrongNumber) { bytes, base, _ in
      for index in base..<base + 4096 { bytes[index] = 0 }
    },
  ]

  @Test(arguments: leafChanges) func damagedLeavesAreFound(_ change: Change) throws {
    let fixture = try PageFixture()
    // Not the first page, which has no key before it that could be misplaced; a page with keys that all begin with
    // another byte.
    let page = try #require(
      try fixture.pages("alpha", flag: PageView.leafFlag).last { fixture.sound[fixture.nodes($0)[0] + 8] == 0xFF })
    let map = try fixture.walk { change.change(&$0, page * 4096, fixture) }
    #expect(map.findings == [PageFinding(page: UInt64(page), table: "alpha", key: nil, problem: change.problem)])
    // One range of keys is lost, and everything else can be read.
    let lost = try #require(map.lost["alpha"]?.first)
    #expect(map.lost["alpha"]?.count == 1 && map.lost.count == 1 && lost.page == UInt64(page))
    let damaged = try entries(fixture, map)
    let sound = try entries(fixture, try fixture.walk { _ in })
    let high = lost.high ?? [0xFF, 0xFF, 0xFF]
    #expect(
      damaged == sound.filter { $0.key.lexicographicallyPrecedes(lost.low) || !$0.key.lexicographicallyPrecedes(high) })
    #expect(damaged.count < sound.count)
  }

  /// The entries of the first table of the fixture's present file.
  private func entries(_ fixture: PageFixture, _ map: PageMap) throws -> [Entry] {
    try entries(try PageReader(try PageFile(at: fixture.store.path), map), 0)
  }

  @Test func branchesThatLeadAstrayAreFound() throws {
    let fixture = try PageFixture()
    let root = try #require(try fixture.pages("alpha", flag: PageView.branchFlag).first)
    let node = fixture.nodes(root)[1]
    let first = fixture.child(fixture.nodes(root)[0])
    let cases: [(Int, PageProblem, UInt64)] = [
      (first, .reachedTwice, UInt64(first)), (root, .reachedTwice, UInt64(root)), (0, .outOfRange, UInt64(root)),
      (1, .outOfRange, UInt64(root)), (0xFFFF_FFFF, .outOfRange, UInt64(root)),
    ]
    for (child, problem, page) in cases {
      let map = try fixture.walk { bytes in
        bytes.put16(child, at: node)
        bytes.put16(child >> 16, at: node + 2)
      }
      #expect(map.findings.first == PageFinding(page: page, table: "alpha", key: nil, problem: problem))
      #expect(map.lost["alpha"]?.count == 1)
    }
  }

  @Test func largeValuesOwnPagesAreChecked() throws {
    let fixture = try PageFixture()
    let page = try #require(try fixture.pages("beta", flag: PageView.overflowFlag).first)
    let cases: [(PageProblem, (inout [UInt8]) -> Void)] = [
      (.wrongNumber, { $0[page * 4096] ^= 1 }), (.badOverflow, { $0[page * 4096 + 10] = 2 }),
      (.badOverflow, { $0.put16(0, at: page * 4096 + 12) }), (.badOverflow, { $0.put16(0x7FFF, at: page * 4096 + 14) }),
    ]
    for (problem, change) in cases {
      let map = try fixture.walk(change)
      let finding = try #require(map.findings.first)
      #expect(map.findings.count == 1 && finding.page == UInt64(page) && finding.problem == problem)
      let key = try #require(finding.key)
      let reader = try PageReader(try PageFile(at: fixture.store.path), map)
      let table = try #require(map.table("beta"))
      #expect(throws: PageError(page: UInt64(page), problem: problem)) {
        _ = try key.withUnsafeBytes { try reader.get(table, $0) }
      }
      #expect(key.withUnsafeBytes { reader.page(table, $0) } == UInt64(page))
    }
  }

  @Test func treesThatMiscountAreFound() throws {
    let fixture = try PageFixture()
    let meta = fixture.meta * 4096
    let leaf = fixture.word64(meta + 88 + 40)
    for (index, node) in fixture.nodes(leaf).enumerated() {
      let record = node + 8 + fixture.word16(node + 6)
      for offset in [0, 4, 6, 8, 16, 24, 32, 40] {
        let map = try fixture.walk { $0[record + offset] ^= 1 }
        #expect(!map.findings.isEmpty, "table \(index), offset \(offset)")
        #expect(map.findings[0].table == PageFixture.names[index] || offset == 40)
      }
    }
  }

  // MARK: Meta pages and the free list

  @Test func everyBitOfTheNewMetaPageCounts() throws {
    let fixture = try PageFixture(rounds: 2, entries: 40)
    let meta = fixture.meta * 4096
    // The bounds and the pad of the header are unused, the map's size only has to be sufficient, and one flag is unused
    // too.
    let ignored = Set([8, 9] + Array(12..<16) + Array(32..<40))
    for offset in 0..<152 where !ignored.contains(offset) {
      for bit in 0..<8 where !(offset == 45 && bit == 6) {
        // A commit number one below the other page's: the file of one commit ago, and sound.
        let flipped = offset == 144 ? fixture.word64(meta + 144) ^ 1 << bit : 0
        if offset == 144, flipped + 1 == fixture.word64((4096 - meta) + 144) { continue }
        let map = try fixture.walk { $0[meta + offset] ^= 1 << UInt8(bit) }
        #expect(!map.findings.isEmpty, "offset \(offset), bit \(bit)")
      }
    }
  }

  @Test func theOtherMetaPageServesWhereOneIsDamaged() throws {
    let fixture = try PageFixture(rounds: 2, entries: 40)
    for meta in 0...1 {
      let map = try fixture.walk { bytes in for index in 0..<4096 { bytes[meta * 4096 + index] = 0 } }
      #expect(map.findings.first?.page == UInt64(meta))
      #expect(map.tables.count == PageFixture.names.count)
    }
    let map = try fixture.walk { bytes in for index in 0..<8192 { bytes[index] = 0xAA } }
    #expect(map.findings.map(\.page) == [0, 1] && map.tables.isEmpty && map.isTableListDamaged)
  }

  @Test func theFreeListIsChecked() throws {
    let fixture = try PageFixture()
    let (_, sound) = try fixture.soundMap()
    try #require(sound.freePages > 4)
    let root = fixture.word64(fixture.meta * 4096 + 40 + 40)
    let node = try #require(fixture.nodes(root).last { fixture.word16($0 + 4) == 0 && fixture.word64($0 + 16) >= 2 })
    let list = node + 16
    let inUse = try #require(try fixture.pages("alpha", flag: PageView.leafFlag).first)
    let cases: [(String, (inout [UInt8]) -> Void)] = [
      ("count", { $0[list] &-= 1 }), ("long count", { $0[list + 3] = 1 }), ("zero", { $0.put64(0, at: list + 8) }),
      ("beyond", { $0.put64(1 << 33, at: list + 8) }),
      (
        "twice",
        { bytes in
          for index in 0..<8 { bytes[list + 16 + index] = bytes[list + 8 + index] }
        }
      ), ("in use", { $0.put64(inUse, at: list + 8) }), ("transaction", { $0.put64(1 << 40, at: node + 8) }),
    ]
    for (name, change) in cases {
      let map = try fixture.walk(change)
      #expect(!map.findings.isEmpty, "\(name)")
      #expect(map.findings.allSatisfy { $0.table == nil }, "\(name)")
      #expect(map.lost.isEmpty)
    }
  }

  // MARK: Random corruption

  @Test(arguments: [1, 2, 3, 4] as [UInt64]) func randomBytesNeverCrashTheWalkOrTheReader(seed: UInt64) throws {
    let fixture = try PageFixture(seed: seed, rounds: 3, entries: 500)
    var generator = SeededGenerator(seed: seed)
    let pages = fixture.sound.count / 4096
    for _ in 0..<60 {
      let map = try fixture.walk { bytes in
        switch generator.next() % 5 {
        case 0: bytes.removeLast(Int(generator.next() % UInt64(bytes.count)))
        case 1:
          for _ in 0..<20 {
            bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: generator.next())
          }
        case 2:
          // Headers and first nodes: most rules can be violated there.
          let base = Int(generator.next() % UInt64(pages)) * 4096
          for _ in 0..<4 { bytes[base + Int(generator.next() % 64)] = UInt8(truncatingIfNeeded: generator.next()) }
        case 3:
          let (from, to) = (Int(generator.next() % UInt64(pages)) * 4096, Int(generator.next() % UInt64(pages)) * 4096)
          for index in 0..<4096 { bytes[to + index] = fixture.sound[from + index] }
        default:
          // The same, with a header that fits its place.
          let (from, to) = (
            2 + Int(generator.next() % UInt64(pages - 2)), 2 + Int(generator.next() % UInt64(pages - 2))
          )
          for index in 8..<4096 { bytes[to * 4096 + index] = fixture.sound[from * 4096 + index] }
        }
      }
      guard map.tables.count > 0 else { continue }
      let reader = try PageReader(try PageFile(at: fixture.store.path), map)
      for table in map.tables.indices {
        _ = try? entries(reader, table)
        for _ in 0..<20 {
          let key = PageFixture.key(generator.next() % 500, &generator)
          key.withUnsafeBytes { key in
            _ = try? reader.get(table, key)
            _ = try? reader.seek(table, key, atOrBefore: true)
            _ = try? reader.seek(table, key, atOrBefore: false)
            _ = reader.page(table, key)
          }
        }
      }
    }
  }

  struct Entry: Equatable {
    let key: [UInt8]
    let value: [UInt8]
  }

  private func entries(_ reader: PageReader, _ table: Int) throws -> [Entry] {
    var entries: [Entry] = []
    let first: [UInt8] = [0]
    try first.withUnsafeBytes { first in
      try reader.scan(table, from: first) { entry in
        entries.append(Entry(key: Array(entry.key), value: Array(entry.value)))
        return true
      }
    }
    return entries
  }
}
