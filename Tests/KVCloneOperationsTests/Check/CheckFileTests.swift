import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneLMDB

/// A closed store with every kind of data and a free list; and checks of changed copies of its file.
final class DamagedFile {
  let path: String
  private let root: String
  let sound: [UInt8]
  /// An object, the page of its record, and the record's bytes.
  let item: ObjectID
  let record: (page: Int?, bytes: [UInt8])

  /// Created once: the tests change copies.
  private static let template = Result { try Template() }

  private struct Template {
    let item: ObjectID
    let page: Int?
    let record: [UInt8]
    let bytes: [UInt8]

    init() throws {
      let fixture = try CheckFixture(engine: .dataFile)
      try DamagedFile.fill(fixture)
      item = fixture.items[0]
      page = try DamagedFile.page(fixture, item)
      record = try fixture.bytes(fixture.table(of: item), fixture.key(item))
      #expect(try fixture.store.check(CheckOptions(readData: true)).issues == [])
      fixture.store.close()
      bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: fixture.files.path + "/data.mdb")))
    }
  }

  init() throws {
    let template = try Self.template.get()
    item = template.item
    record = (template.page, template.record)
    sound = template.bytes
    root = try temporaryDirectory()
    path = root + "/damaged"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }

  private static func fill(_ fixture: CheckFixture) throws {
    try fixture.store.write { tx in
      for count in [3, 17, 130, 700] {
        var items: [ObjectID] = []
        for _ in 0..<(count == 700 ? 0 : count) {
          items.append(try tx.insert("Item", ["title": .string("item \(count)")]))
        }
        if count == 700 {
          for _ in 0..<count { items.append(try tx.insert("Item")) }
        }
        let folder = try tx.insert("Folder", relationships: ["items": items, "sorted": items.reversed()])
        try tx.setMembers(items[0], "related", Array(items.prefix(40)) + [folder])
      }
      try tx.set(
        fixture.items[0], "photo", .binary(Data((0..<1_200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })))
      for number in 0..<300 { try tx.insert("Tag", ["name": .string("tag number \(number)")]) }
    }
    // Free pages, and reused ones.
    for round in 0..<3 {
      let tags = try fixture.store.objects("Tag").dropFirst(2 + round * 7).prefix(60)
      try fixture.store.delete(Array(tags))
      try fixture.store.set(fixture.folder, "title", .string("round \(round)"))
    }
  }

  private static func page(_ fixture: CheckFixture, _ id: ObjectID) throws -> Int? {
    let environment = try #require(fixture.store.engine.files?.environment)
    let file = try PageFile(pinning: environment)
    let backend = try PageFileEngine(file, try file.walk()).beginReading()
    return backend.page(try fixture.table(of: id), fixture.key(id))
  }

  /// Checks a file with these bytes.
  func check(_ bytes: [UInt8], _ options: CheckOptions = CheckOptions()) throws -> CheckReport {
    try write(bytes)
    return try ObjectStore.check(at: path, options: options)
  }

  func write(_ bytes: [UInt8]) throws {
    let file = path + "/data.mdb"
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
  }
}

/// Checks by path, checks with concurrent writes, and the opening of truncated files.
@Suite struct CheckFileTests {
  /// A read error of an outdated attempt is reported by the next one, and LMDB does not open the file.
  @Test func aFailedReadIsReportedByLaterAttempts() throws {
    let damaged = try DamagedFile()
    try damaged.write(damaged.sound)
    let refusals = PageRefusals()
    refusals.note(7, EIO, isDenied: true)
    let file = try PageFile(at: damaged.path, refusals: refusals)
    let passes = try CheckPasses(file, CheckOptions()) { (map) throws(StoreError) in
      try FileCheck.check(file, map, CheckOptions(), damaged.path)
    }
    #expect(!passes.isFileSound)
    #expect(passes.report.issues.map(\.kind) == [.page] && passes.report.issues.first?.page == 7)
    let error = passes.error(damaged.path)
    #expect(error.kind == .io && error.message.contains("page 7"), "\(error)")
    // A read error while the check verifies that the state is still the newest one.
    refusals.note(1, EIO, isDenied: false)
    #expect(passes.report.issues.map(\.page) == [1, 7])
    #expect(passes.error(damaged.path).message.contains("page 1 and 1 more"))
  }

  @Test func aPageThatFailsInEachPassLeavesTheReportIncomplete() throws {
    let damaged = try DamagedFile()
    try damaged.write(damaged.sound)
    func passes(failing: ClosedRange<Int>, isDenied: Bool) throws -> (count: Int, kinds: [IntegrityIssue.Kind]) {
      let refusals = PageRefusals()
      let file = try PageFile(at: damaged.path, refusals: refusals)
      var count = 0
      let passes = try CheckPasses(file, CheckOptions()) { (map) throws(StoreError) in
        count += 1
        if failing.contains(count) { refusals.note(7, EIO, isDenied: isDenied) }
        return try FileCheck.check(file, map, CheckOptions(), damaged.path)
      }
      return (count, passes.report.issues.map(\.kind))
    }
    #expect(try passes(failing: 1...1, isDenied: false) == (1, [.page]))
    #expect(try passes(failing: 1...1, isDenied: true) == (2, [.page]))
    #expect(try passes(failing: 1...2, isDenied: true) == (3, [.page]))
    #expect(try passes(failing: 1...9, isDenied: true) == (3, [.page, .unreadableTable]))
  }

