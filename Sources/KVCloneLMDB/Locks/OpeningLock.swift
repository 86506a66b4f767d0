import CKVCloneLMDB
import Glibc

/// The opening lock of `lock.mdb` and of `commit.log`: a write lock on a byte beyond the end of the file, which LMDB
/// never locks. It belongs to the open file description, so the kernel drops it with the process.
enum OpeningLock {
  /// LMDB locks byte 0, and the byte at each reader's process id.
  static let offset: Int64 = 1 << 62

  /// Acquires the lock, and polls until `deadline` while another process has it.
  ///
  /// It does not wait in the kernel (`F_OFD_SETLKW`), because the holder may be stopped, and that wait has no limit.
  ///
  /// - Throws: `openingBusy` with the holder, if it can be found.
  static func acquire(_ descriptor: Int32, path: String, deadline: UInt64) throws(LMDBError) {
    var pause: UInt64 = 200_000
    while true {
      let code = kvclone_ofd_lock_byte(descriptor, offset, 1)
      if code == 0 { return }
      guard code == EAGAIN || code == EACCES || code == EINTR else {
        throw LMDBError(code: code, operation: "fcntl(F_OFD_SETLK)")
      }
      let now = monotonicNanoseconds()
      if now >= deadline {
        let process = holder(ofFile: descriptor)
        throw .openingBusy(path: path, process: process, name: process.map(ProcessNames.name) ?? "")
      }
      usleep(UInt32(min(pause, deadline - now) / 1000 + 1))
      pause = min(pause * 2, 5_000_000)
    }
  }

  static func release(_ descriptor: Int32) { _ = kvclone_ofd_lock_byte(descriptor, offset, 0) }

  /// Returns a process that holds the lock; nil if it has ended, or if this user may not see it.
  ///
  /// The kernel does not name the holder of an open file description lock, but lists the locks of each descriptor in
  /// `/proc/PID/fdinfo`.
  private static func holder(ofFile descriptor: Int32) -> Int32? {
    guard let inode = try? FileSystem.facts(descriptor: descriptor).identity.inode else { return nil }
    for process in FileSystem.names(inDirectory: "/proc").compactMap({ Int32($0) }) {
      let directory = "/proc/\(process)/fdinfo"
      for name in FileSystem.names(inDirectory: directory) {
        // "lock: 1: OFDLCK ADVISORY  WRITE -1 08:01:1234 START END"
        let lines = FileSystem.smallTextFile("\(directory)/\(name)")?.split(separator: "\n") ?? []
        let isHolder = lines.contains {
          $0.hasPrefix("lock:") && $0.contains(":\(inode) \(offset) ") && $0.contains(" WRITE ")
        }
        if isHolder { return process }
      }
    }
    return nil
  }
}

extension LMDBOptions {
  /// When an opening that begins now stops waiting for others.
  var openingDeadline: UInt64 { monotonicNanoseconds() &+ busyTimeout.clampedNanoseconds }
}
