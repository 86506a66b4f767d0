import BenchmarkSupport
import Foundation
import KVClone

/// The folder for stores; it is empty before and after.
struct Workspace {
  let path: String

  init(in directory: String) throws {
    path = directory + "/" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }

  /// Clones `root` in a fresh copy of a closed store, so that rounds are independent.
  ///
  /// - Parameter cold: drops the copy from the page cache first.
  func cloneInCopy(of store: String, root: ObjectID, cold: Bool = false) throws -> Sample {
    let copy = path + "/copy-" + UUID().uuidString
    try FileManager.default.copyItem(atPath: store, toPath: copy)
    defer { try? FileManager.default.removeItem(atPath: copy) }
    // Otherwise the clone's commit would include the write-back of the copy.
    try settle(copy, cold: cold)
    let opened = try ObjectStore.open(at: copy)
    defer { opened.close() }
    var sample = Sample()
    let readBefore = Measuring.io("read_bytes")
    let (result, bytes) = try Measuring.peakAnonymousBytes {
      let clock = ContinuousClock()
      var result: CloneResult?
      let processorBefore = Measuring.processorSeconds()
      sample.seconds = try clock.measure { result = try opened.clone([root]) }.seconds
      sample.processorSeconds = Measuring.processorSeconds() - processorBefore
      return result
    }
    sample.objects = result?.objectCount ?? 0
    sample.anonymousBytes = bytes
    sample.diskBytesRead = Measuring.io("read_bytes") - readBefore
    return sample
  }

  /// Syncs the files of a closed store, and with `cold` drops them from the page cache.
  private func settle(_ store: String, cold: Bool) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: store) {
      let file = open(store + "/" + name, O_RDWR | O_CLOEXEC)
      guard file >= 0 else { continue }
      fsync(file)
      if cold { posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) }
      close(file)
    }
  }
}
