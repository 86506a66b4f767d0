import Foundation
import KVCloneLMDB
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// The contents of the store in backup tests: objects, links, indexes, blobs, history.
final class BackupFixture {
  let test: TestStore
  var store: ObjectStore { test.store }
  var root: String { test.root }
  let folder: ObjectID
  static let secret = "what was deleted must not be found"

  init(_ options: StoreOptions = StoreOptions()) throws {
    test = try TestStore(CheckFixture.model, options: options)
    folder = try test.store.write { tx in
      var items: [ObjectID] = []
      for number in 0..<700 {
        let photo =
          number % 100 == 0 ? Data((0..<(number * 3000)).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 2) }) : nil
        items.append(
          try tx.insert(
            "Item",
            [
              "title": .string("item \(number)"), "number": .decimal(Decimal(number)),
              "photo": photo.map { .binary($0) },
            ]))
      }
      var tags: [ObjectID] = []
      for number in 0..<200 {
        tags.append(try tx.insert("Tag", ["name": .string("\(Self.secret) \(number)")]))
      }
      let folder = try tx.insert("Folder", ["code": .string("A")], relationships: ["items": items])
      try tx.setMembers(folder, "sorted", items.reversed())
      try tx.set(items[1], "photo", .binary(Data(String(repeating: Self.secret, count: 5000).utf8)))
      try tx.delete(Array(tags.dropFirst(5)))
      return folder
    }
    try test.store.write { tx in
      let items = try tx.members(folder, "items")
      try tx.set(items[1], "photo", nil)
      for (number, tag) in try tx.fetchIDs(FetchRequest("Tag")).enumerated() {
        try tx.set(tag, "name", .string("tag \(number)"))
      }
    }
  }

  static func dump(_ store: ObjectStore) throws -> Data {
    var data = Data()
    _ = try store.dump { span in span.withUnsafeBytes { data.append(contentsOf: $0) } }
    return data
  }

  /// Opens a store for reading only.
  static func look<R>(_ path: String, _ body: (ObjectStore) throws -> R) throws -> R {
    var options = StoreOptions()
    options.isReadOnly = true
    let store = try ObjectStore.open(at: path, options: options)
    defer { store.close() }
    return try body(store)
  }

  /// Returns the names of the other files in the store's parent directory.
  func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: root).filter { $0 != "test.kvclone" }.sorted()
  }

  static func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }
}

@Suite("Backups")
struct BackupTests {
  @Test("a backup equals the store, restored or in place", arguments: [false, true])
  func roundTrip(usesCommitLog: Bool) throws {
    var options = StoreOptions()
    options.journalMode = usesCommitLog ? .writeAheadLog : .copyOnWrite
    options.tracksHistory = true
    let fixture = try BackupFixture(options)
    let expected = try BackupFixture.dump(fixture.store)
    let backup = fixture.root + "/backup"
    let result = try fixture.store.backup(to: backup)
    #expect(try fixture.store.check().isClean)
    #expect(try result.commit == fixture.store.info().commit)
    #expect(try byteCount(ofFile: backup + "/data.mdb") == Int(result.byteCount))
    #expect(result.byteCount == UInt64(result.pageCount) * 4096)
    #expect(try FileManager.default.contentsOfDirectory(atPath: backup) == ["data.mdb"])
    #expect(try BackupFixture.mode(backup) == 0o700)
    #expect(try BackupFixture.mode(backup + "/data.mdb") == 0o600)
    #expect(try fixture.names() == ["backup"])
    // Later commits are not in the backup.
    try fixture.store.insert("Folder", ["code": .string("later")])
    #expect(try ObjectStore.check(at: backup, options: CheckOptions(readData: true)).isClean)
    let restored = fixture.root + "/restored"
    let restoration = try ObjectStore.restore(from: backup, to: restored)
    #expect(restoration.commit == result.commit)
    // A backup of a cluster's store is written entry by entry, and its pages are not as full.
    #expect(restoration.byteCount == result.byteCount || !TestStore.hasDataFile)
    #expect(try FileManager.default.contentsOfDirectory(atPath: backup) == ["data.mdb"])
    let store = try ObjectStore.open(at: restored, options: options)
    defer { store.close() }
    #expect(store.uuid == fixture.store.uuid)
    let isSame = try BackupFixture.dump(store) == expected
    #expect(isSame)
    #expect(try store.history().count + 1 == fixture.store.history().count)
    try store.insert("Tag", ["name": .string("in the restored one")])
    try store.delete(Array(try store.members(fixture.folder, "items").prefix(30)))
    #expect(try store.check(CheckOptions(readData: true)).isClean)
    let isSameBackup = try BackupFixture.look(backup) { try BackupFixture.dump($0) == expected }
    #expect(isSameBackup)
  }

  @Test("an empty store")
  func emptyStore() async throws {
    let test = try TestStore(CheckFixture.model)
    let result = try await test.store.backup(to: test.root + "/b", options: BackupOptions(verification: .everything))
    #expect(result.pageCount > 2)
    try await ObjectStore.restore(from: test.root + "/b", to: test.root + "/c")
    let store = try ObjectStore.open(at: test.root + "/c", model: CheckFixture.model)
    defer { store.close() }
    _ = try await store.write { tx in try tx.insert("Tag", ["name": .string("red")]) }
    #expect(try store.check().isClean)
  }

  @Test("a backup has no byte of deleted data, and the file is not longer", .needsDataFile(.bytes))
  func deletedBytes() throws {
    let fixture = try BackupFixture()
    // Strings are encoded in index keys.
    let needle = Data(BackupFixture.secret.utf8)
    let file = URL(fileURLWithPath: fixture.test.path + "/data.mdb")
    #expect(try Data(contentsOf: file).range(of: needle) != nil)
    let result = try fixture.store.backup(to: fixture.root + "/b")
    #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.root + "/b/data.mdb")).range(of: needle) == nil)
    #expect(try result.byteCount < fixture.store.info().fileBytes)
  }

