import Foundation
import Testing

@testable import KVCloneLMDB

/// Pages of an open file are corrupted under the map reader, which has to detect everything that would lead it out of a
/// page or out of the file. LMDB is not called on them: it would crash.
@Suite struct MapDamageTests {
  /// A number in a page, by offset, and its length in bytes.
  struct Field {
    let name: String
    let offset: Int
    let width: Int
    /// Whether each corruption of it is detected, or is harmless: then every result is correct, or is left to LMDB.
    var isNoticed = false
  }

  static let values: [Int] = [
    0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 18, 255, 256, 511, 512, 2038, 4079, 4080, 4081, 4087, 4088, 4090, 4095, 4096, 4097,
    0x7FFF, 0x8000, 0xFFF0, 0xFFFE, 0xFFFF, 0xFFFF_FFFF, 0x7FFF_FFFF_FFFF, 0xFFFF_FFFF_FFFF, Int(Int64.max), -1,
  ]

  @Test(arguments: [PageView.branchFlag, PageView.leafFlag, PageView.overflowFlag])
  func noFieldLeadsAnywhereElse(flag: Int) throws {
    let fixture = try PageFixture(seed: 11, rounds: 2, entries: 7000)
    let pages = try fixture.pages("alpha", flag: flag)
    let bench = try DamageBench(fixture, "alpha")
    var generator = SeededGenerator(seed: UInt64(flag))
    #expect(!pages.isEmpty)
    for page in Set([pages[0], pages[pages.count / 2], pages[pages.count - 1]]).sorted() {
      for field in Self.fields(fixture, page, flag) {
        let sound = try fixture.number(page * 4096 + field.offset, field.width)
        let near = [sound &+ 1, sound &- 1, sound ^ 8, sound &+ 4096, Int(truncatingIfNeeded: generator.next())]
        for value in Self.values + near where Self.cut(value, field.width) != sound {
          try bench.damage(page * 4096 + field.offset, Self.cut(value, field.width), field.width) {
            try bench.readAll(
              isNoticed: field.isNoticed, "page \(page), \(field.name): \(value)", around: page, &generator)
          }
        }
      }
    }
    try bench.readAll(isNoticed: true, "sound", around: pages[0], &generator, isSound: true)
  }

  /// Random bytes over pages, from one byte to whole pages.
  @Test(arguments: [1, 2, 3] as [UInt64]) func noBytesLeadAnywhereElse(seed: UInt64) throws {
    let fixture = try PageFixture(seed: seed + 20, rounds: 2, entries: 1500)
    let pages = try [PageView.branchFlag, PageView.leafFlag, PageView.overflowFlag].flatMap {
      try fixture.pages("alpha", flag: $0)
    }
    let bench = try DamageBench(fixture, "alpha")
    var generator = SeededGenerator(seed: seed)
    for round in 0..<250 {
      let page = pages[Int(generator.next() % UInt64(pages.count))]
      let length = 1 + Int(generator.next() % UInt64(round % 5 == 0 ? 4000 : 8))
      let offset = Int(generator.next() % UInt64(round % 3 == 0 ? 4096 : 200)) % (4097 - length)
      let bytes = (0..<length).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
      try bench.damage(page * 4096 + offset, bytes) {
        try bench.readAll(
          isNoticed: false, "seed \(seed), round \(round): page \(page), \(length) bytes at \(offset)", around: page,
          &generator)
      }
    }
  }

  /// The description of a tree in the list of tables, and the page that it is in. LMDB reads that one, too; only fields
  /// that it does not check are corrupted.
  @Test func noTreeLeadsAnywhereElse() throws {
    let fixture = try PageFixture(seed: 31, rounds: 2, entries: 1500)
    let (_, map) = try fixture.soundMap()
    let bench = try DamageBench(fixture, "alpha")
    var generator = SeededGenerator(seed: 31)
    let list = fixture.word64(fixture.meta * 4096 + 88 + 40)
    let name = Array("alpha".utf8)
    let node = try #require(fixture.nodes(list).first { Array(fixture.sound[$0 + 8..<$0 + 13]) == name })
    let tree = node + 8 + name.count
    #expect(fixture.word64(tree + 40) == Int(map.tables[try #require(map.table("alpha"))].tree.root))
    // A root may be a sound page of another tree.
    let fields = [
      (list * 4096, 8, "number", true), (tree, 4, "pad", true), (tree + 4, 2, "flags", true),
      (tree + 6, 2, "depth", true), (tree + 40, 8, "root", false),
    ]
    for (offset, width, name, isNoticed) in fields {
      for value in Self.values where try Self.cut(value, width) != fixture.number(offset, width) {
        try bench.damage(offset, Self.cut(value, width), width) {
          bench.forget()
          try bench.readAll(isNoticed: isNoticed, "list, \(name): \(value)", around: 0, &generator)
        }
      }
    }
    bench.forget()
    try bench.readAll(isNoticed: true, "sound", around: 0, &generator, isSound: true)
  }

