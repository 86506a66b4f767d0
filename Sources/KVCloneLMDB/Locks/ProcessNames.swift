import Glibc

/// Names of processes.
package enum ProcessNames {
  /// The id of this process.
  package static var ownID: Int32 { getpid() }

  /// The name of a process of this PID namespace, as `ps` shows it; empty if it does not exist or is not visible.
  package static func name(_ pid: Int32) -> String {
    guard pid > 0, var text = FileSystem.smallTextFile("/proc/\(pid)/comm") else { return "" }
    // A process may set any name of up to 15 bytes.
    while text.hasSuffix("\n") { text.removeLast() }
    return WriterLockFile.cleaned(text)
  }
}