  @Test(.needsDataFile(.path)) func bothWaysFindTheSame() throws {
    let fixture = try CheckFixture()
    try fixture.tamper(record: fixture.items[5], sealed: false) { $0[40] ^= 1 }
    let open = try fixture.store.check()
    fixture.store.close()
    #expect(try ObjectStore.check(at: fixture.files.path) == open)
    try fixture.files.reopen()
    #expect(open.issues.first?.page != nil)
  }

  @Test func aStoreIsCheckedWhileOthersWrite() throws {
    let fixture = try CheckFixture()
    let store = fixture.store
    let (folder, item) = (fixture.folder, fixture.items[3])
    let ended = DispatchSemaphore(value: 0)
    let thread = Thread {
      for round in 0..<60 {
        try? store.write { tx in
          let new = try tx.insert("Item", ["title": .string("round \(round)")], relationships: ["folder": [folder]])
          try tx.set(item, "photo", .binary(Data(repeating: UInt8(round), count: 20_000 + round * 100)))
          if round % 3 == 0 { try tx.delete([new]) }
        }
      }
      ended.signal()
    }
    thread.start()
    repeat {
      let report = try store.check(CheckOptions(readData: true))
      #expect(report.isClean, "\(report.issues.prefix(3))")
    } while ended.wait(timeout: .now()) == .timedOut
    #expect(try store.check().isClean)
  }

  @Test func aFileThatEndsWithinItsPagesIsRefused() throws {
    let file = try DamagedFile()
    let end = PageRoles(file.sound, readsData: true).end
    try file.write(Array(file.sound.prefix(end - 1)))
    let error = expectError(.corrupted) { _ = try ObjectStore.open(at: file.path) }
    #expect(error?.message.contains("check") == true)
    #expect(!(try ObjectStore.check(at: file.path).isClean))
    // The truncated part is not in use.
    try file.write(Array(file.sound.prefix(end)))
    let store = try ObjectStore.open(at: file.path)
    #expect(try store.check().isClean)
    store.close()
  }

  @Test func pagesAreVerifiedBeforeOpeningOnDemand() throws {
    let file = try DamagedFile()
    var options = StoreOptions()
    options.verifiesPagesAtOpen = true
    try file.write(file.sound)
    try ObjectStore.open(at: file.path, options: options).close()
    let page = try #require(PageRoles(file.sound, readsData: true).treePages.last)
    var bytes = file.sound
    bytes[page * 4096 + 12] ^= 0x10
    try file.write(bytes)
    expectError(.corrupted) { _ = try ObjectStore.open(at: file.path, options: options) }
    expectError(.storeNotFound) { _ = try ObjectStore.open(at: file.path + "/nothing", options: options) }
  }

  /// A file that must be verified and cannot be read is not opened unverified.
  @Test func aFileThatCannotBeVerifiedIsRefused() throws {
    let file = try DamagedFile()
    try file.write(file.sound)
    try PageVerification.verify(at: file.path)
    try FileManager.default.moveItem(atPath: file.path + "/data.mdb", toPath: file.path + "/elsewhere")
    try FileManager.default.createSymbolicLink(
      atPath: file.path + "/data.mdb", withDestinationPath: file.path + "/elsewhere")
    let error = #expect(throws: StoreError.self) { try PageVerification.verify(at: file.path) }
    #expect(error?.message.contains("symbolic link") == true, "\(error as Any)")
  }

  /// Neighbouring keys of a branch page may belong to different entities: the last serial of one is followed by serial
  /// 0 of the next.
  @Test func aLostPageBeforeAnotherEntityIsDescribed() throws {
    let file = try DamagedFile()
    let roles = PageRoles(file.sound, readsData: true)
    var described = 0
    for page in roles.treePages where file.sound[page * 4096 + 10] == 1 {
      let base = page * 4096
      let count = (roles.word16(base + 12) - 16) / 2
      func node(_ index: Int) -> Int { base + roles.word16(base + 16 + 2 * index) }
      guard count >= 3, [count - 2, count - 1].allSatisfy({ roles.word16(node($0) + 6) == 8 }) else { continue }
      var bytes = file.sound
      let key = node(count - 1) + 8
      bytes[key + 1] += 1
      for offset in key + 2..<key + 8 { bytes[offset] = 0 }
      let child = roles.word32(node(count - 2)) * 4096
      for offset in child..<child + 4096 { bytes[offset] = 0 }
      let report = try file.check(bytes)
      #expect(!report.isClean, "page \(page)")
      if report.issues.contains(where: { $0.message.contains(" to 0 are lost") }) { described += 1 }
    }
    #expect(described > 0)
  }

  @Test(.needsDataFile(.bytes)) func unknownTablesAreFound() throws {
    let fixture = try CheckFixture()
    let environment = try #require(fixture.store.engine.files?.environment)
    try environment.openTables(["strange"], create: true)
    try fixture.expect("table - -")
  }

  @Test func theHistoryIsChecked() throws {
    let fixture = try CheckFixture()
    let tables = try fixture.store.engine.openTables(TableCode.history, create: false)
    for table in tables {
      let key = ShortKey.change(commit: 1, part: 0).array
      let isNumber = table.code == .provenance || table.code == .redirects
      let valid = isNumber ? Array(key.prefix(8)) : table.code == .preimages ? key + [1] : key
      var value = [UInt8](repeating: 0xEE, count: 40)
      value.seal(table, valid)
      try fixture.plant { session in try session.storage.put(table, valid.span.bytes, value.span.bytes) }
      let isSnapshots = table.code == .snapshots || table.code == .preimages
      try fixture.expect(isSnapshots ? "snapshot - -" : "history - -")
      try fixture.delete(table, valid)
    }
    try fixture.expect()
  }
}
