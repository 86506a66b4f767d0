import Foundation
import KVCloneLMDB
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Snapshots as separate files. Reflinks require XFS or btrfs, see `Tools/reflink`; here the result is a copy, or
/// depends on the file system of the temporary directory.
@Suite("File snapshots", .needsDataFile(.reflink))
struct FileSnapshotTests {
  @Test("a snapshot is the store of one commit, and says how it was made")
  func snapshot() throws {
    let fixture = try BackupFixture()
    let expected = try BackupFixture.dump(fixture.store)
    let path = fixture.root + "/snapshot"
    let result = try fixture.store.reflinkCopy(to: path)
    #expect(result.isReflink == (result.copyReason == nil))
    #expect(result.isReflink || result.copyReason == .fileSystem)
    #expect(try result.commit == fixture.store.info().commit)
    #expect(try byteCount(ofFile: path + "/data.mdb") == Int(result.byteCount))
    try fixture.store.insert("Folder", ["code": .string("later")])
    #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["data.mdb"])
    #expect(try BackupFixture.mode(path) == 0o700)
    #expect(try BackupFixture.mode(path + "/data.mdb") == 0o600)
    #expect(try ObjectStore.check(at: path, options: CheckOptions(readData: true)).isClean)
    let isSame = try BackupFixture.look(path) { try BackupFixture.dump($0) == expected }
    #expect(isSame)
    #expect(try fixture.store.check().isClean)
  }

  @Test("a concurrent writer is waited for, and named")
  func busy() throws {
    let fixture = try BackupFixture()
    var options = StoreOptions()
    options.busyTimeout = .zero
    try fixture.test.reopen(options: options)
    try fixture.store.write { tx in
      try tx.insert("Tag", ["name": .string("open")])
      expectError(.nestedWrite) { try fixture.store.reflinkCopy(to: fixture.root + "/s") }
    }
    #expect(try fixture.names() == [])
  }

  /// The procedure of <doc:Backups>: each snapshot gets a separate name, and a symbolic link leads to the newest.
  @Test("replicas are published, opened read-only, and followed")
  func replicas() throws {
    let fixture = try BackupFixture()
    var readers: [ObjectStore] = []
    defer { for reader in readers { reader.close() } }
    for round in 0..<3 {
      let path = fixture.root + "/replica-\(round)"
      try fixture.store.insert("Folder", ["code": .string("round \(round)")])
      let expected = try BackupFixture.dump(fixture.store)
      try fixture.store.reflinkCopy(to: path)
      // The same UUID several times in one process: the files are different.
      var options = StoreOptions()
      options.isReadOnly = true
      options.verifiesPagesAtOpen = round == 1
      let replica = try ObjectStore.open(at: path, options: options)
      readers.append(replica)
      #expect(replica.uuid == fixture.store.uuid)
      let isSame = try BackupFixture.dump(replica) == expected
      #expect(isSame)
      #expect(try replica.check(CheckOptions(readData: true)).isClean)
      expectError(.readOnly) { try replica.insert("Folder") }
      // A store that is opened read-only is copied.
      let copy = try replica.reflinkCopy(to: path + "-copy")
      #expect(copy.copyReason == .readOnlyStore && copy.lockDuration == .zero)
    }
    // Older replicas are unchanged, and a removed one stays readable through open stores.
    try FileManager.default.removeItem(atPath: fixture.root + "/replica-0")
    #expect(try readers[0].objects("Folder").count + 2 == readers[2].objects("Folder").count)
    #expect(try fixture.store.check().isClean)
  }
}