  /// Each transaction writes its number to every tag: two numbers in a backup would mean two commits.
  @Test("while others write, it is the state of one commit")
  func hotBackup() throws {
    let fixture = try BackupFixture()
    let store = fixture.store
    let dumps = Mutex<[UInt64: Data]>([:])
    try dumps.withLock { try $0[store.info().commit] = BackupFixture.dump(store) }
    let isDone = Atomic(false)
    let ended = DispatchSemaphore(value: 0)
    let thread = Thread {
      var round = 0
      while !isDone.load(ordering: .relaxed) {
        round += 1
        try? store.write { tx in
          for tag in try tx.fetchIDs(FetchRequest("Tag")) {
            try tx.set(tag, "name", .string("\(tag.serial) of \(round)"))
          }
          let item = try tx.insert("Item", ["photo": .binary(Data(count: 20_000 + round * 100))])
          if round % 2 == 0 { try tx.delete([item]) }
        }
        // Without other writers, this is the latest commit.
        if let commit = try? store.info().commit, let dump = try? BackupFixture.dump(store) {
          dumps.withLock { $0[commit] = dump }
        }
      }
      ended.signal()
    }
    thread.start()
    var commits: Set<UInt64> = []
    for number in 0..<3 {
      let path = fixture.root + "/b\(number)"
      let result = try store.backup(to: path, options: BackupOptions(verification: .everything))
      commits.insert(result.commit)
      let dump = try BackupFixture.look(path) { try BackupFixture.dump($0) }
      if number == 2 {
        isDone.store(true, ordering: .relaxed)
        ended.wait()
      }
      // The writer may not have created its dump yet.
      while dumps.withLock({ $0[result.commit] }) == nil, !isDone.load(ordering: .relaxed) {}
      let isSame = dumps.withLock { $0[result.commit] } == dump
      #expect(isSame, "commit \(result.commit)")
      // The next copy is of a later commit.
      if number < 2 { while try store.info().commit == result.commit { usleep(1_000) } }
    }
    #expect(commits.count > 1)
    #expect(try store.check().isClean)
  }

  @Test("an existing destination is left unchanged", .needsDataFile(.reflink))
  func destination() throws {
    let fixture = try BackupFixture()
    let manager = FileManager.default
    let (directory, file, link) = (fixture.root + "/directory", fixture.root + "/file", fixture.root + "/link")
    try manager.createDirectory(atPath: directory, withIntermediateDirectories: false)
    try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
    try manager.createSymbolicLink(atPath: link, withDestinationPath: fixture.root + "/nowhere")
    try fixture.store.backup(to: fixture.root + "/b")
    let before = try fixture.names()
    for path in [directory, directory + "/", file, link, fixture.test.path] {
      expectError(.storeExists) { try fixture.store.backup(to: path) }
      expectError(.storeExists) { try fixture.store.reflinkCopy(to: path) }
      expectError(.storeExists) { try ObjectStore.restore(from: fixture.root + "/b", to: path) }
    }
    let nowhere = expectError(.invalidDestination) { try fixture.store.backup(to: fixture.root + "/no/where") }
    #expect(nowhere?.message.contains(fixture.root + "/no") == true)
    #expect(try fixture.names() == before)
    #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Data("mine".utf8))
    #expect(try fixture.store.check().isClean)
  }

  @Test("a cancelled one leaves nothing, and frees its reader", .needsDataFile(.lockFile))
  func cancellation() async throws {
    let fixture = try BackupFixture()
    let store = fixture.store
    try await store.backup(to: fixture.root + "/source")
    for phase in [OperationProgress.Phase.check, .copy, .sync, .verify] {
      let cancellation = Cancellation()
      let progress: @Sendable (OperationProgress) -> Void = { if $0.phase == phase { cancellation.cancel() } }
      expectError(.cancelled) {
        _ = try ObjectStore.restore(
          from: fixture.root + "/source", to: fixture.root + "/b", progress: progress, cancellation: cancellation)
      }
      if phase == .check { continue }
      expectError(.cancelled) {
        _ = try store.backup(to: fixture.root + "/b", progress: progress, cancellation: cancellation)
      }
      #expect(try fixture.names() == ["source"])
    }
    let environment = try store.engine.requireFiles(for: "a test").environment
    #expect(try environment.activeReaders().isEmpty)
    // By cancellation of the task, from asynchronous code.
    let path = fixture.root + "/b"
    let task = Task { try await store.backup(to: path) }
    task.cancel()
    let result = await task.result
    if case .failure(let error) = result {
      #expect((error as? StoreError)?.kind == .cancelled)
    } else {
      Issue.record("it was not cancelled")
    }
    #expect(try fixture.names() == ["source"])
    #expect(try store.check().isClean)
  }

  @Test("progress goes from 0 to the total, phase by phase")
  func progress() throws {
    let fixture = try BackupFixture()
    let seen = Mutex<[OperationProgress]>([])
    try fixture.store.backup(to: fixture.root + "/b", progress: { news in seen.withLock { $0.append(news) } })
    let news = seen.withLock { $0 }
    var phases: [OperationProgress.Phase] = []
    for item in news where phases.last != item.phase { phases.append(item.phase) }
    #expect(phases == [.copy, .sync, .verify])
    #expect(news.allSatisfy { $0.total == nil || $0.completed <= $0.total ?? 0 })
  }
}
