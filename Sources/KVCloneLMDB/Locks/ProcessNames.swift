import Glibc

/// What processes are called.
package enum ProcessNames {
  /// This process's number.
  package static var ownID: Int32 { getpid() }

  /// The name of a process of this PID namespace, as `ps` shows it; empty where there is none, or it may not be seen.
  package static func name(_ pid: Int32) -> String {
    guard pid > 0, var text = FileSystem.smallTextFile("/proc/\(pid)/comm") else { return "" }
    // A process may give itself any name of up to 15 bytes.
    while text.hasSuffix("\n") { text.removeLast() }
    return WriterLockFile.cleaned(text)
  }
}
