import Foundation
import KVClone
import KVCloneLMDB
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations

/// `check` on files with every kind of corruption: it never crashes, hangs or throws, and finds every significant
/// fault.
@Suite struct CheckDamageTests {
  /// The kind of a change of the file's bytes.
  enum Damaging: String, CaseIterable, Sendable {
    case truncated, metaBit, headerByte, bit, zeroPage, swappedPages, garbage, copiedPage
  }

  @Test(arguments: Damaging.allCases) func everyDamageThatMattersIsFound(_ kind: Damaging) throws {
    let file = try DamagedFile()
    let plain = PageRoles(file.sound, readsData: false)
    let whole = PageRoles(file.sound, readsData: true)
    for seed in 1...5 as ClosedRange<UInt64> {
      var generator = SeededGenerator(seed: seed &* 100 &+ UInt64(kind.rawValue.utf8.count))
      var bytes = file.sound
      Self.damage(&bytes, kind, &generator)
      let readsData = generator.chance(in: 2)
      let report = try file.check(bytes, CheckOptions(readData: readsData))
      let roles = readsData ? whole : plain
      switch Self.changed(bytes, roles) {
      case .used: #expect(!report.isClean, "\(kind), seed \(seed): not found")
      case .unused: #expect(report.isClean, "\(kind), seed \(seed): \(report.issues.map(\.message))")
      case .free: break
      }
      #expect(report.issues.allSatisfy { !$0.message.isEmpty })
    }
  }

  /// Single flipped bits of significant bytes: every one is found.
  @Test(arguments: [1, 2] as [UInt64]) func everyBitThatCountsIsFound(seed: UInt64) throws {
    let file = try DamagedFile()
    let roles = PageRoles(file.sound, readsData: true)
    let used = roles.roles.indices.filter { roles.roles[$0] == .used }
    // Blobs have by far the most bytes, so bits of B+tree pages are preferred.
    let inTrees = used.filter { offset in roles.treePages.contains(offset / 4096) || offset < 8192 }
    var generator = SeededGenerator(seed: seed)
    for round in 0..<10 {
      let offset = round % 5 == 0 ? used[generator.below(used.count)] : inTrees[generator.below(inTrees.count)]
      var bytes = file.sound
      bytes[offset] ^= 1 << UInt8(generator.below(8))
      let report = try file.check(bytes, CheckOptions(readData: true))
      #expect(!report.isClean, "seed \(seed), round \(round), page \(offset / 4096), offset \(offset % 4096)")
    }
  }

  static func damage(_ bytes: inout [UInt8], _ kind: Damaging, _ generator: inout SeededGenerator) {
    let pages = bytes.count / 4096
    switch kind {
    case .truncated:
      bytes.removeLast(
        bytes.count - (generator.chance(in: 2) ? generator.below(bytes.count) : generator.below(pages) * 4096))
    case .metaBit: bytes[generator.below(2) * 4096 + generator.below(152)] ^= 1 << UInt8(generator.below(8))
    case .headerByte:
      bytes[(2 + generator.below(pages - 2)) * 4096 + generator.below(64)] = UInt8(generator.below(256))
    case .bit: bytes[8192 + generator.below(bytes.count - 8192)] ^= 1 << UInt8(generator.below(8))
    case .zeroPage:
      let page = generator.below(pages)
      for offset in page * 4096..<(page + 1) * 4096 { bytes[offset] = 0 }
    case .swappedPages, .copiedPage:
      let (one, other) = ((2 + generator.below(pages - 2)) * 4096, (2 + generator.below(pages - 2)) * 4096)
      for offset in 0..<4096 {
        let byte = bytes[one + offset]
        if kind == .swappedPages { bytes[one + offset] = bytes[other + offset] }
        // The copy keeps its page number, so it appears to be the page of its position.
        if kind == .swappedPages || offset >= 8 { bytes[other + offset] = byte }
      }
    case .garbage:
      let start = generator.below(bytes.count)
      for offset in start..<min(bytes.count, start + 1 + generator.below(20_000)) {
        bytes[offset] = UInt8(generator.below(256))
      }
    }
  }

  /// Returns the most significant role of the changed bytes.
  static func changed(_ bytes: [UInt8], _ roles: PageRoles) -> PageRoles.Role {
    if bytes.count < roles.end { return .used }
    var most = PageRoles.Role.unused
    // Page by page, because only a few bytes of megabytes differ.
    for page in stride(from: 0, to: bytes.count, by: 4096) {
      let range = page..<min(page + 4096, bytes.count)
      if bytes[range] == roles.bytes[range] { continue }
      for offset in range where bytes[offset] != roles.bytes[offset] { most = max(most, roles.roles[offset]) }
    }
    return most
  }

  // MARK: One issue per fault

