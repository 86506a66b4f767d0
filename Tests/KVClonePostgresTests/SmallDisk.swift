#if Postgres
  import Foundation
  import KVCloneTestSupport

  /// A file system of a few megabytes in memory, which only root can mount.
  final class SmallDisk {
    let path: String
    private var isMounted = true

    /// Whether this process may mount file systems; containers often may not.
    static let isAvailable: Bool = {
      guard getuid() == 0, let disk = try? SmallDisk(megabytes: 1) else { return false }
      disk.unmount()
      return true
    }()

    init(megabytes: Int) throws {
      path = "/tmp/kvclone-disk-\(UInt32.random(in: 0..<(.max)))"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      do {
        try ServerInstance.run(
          ["mount", "-t", "tmpfs", "-o", "size=\(megabytes)m", "tmpfs", path], asServer: false)
      } catch {
        try? FileManager.default.removeItem(atPath: path)
        throw error
      }
    }

    func grow(to megabytes: Int) throws {
      try ServerInstance.run(["mount", "-o", "remount,size=\(megabytes)m", path], asServer: false)
    }

    func unmount() {
      guard isMounted else { return }
      isMounted = false
      _ = try? ServerInstance.run(["umount", "-l", path], asServer: false)
      try? FileManager.default.removeItem(atPath: path)
    }

    deinit { unmount() }
  }
#endif
