import Foundation

/// The locks that a process holds on a file, as the kernel lists them for each of its descriptors.
///
/// `/proc/locks` is read in pieces: while other processes lock and unlock, a read can miss a lock. The list of a
/// descriptor is always complete.
package enum ProcessLocks {
  /// Returns one line per lock. The file is not opened, because closing it would release this process's POSIX locks.
  package static func lines(of process: Int32 = getpid(), on path: String) throws -> [Substring] {
    let number = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? NSNumber
    guard let inode = number?.uint64Value else { throw CocoaError(.fileReadUnknown) }
    let directory = "/proc/\(process)/fdinfo"
    return try FileManager.default.contentsOfDirectory(atPath: directory).flatMap { descriptor -> [Substring] in
      // Other threads may close descriptors concurrently.
      guard let text = try? String(contentsOfFile: "\(directory)/\(descriptor)", encoding: .utf8) else { return [] }
      return text.split(separator: "\n").filter { $0.hasPrefix("lock:") && $0.contains(":\(inode) ") }
    }
  }
}
