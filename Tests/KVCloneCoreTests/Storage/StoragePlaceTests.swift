import Foundation
import KVCloneLMDB
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// The paths of stores, and the file systems that contain them.
@Suite("Places of stores")
struct StoragePlaceTests {
  @Test("a store that was opened by a relative path, and one that is moved while it is open, work on")
  func wandering() throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    let peer = try PeerProcess("wander", [root])
    let steps = ["set", "clone", "stage", "info", "check"]
    for step in steps + ["load"] + steps + ["load"] { #expect(peer.hear() == step + " ok") }
    #expect(peer.hear() == nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: root) == ["elsewhere"])
  }

  @Test("a store names its absolute path, and a link to its parent is followed once")
  func absolutePath() throws {
    let root = try temporaryDirectory()
    let manager = FileManager.default
    defer { try? manager.removeItem(atPath: root) }
    try FileSystem.createDirectory(root + "/real")
    try manager.createSymbolicLink(atPath: root + "/link", withDestinationPath: "real")
    let model = ManagedObjectModel("Place") { EntityDescription("Item") {} }
    let store = try ObjectStore.create(at: root + "/link/store/", model: model)
    defer { store.close() }
    #expect(store.path.hasSuffix("/real/store") && store.path.hasPrefix("/"))
    try manager.removeItem(atPath: root + "/link")
    _ = try store.stageBlob { writer in try writer.append(Data(count: 5000)) }
    store.close()
    try manager.createSymbolicLink(atPath: root + "/link", withDestinationPath: "real/store")
    expectError(.invalidStore) { _ = try ObjectStore.open(at: root + "/link") }
  }

  @Test("the side file of another store that has the name now is not taken")
  func anotherStore() throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    let environment = try LMDBEnvironment.create(at: root + "/store", tables: [])
    _ = try StagerLockFile(directory: environment.directory, beside: environment.identity)
    try FileManager.default.moveItem(atPath: root + "/store", toPath: root + "/old")
    let other = try LMDBEnvironment.create(at: root + "/store", tables: [])
    #expect(throws: LMDBError.storeNotFound(path: environment.directory)) {
      _ = try StagerLockFile(directory: environment.directory, beside: environment.identity)
    }
    #expect(try !FileSystem.exists(root + "/store/stagers.lock"))
    environment.close()
    other.close()
  }

  @Test("a file system that does not say how large it is refuses nothing", .enabled(if: MountedPeer.canMount))
  func unknownRoom() throws {
    for options in ["tmpfs -o size=0", "ramfs"] {
      let lines = try MountedPeer.script(
        """
        mount -t \(options) none "$2"; chmod 700 "$2"; "$1" large "$2/store" 2 3
        """)
      #expect(lines == ["ok", "ok"], "\(options)")
    }
  }

  @Test("a value larger than the disk is refused, a smaller one is written", .enabled(if: MountedPeer.canMount))
  func smallDisk() throws {
    let lines = try MountedPeer.script(
      """
      mount -t tmpfs -o size=16m none "$2"; chmod 700 "$2"; "$1" large "$2/store" 40 4 3
      """)
    #expect(lines == ["refused", "error diskFull", "ok", "ok"])
  }
}