  /// For a lost page, only the page is reported, regardless of its contents.
  @Test(.needsDataFile(.bytes)) func aLostPageIsOneDamage() throws {
    let file = try DamagedFile()
    for page in PageRoles(file.sound, readsData: true).treePages where page % 2 == 0 {
      var bytes = file.sound
      for offset in page * 4096..<(page + 1) * 4096 { bytes[offset] = 0 }
      let report = try file.check(bytes)
      #expect(report.issues.map(\.kind) == [.page], "page \(page): \(report.issues)")
      #expect(report.issues.first?.page == page)
    }
  }

  @Test func aLostLargeValueIsItsObjects() throws {
    let file = try DamagedFile()
    let roles = PageRoles(file.sound, readsData: true)
    var found: Set<String> = []
    for page in roles.valuePages {
      var bytes = file.sound
      bytes[page * 4096 + 10] = 0
      let report = try file.check(bytes)
      #expect(report.issues.count == 1 && report.issues.first?.page == page, "\(report.issues)")
      if let damage = report.issues.first {
        found.insert("\(damage.kind) \(damage.object ?? "-") \(damage.property ?? "-")")
      }
    }
    #expect(found.contains("blob Item/\(file.item.serial) photo"), "\(found)")
  }

  @Test func aDamagedRecordNamesItsObjectAndItsPage() throws {
    let file = try DamagedFile()
    let page = try #require(file.record.page)
    let at = try #require(file.sound[page * 4096..<(page + 1) * 4096].firstRange(of: file.record.bytes))
    var bytes = file.sound
    bytes[at.lowerBound + 20] ^= 4
    let report = try file.check(bytes)
    #expect(report.issues.map { "\($0.kind) \($0.object ?? "-")" } == ["record Thing/\(file.item.serial)"])
    #expect(report.issues.first?.page == page)
  }

  @Test func damagedBytesOfLargeValuesNameTheirPieces() throws {
    let file = try DamagedFile()
    let pages = PageRoles(file.sound, readsData: true).valuePages
    var objects: [String] = []
    for page in pages {
      var bytes = file.sound
      bytes[page * 4096 + 2000] ^= 1
      let report = try file.check(bytes, CheckOptions(readData: true))
      guard report.issues.first?.kind == .blob else { continue }
      #expect(try file.check(bytes).isClean)
      #expect(report.issues.count == 1 && report.issues.first?.page == page, "\(report.issues)")
      objects.append(report.issues.first?.object ?? "-")
    }
    #expect(objects.count >= 2 && Set(objects) == ["Item/\(file.item.serial)"])
  }

  // MARK: Files that cannot be opened

  @Test func whatIsNoFileOfOursIsStillChecked() throws {
    let file = try DamagedFile()
    for bytes in [[], [1], [UInt8](repeating: 0, count: 100_000), [UInt8](repeating: 0xA5, count: 8192)] {
      let report = try file.check(bytes)
      #expect(!report.isClean && report.issues.allSatisfy { $0.kind == .page }, "\(report.issues)")
    }
    // The other meta page is used, and leads to the previous commit.
    for meta in 0...1 {
      var bytes = file.sound
      bytes[meta * 4096 + 16] ^= 1
      let report = try file.check(bytes)
      #expect(report.issues.first?.kind == .page && report.issues.first?.page == meta)
      #expect(report.objectCount > 0)
    }
  }

  @Test func aStoreWithoutAReadableModelIsStillChecked() throws {
    let file = try DamagedFile()
    let name = Array("\"Folder".utf8)
    var bytes = file.sound
    while let range = bytes.firstRange(of: name) { bytes[range.lowerBound + 1] ^= 1 }
    let page = try #require(file.record.page)
    let at = try #require(file.sound[page * 4096..<(page + 1) * 4096].firstRange(of: file.record.bytes))
    bytes[at.lowerBound + 20] ^= 4
    let report = try file.check(bytes)
    #expect(Set(report.issues.map(\.kind)) == [.metadata, .record], "\(report.issues)")
    #expect(report.objectCount > 100)
  }

  @Test(.needsDataFile(.path)) func pathsThatAreNoStoresAreErrors() throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    expectError(.storeNotFound) { _ = try ObjectStore.check(at: root + "/nothing") }
    expectError(.storeNotFound) { _ = try ObjectStore.check(at: root) }
    let fixture = try CheckFixture()
    expectError(.alreadyOpen) { _ = try ObjectStore.check(at: fixture.files.path) }
    fixture.store.close()
    #expect(try ObjectStore.check(at: fixture.files.path).isClean)
    try FileManager.default.createSymbolicLink(atPath: root + "/link", withDestinationPath: fixture.files.path)
    expectError(.invalidStore) { _ = try ObjectStore.check(at: root + "/link") }
    let foreign = try LMDBEnvironment.create(at: root + "/foreign", tables: ["a"])
    foreign.close()
    expectError(.invalidStore) { _ = try ObjectStore.check(at: root + "/foreign") }
    try fixture.files.reopen()
  }
}
