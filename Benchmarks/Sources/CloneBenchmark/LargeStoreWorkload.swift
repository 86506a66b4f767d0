import BenchmarkSupport
import Foundation
import KVClone
import KVCloneOperations

/// Operations on a store of several gigabytes in a process with limited memory, one operation per process.
///
/// `CloneBenchmark memory NAME prepare|backup|restore|check|clone|migrate DIRECTORY MEBIBYTES`; `Tools/memory` calls it
/// in this order. The prepared store is backed up, checked and cloned; the backup is restored, and the restored store
/// is migrated.
enum LargeStoreWorkload: String, CaseIterable {
  /// Images of 100 kB.
  case images = "large-images"
  /// Objects without blobs, of about 180 bytes each including their links.
  case records = "large-records"

  /// Creates the store: images of the given size in mebibytes, or a graph that is cloned until that size is in use.
  func prepare(_ mebibytes: Int, in directory: String) throws {
    let path = directory + "/store"
    let byteCount = mebibytes << 20
    switch self {
    case .images:
      let albums = byteCount / MemoryWorkload.imageLength / PhotoGraph.photosPerAlbum + 1
      _ = try PhotoGraph.make(
        at: path, objects: albums * (PhotoGraph.photosPerAlbum + 1) + 1, imageBytes: MemoryWorkload.imageLength)
    case .records:
      // An object takes slightly more than 175 bytes, so eight of these graphs reach the size.
      let library = try PhotoGraph.make(at: path, objects: max(2_000, byteCount / 175 / 8))
      let store = try ObjectStore.open(at: path)
      defer { store.close() }
      func isLargeEnough() throws -> Bool {
        let statistics = try store.statistics()
        return statistics.usedPages * statistics.pageSize >= byteCount
      }
      while try !isLargeEnough() { try store.clone([library]) }
    }
  }

  /// Performs one of the operations, and returns a description of the result.
  func run(_ operation: String, in directory: String) throws -> String {
    let (path, backup, restored) = (directory + "/store", directory + "/backup", directory + "/restored")
    switch operation {
    case "backup":
      let result = try opened(path) { try $0.backup(to: backup) }
      return "\(result.byteCount >> 20) MiB backed up"
    case "restore":
      let result = try ObjectStore.restore(from: backup, to: restored)
      return "\(result.byteCount >> 20) MiB restored"
    case "check":
      let report = try opened(path) { try $0.check(CheckOptions(readData: true)) }
      guard report.isClean else { throw MemoryWorkload.Wrong(description: "\(report.issues.count) damages") }
      return "no damage in \(report.objectCount) objects"
    case "clone":
      var options = CloneOptions()
      options.blobs = .copy
      let count = try opened(path) { store in
        let libraries = try store.read { tx in try tx.fetchIDs(FetchRequest("Library")) }
        return try store.clone(libraries, options: options).objectCount
      }
      return "\(count) clones"
    case "migrate":
      let model = MigrationBenchmark.model(2, MigrationBenchmark.changeTypes)
      return "\(try ObjectStore.migrate(at: restored, to: model).rewrittenCount) objects migrated"
    default: throw MemoryWorkload.Wrong(description: "there is no operation \(operation)")
    }
  }

  private func opened<R>(_ path: String, _ body: (ObjectStore) throws -> R) throws -> R {
    let store = try ObjectStore.open(at: path)
    defer { store.close() }
    return try body(store)
  }
}