  /// The last page in the meta page of the last commit. LMDB reads it again for its statistics, and when a write
  /// begins.
  @Test func noLastPageLeadsAnywhereElse() throws {
    let fixture = try PageFixture(seed: 41, rounds: 2, entries: 1500)
    let bench = try DamageBench(fixture, "alpha")
    var generator = SeededGenerator(seed: 41)
    let offset = fixture.meta * 4096 + 136
    for value in Self.values + [.min, .max - 1, -5, 1 << 52, -(1 << 52) - 2] where value != fixture.word64(offset) {
      try bench.damage(offset, value, 8) {
        bench.forget()
        try bench.readAll(isNoticed: true, "last page: \(value)", around: 0, &generator)
        #expect(try bench.info().lastPage >= 0, "last page: \(value)")
        bench.beginWriting()
      }
    }
    bench.forget()
    try bench.readAll(isNoticed: true, "sound", around: 0, &generator, isSound: true)
  }

  /// Any commit number is accepted: LMDB takes the higher one for the last, and the map remains readable.
  @Test(arguments: [1 << 63, 0xFFFF << 48] as [UInt64]) func noCommitNumberIsTooHigh(bits: UInt64) throws {
    let fixture = try PageFixture(seed: 51, rounds: 2, entries: 1500)
    let offset = fixture.meta * 4096 + 144
    let number = UInt64(fixture.word64(offset)) | bits
    let file = try #require(FileHandle(forUpdatingAtPath: fixture.store.data))
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: Data(withUnsafeBytes(of: number.littleEndian) { Array($0) }))
    try file.close()

    let environment = try fixture.store.open()
    let table = try environment.openTables(PageFixture.names, create: false)[0]
    let reader = try MapTestReader(environment)
    let sound = try reader.entriesOfLMDB(table)
    #expect(!sound.isEmpty && reader.entries(table) == sound && reader.lastCode == LMDBPointerReader.notFound)
    #expect(reader.transaction.commitNumber == number)
    #expect(try environment.info().commitNumber == number)
    var writer = try environment.beginWrite()
    #expect(writer.commitNumber == number + 1)
    try writer.put(table, "new", "value")
    try writer.commit()
    let later = try MapTestReader(environment)
    #expect(later.transaction.commitNumber == number + 1)
    #expect(try later.entries(table) == later.entriesOfLMDB(table) && later.entries(table).count == sound.count + 1)
  }

  /// A check without a lock against writers reads the commit number a second time.
  @Test(arguments: [0, 1]) func noCommitNumberEndsACheck(page: Int) throws {
    let fixture = try PageFixture(seed: 61, rounds: 1, entries: 100)
    let number = UInt64.max - (page == 0 ? 1 : 0)
    let file = try #require(FileHandle(forUpdatingAtPath: fixture.store.data))
    try file.seek(toOffset: UInt64(page * 4096 + 144))
    try file.write(contentsOf: Data(withUnsafeBytes(of: number.littleEndian) { Array($0) }))
    try file.close()
    let checked = try PageFile(at: fixture.store.path)
    #expect(checked.meta?.commitNumber == number && !checked.metaFindings.isEmpty)
    #expect(checked.isStillCurrent)
  }

  private static func cut(_ value: Int, _ width: Int) -> Int {
    width == 8 ? value : value & (1 << (8 * width) - 1)
  }

  private static func fields(_ fixture: PageFixture, _ page: Int, _ flag: Int) -> [Field] {
    var fields = [
      Field(name: "number", offset: 0, width: 8, isNoticed: true),
      Field(name: "pad", offset: 8, width: 2, isNoticed: true),
      Field(name: "flags", offset: 10, width: 2, isNoticed: true),
    ]
    if flag == PageView.overflowFlag { return fields + [Field(name: "pages", offset: 12, width: 4, isNoticed: true)] }
    fields += [Field(name: "lower", offset: 12, width: 2), Field(name: "upper", offset: 14, width: 2, isNoticed: true)]
    let nodes = fixture.nodes(page)
    for index in Set([0, 1, nodes.count / 2, nodes.count - 1]).sorted() where index < nodes.count {
      let node = nodes[index] - page * 4096
      fields += [
        Field(name: "offset \(index)", offset: 16 + 2 * index, width: 2),
        Field(name: "size \(index)", offset: node, width: 4),
        Field(name: "flags \(index)", offset: node + 4, width: 2),
        Field(name: "key length \(index)", offset: node + 6, width: 2),
      ]
      if node + 16 <= 4096 { fields.append(Field(name: "key \(index)", offset: node + 8, width: 8)) }
      // The number of a long value's first page.
      let keyLength = fixture.word16(nodes[index] + 6)
      if flag == PageView.leafFlag, fixture.word16(nodes[index] + 4) == PageView.bigDataFlag {
        fields.append(Field(name: "long value \(index)", offset: node + 8 + keyLength, width: 8))
      }
    }
    return fields
  }
}

