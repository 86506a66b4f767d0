import Foundation

/// The locks that a process holds on a file, as the kernel lists them for each of its descriptors.
///
/// `/proc/locks` is read in pieces: while other processes lock and unlock, a read can miss a lock. The list of a
/// descriptor is always complete.
package enum ProcessLocks {
  /// One line per lock. The file is not opened, because closing it would release the POSIX locks of this process.
  package static func lines(of process: Int32 = getpid(), on path: String) throws -> [Substring] {
    let number = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? NSNumber
    guard let inode = number?.uint64Value else { throw CocoaError(.fileReadUnknown) }
    let directory = "/proc/\(process)/fdinfo"
    return try FileManager.default.contentsOfDirectory(atPath: directory).flatMap { descriptor -> [Substring] in
      // Descriptors of other threads are closed meanwhile.
      guard let text = try? String(contentsOfFile: "\(directory)/\(descriptor)", encoding: .utf8) else { return [] }
      return text.split(separator: "\n").filter { $0.hasPrefix("lock:") && $0.contains(":\(inode) ") }
    }
  }
}
