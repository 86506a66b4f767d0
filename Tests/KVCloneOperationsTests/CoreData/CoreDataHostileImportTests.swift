import Foundation
import KVClone
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneCoreData

/// Imports of corrupted and random stores, and cancelled imports.
@Suite("import of Core Data's stores: hostile ones")
struct CoreDataHostileImportTests {
  private static var options: CoreDataImportOptions {
    var options = CoreDataImportOptions()
    options.model = CoreDataFixture.model
    return options
  }

  private func error(_ body: () throws -> Void) -> CoreDataImportError? {
    do {
      try body()
      return nil
    } catch {
      return error as? CoreDataImportError
    }
  }

  // MARK: IntegrityIssue

  @Test("an import ignores a corrupted table of the history")
  func damagedHistory() throws {
    let place = try CoreDataPlace()
    let handle = try #require(FileHandle(forUpdatingAtPath: place.database))
    let file = try SQLiteFile(SQLiteHandle(handle))
    let table = try #require(try file.table("ACHANGE"))
    try handle.seek(toOffset: UInt64((table.root - 1) * file.pageSize))
    try handle.write(contentsOf: Data(repeating: 0xEE, count: file.pageSize))
    #expect(throws: SQLiteError.self) {
      let scan = try SQLiteScan(SQLiteFile(SQLiteHandle(handle)), table)
      _ = try scan.next()
    }
    #expect(try place.plan().objectCount == 15)
    let report = try place.run()
    #expect(report.objectCount == 15 && report.omissions.map(\.name) == ["CHANGE", "NSCKEvent"])
    let store = try place.open()
    defer { store.close() }
    try checked(store)
  }

  @Test("a plan reads long values to their ends, and names the one that is damaged, as the import does")
  func brokenChain() throws {
    let place = try CoreDataPlace()
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: place.database)))
    let pages = stride(from: 0, to: bytes.count, by: 4_096).filter { start in
      bytes[start + 4..<start + 4_096].allSatisfy { $0 == 0xAB }
    }
    let middle = try #require(pages.dropFirst(pages.count / 2).first)
    // The page refers to itself as the next one.
    let number = middle / 4_096 + 1
    bytes.replaceSubrange(middle..<middle + 4, with: [0, 0, UInt8(number >> 8), UInt8(number & 0xFF)])
    try Data(bytes).write(to: URL(fileURLWithPath: place.database))
    for attempt in [{ _ = try place.plan() }, { _ = try place.plan(skip: true) }, { _ = try place.run() }]
      as [() throws -> Void]
    {
      let error = self.error(attempt)
      #expect(error?.kind == .corruptedDatabase && error?.object == "PinnedNote/50" && error?.property == "tags")
      #expect(error?.message.contains("page \(number)") == true, "\(error?.message ?? "nothing was thrown")")
    }
    #expect(place.others.isEmpty)
  }

  @Test("tables that share pages are refused by plan and import, with broken rows skipped or not")
  func sharedPages() throws {
    var fixture = CoreDataFixture()
    fixture.rows["ZSUMMARY"] = (Int64(1)...500).map { ($0, CoreDataFixture.summary(note: nil)) }
    fixture.rows["ZTAG"] = (Int64(1)...500).map { ($0, CoreDataFixture.tag("tag \($0)")) }
    let place = try CoreDataPlace(fixture)
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: place.database)))
    let file = try SQLiteFile(SQLiteBytes(bytes))
    let roots = try ["ZSUMMARY", "ZTAG"].map { (try #require(try file.table($0)).root - 1) * file.pageSize }
    #expect(bytes[roots[0]] == 0x05)
    bytes.replaceSubrange(roots[1]..<roots[1] + file.pageSize, with: bytes[roots[0]..<roots[0] + file.pageSize])
    try Data(bytes).write(to: URL(fileURLWithPath: place.database))
    for skip in [false, true] {
      for attempt in [{ _ = try place.plan(skip: skip) }, { _ = try place.run(skip: skip) }] as [() throws -> Void] {
        let error = self.error(attempt)
        #expect(error?.kind == .corruptedDatabase && error?.message.contains("share the page") == true, "\(skip)")
      }
    }
    #expect(place.others.isEmpty)
  }

  @Test("no link leads to an externally stored value, at the end of its path or before it")
  func linkedFolder() throws {
    let place = try CoreDataPlace()
    let folder = "\(place.root)/.App_SUPPORT/_EXTERNAL_DATA"
    try FileManager.default.moveItem(atPath: folder, toPath: place.root + "/elsewhere")
    try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: place.root + "/elsewhere")
    for attempt in [{ _ = try place.plan() }, { _ = try place.run() }] as [() throws -> Void] {
      let error = self.error(attempt)
      #expect(error?.kind == .invalidFile && error?.object == "PinnedNote/40" && error?.property == "image")
    }
    #expect(try place.run(skip: true).skippedCount == 1)
  }

  // MARK: Cancellation

  /// Receives the progress, signals a waiting thread, and blocks the import until it may continue.
  private final class Meeting: Sendable {
    private let state = Mutex((isThere: false, mayGoOn: false))

    var isThere: Bool { state.withLock { $0.isThere } }

    func wait() {
      state.withLock { $0.isThere = true }
      while !state.withLock({ $0.mayGoOn }) { Thread.sleep(forTimeInterval: 0.001) }
    }

    func goOn() { state.withLock { $0.mayGoOn = true } }
  }

  @Test("an import without cancellation completes")
  func asynchronous() async throws {
    let place = try CoreDataPlace()
    let report = try await ObjectStore.importCoreData(from: place.database, to: place.store, options: Self.options)
    #expect(report.objectCount == 15 && place.others == ["imported"])
  }

  @Test(
    "a cancelled task ends the import, in whatever phase it is, with nothing left",
    arguments: [OperationProgress.Phase.opening, .commit])
  func cancelledTask(_ phase: OperationProgress.Phase) async throws {
    let place = try CoreDataPlace()
    let (source, store) = (place.database, place.store)
    let meeting = Meeting()
    let task = Task {
      try await ObjectStore.importCoreData(
        from: source, to: store, options: Self.options,
        progress: { progress in if progress.phase == phase { meeting.wait() } })
    }
    while !meeting.isThere { try await Task.sleep(for: .milliseconds(1)) }
    task.cancel()
    meeting.goOn()
    let result = await task.result
    do {
      _ = try result.get()
      Issue.record("the import went on")
    } catch {
      #expect((error as? StoreError)?.kind == .cancelled, "\(error)")
    }
    #expect(place.others.isEmpty)
  }

  /// The log, the model and the tables are read before the first row.
  @Test("a cancelled import does not reach the errors in the store")
  func cancelledAtOnce() throws {
    let place = try CoreDataPlace()
    let cancellation = Cancellation()
    // Without a model this would be rejected.
    expectError(.cancelled) {
      _ = try ObjectStore.importCoreData(
        from: place.database, to: place.store, progress: { _ in cancellation.cancel() }, cancellation: cancellation)
    }
    expectError(.cancelled) {
      _ = try ObjectStore.planCoreDataImport(from: place.database, cancellation: cancellation)
    }
    #expect(place.others.isEmpty)
  }

  // MARK: Random

  /// The values of an object, and their form in Core Data's store.
  private struct RandomNote {
    let key: Int64
    let entity: (number: Int64, name: String)
    var values: [String: AttributeValue] = [:]
    var columns: [String: SQLiteValue] = [:]
    var parent: Int64?
    var folder: (key: Int64, place: Int64)?

    mutating func set(_ name: String, _ value: AttributeValue, _ stored: SQLiteValue, column: String? = nil) {
      values[name] = value
      columns["Z" + (column ?? name.uppercased())] = stored
    }

    init(_ key: Int64, _ generator: inout SeededGenerator) {
      self.key = key
      let entities: [(Int64, String)] = [(2, "Note"), (3, "ImageNote"), (4, "LinkNote"), (5, "PinnedNote")]
      let (number, name) = entities[generator.below(4)]
      entity = (number, name)
      func some() -> Bool { generator.chance(in: 2) }
      if some() {
        let count = Int64.random(in: .min ... .max, using: &generator) >> Int64(generator.below(64))
        set("count", .integer(count), .integer(count))
      }
      if some() { set("flag", .boolean(number > 3), .integer(number > 3 ? 1 : 0)) }
      if some() {
        let seconds = Double.random(in: -1e10...1e10, using: &generator)
        set("created", .date(Date(timeIntervalSinceReferenceDate: seconds)), .real(seconds))
      }
      if some() {
        let cents = Int64.random(in: -1_000_000...1_000_000, using: &generator)
        set("price", .decimal(Decimal(cents) / 100), .real(Double(cents) / 100))
      }
      if some() {
        let ratio = Double.random(in: -1e300...1e300, using: &generator)
        set("ratio", .double(ratio), .real(ratio))
      }
      if some() {
        let text = String(
          (0..<generator.below(3_000)).map { _ in Array("aß𝄞\n").randomElement(using: &generator) ?? "a" })
        set("name", .string(text), .text(text))
      }
      if some() {
        let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
        set("uuid", .uuid(bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }), .blob(bytes))
      }
      if some() {
        let bytes = (0..<generator.below(900)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        set("tags", .transformable(Data(bytes)), .blob(bytes))
      }
      if number == 3 || number == 5, some() {
        let bytes = (0..<generator.below(900)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        set("image", .binary(Data(bytes)), .blob([1] + bytes))
      }
      if number != 2, some() {
        let pin = Int64.random(in: Int64(Int32.min)...Int64(Int32.max), using: &generator)
        set("pin", .integer(pin), .integer(pin), column: number == 4 ? "PIN1" : "PIN")
      }
    }

    static let names = [
      "count", "flag", "created", "price", "ratio", "name", "uuid", "tags", "image", "pin", "small", "link",
    ]
  }

  @Test("random objects are imported unchanged, with their links", arguments: PropertySeeds.seeds)
  func randomValues(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var fixture = CoreDataFixture()
    fixture.pageSize = [512, 4_096].randomElement(using: &generator) ?? 512
    fixture.rows["ZFOLDER"] = (Int64(1)...3).map { ($0, CoreDataFixture.folder("F\($0)", cover: nil)) }
    fixture.rows["ZSUMMARY"] = []
    fixture.links["Z_2LABELS"] = []
    var notes: [RandomNote] = []
    var key: Int64 = 0
    for _ in 0..<40 {
      key += .random(in: 1...1_000, using: &generator)
      var note = RandomNote(key, &generator)
      if generator.chance(in: 2), let parent = notes.randomElement(using: &generator) {
        note.parent = parent.key
        note.columns["ZPARENT"] = .integer(parent.key)
      }
      if generator.chance(in: 2) {
        let folder = (
          key: Int64.random(in: 1...3, using: &generator), place: Int64.random(in: -50...50, using: &generator)
        )
        note.folder = folder
        note.columns["ZFOLDER"] = .integer(folder.key)
        note.columns["Z_FOK_FOLDER"] = .integer(folder.place)
      }
      notes.append(note)
    }
    fixture.rows["ZNOTE"] = notes.map { ($0.key, CoreDataFixture.note($0.entity.number, $0.columns)) }
    let place = try CoreDataPlace(fixture)
    let report = try place.run()
    #expect(report.counts.filter { $0.key.hasSuffix("Note") }.values.reduce(0, +) == notes.count, "seed \(seed)")
    let store = try place.open()
    defer { store.close() }
    try checked(store)
    let names = Dictionary(uniqueKeysWithValues: notes.map { ($0.key, "\($0.entity.name)/\($0.key)") })
    for note in notes {
      let name = try #require(names[note.key])
      let wanted = RandomNote.names.filter { attribute in
        attribute != "image" && attribute != "pin"
          || (attribute == "pin" ? note.entity.number != 2 : note.entity.number % 2 == 1)
      }
      let read = try store.values(name, wanted)
      #expect(read == wanted.map { note.values[$0] }, "\(name), seed \(seed)")
      let parent = try store.target(name, "parent")
      #expect(parent == note.parent.flatMap { names[$0] }, "\(name), seed \(seed)")
    }
    for folder in Int64(1)...3 {
      // By position, and by key for equal positions.
      let wanted = notes.filter { $0.folder?.key == folder }
        .sorted { ($0.folder?.place ?? 0, $0.key) < ($1.folder?.place ?? 0, $1.key) }.map { names[$0.key] }
      let read = try store.members("Folder/\(folder)", "notes")
      #expect(read == wanted.compactMap(\.self) && read.count == wanted.count, "Folder/\(folder), seed \(seed)")
    }
  }

  @Test("random corruption ends in a store that is sound, or a typed error", arguments: PropertySeeds.seeds)
  func random(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var fixture = CoreDataFixture()
    fixture.pageSize = 512
    // Two megabytes that each round would have to import.
    fixture.rows["ZNOTE"]?.removeAll { $0.id == 50 }
    let sound = fixture.bytes()
    let place = try CoreDataPlace(fixture)
    for round in 0..<25 {
      var bytes = sound
      for _ in 0..<Int.random(in: 1...20, using: &generator) {
        bytes[Int.random(in: 100..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
      }
      try Data(bytes).write(to: URL(fileURLWithPath: place.database))
      do {
        _ = try place.run(skip: true)
        let store = try place.open()
        defer { store.close() }
        #expect(try store.check().issues.isEmpty, "seed \(seed), round \(round)")
      } catch is any KVCloneError {
        #expect(place.others.isEmpty, "seed \(seed), round \(round)")
      } catch {
        Issue.record("\(error), seed \(seed), round \(round)")
      }
      try? FileManager.default.removeItem(atPath: place.store)
    }
  }
}