/// An open store with a file that is corrupted and repaired.
private final class DamageBench {
  private let fixture: PageFixture
  private let environment: LMDBEnvironment
  private let table: LMDBTable
  private let reader: MapTestReader
  private let file: FileHandle
  private let entries: [MapTestEntry]
  /// The keys of each leaf.
  private var keys: [Int: [Int]] = [:]

  init(_ fixture: PageFixture, _ name: String) throws {
    self.fixture = fixture
    // Repaired: searching for pages writes the sound file.
    let leaves = try fixture.pages(name, flag: PageView.leafFlag)
    environment = try fixture.store.open()
    let tables = try environment.openTables(PageFixture.names, create: false)
    table = tables[try #require(PageFixture.names.firstIndex(of: name))]
    reader = try MapTestReader(environment)
    entries = try reader.entriesOfLMDB(table)
    file = try #require(FileHandle(forUpdatingAtPath: fixture.store.data))
    for page in leaves {
      keys[page] = fixture.nodes(page).compactMap { node in
        let key = Array(fixture.sound[node + 8..<node + 8 + fixture.word16(node + 6)])
        return entries.firstIndex { $0.key == key }
      }
    }
    #expect(reader.entries(table) == entries)
  }

  deinit {
    try? file.close()
    environment.close()
  }

  func forget() { environment.core.forgetMap() }

  func info() throws -> LMDBInfo { try environment.info() }

  /// A write that changes nothing. LMDB may reject it.
  func beginWriting() {
    do { try environment.beginWrite().abort() } catch { #expect(error != .closed) }
  }

  func damage(_ offset: Int, _ value: Int, _ width: Int, _ body: () throws -> Void) throws {
    try damage(offset, (0..<width).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }, body)
  }

  func damage(_ offset: Int, _ bytes: [UInt8], _ body: () throws -> Void) throws {
    try write(offset, bytes)
    defer { try? write(offset, Array(fixture.sound[offset..<offset + bytes.count])) }
    try body()
  }

  /// The map shows writes to the file at once: both are the same page of the kernel.
  private func write(_ offset: Int, _ bytes: [UInt8]) throws {
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: Data(bytes))
  }

  /// Reads the content of the page, some of the rest, and the whole table. All returned bytes are accessed.
  func readAll(
    isNoticed: Bool, _ comment: String, around page: Int, _ generator: inout SeededGenerator, isSound: Bool = false
  ) throws {
    // The first reads of an unknown tree are left to LMDB, except those of a scan.
    _ = reader.depth(table)
    let near = Array((keys[page] ?? []).prefix(40))
    let chosen = near + (0..<25).map { _ in Int(generator.next() % UInt64(entries.count)) }
    var wrong = 0
    for index in chosen {
      let entry = entries[index]
      let found = reader.get(table, entry.key)
      let isAsked = found.code == LMDBMapReader.askLMDB
      if isAsked ? isSound : isNoticed && (found.code != 0 || found.value != entry.value) { wrong += 1 }
      for position in [StorageSeek.atOrAfter, .atOrBefore] {
        let found = reader.seek(table, entry.key + [0], position)
        guard let foundEntry = found.entry else { continue }
        let isRight =
          position == .atOrBefore ? foundEntry == entry : index + 1 < entries.count && foundEntry == entries[index + 1]
        if isNoticed, !isRight, entry.key.count < 511 { wrong += 1 }
      }
    }
    // The page and the entries behind it; one in eight times all entries, because that takes long.
    let first = isSound || generator.next() % 8 == 0 ? 0 : near.first ?? chosen[0]
    let scanned = reader.entries(table, from: entries[first].key, limit: first == 0 ? 20_000 : 100)
    if isNoticed, scanned != Array(entries.dropFirst(first).prefix(scanned.count)) { wrong += 1 }
    if isSound, scanned.count != entries.count { wrong += 1 }
    #expect(wrong == 0, "\(comment)")
  }
}

extension PageFixture {
  func number(_ offset: Int, _ width: Int) throws -> Int {
    (0..<width).reduce(0) { $0 | Int(sound[offset + $1]) << (8 * $1) }
  }
}
