import Foundation

/// The files of closed stores: every peer's store is a folder.
package enum StoreFiles {
  package static func names(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder)
  }

  /// The total size of a store's files.
  package static func bytes(_ folder: String) throws -> Int {
    try names(folder).reduce(0) { sum, name in
      var status = stat()
      return stat(folder + "/" + name, &status) == 0 ? sum + Int(status.st_size) : sum
    }
  }

  /// Creates a fresh, synced copy; otherwise the clone's commit would include the write-back of the copy.
  package static func copy(_ source: String, to target: String, cold: Bool = false) throws {
    remove(target)
    let made = try Command.run(["/bin/cp", "-r", "--sparse=never", source, target])
    guard made.status == 0 else { throw PeerFailure("cp failed: \(made.errors)") }
    settle(target, cold: cold)
  }

  /// Syncs the files of a closed store, and with `cold` drops them from the page cache.
  package static func settle(_ folder: String, cold: Bool = false) {
    for name in (try? names(folder)) ?? [] {
      let file = open(folder + "/" + name, O_RDWR | O_CLOEXEC)
      guard file >= 0 else { continue }
      fsync(file)
      if cold { posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) }
      close(file)
    }
    let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if directory >= 0 {
      fsync(directory)
      close(directory)
    }
  }

  package static func remove(_ folder: String) { try? FileManager.default.removeItem(atPath: folder) }
}
