import CKVCloneLMDB
import Glibc

/// Distinguishes a forked child from the process that opened an environment.
///
/// LMDB must not be used across fork, and does not detect it. `getpid` costs a system call per transaction, so the
/// guard is one page that the kernel zeroes in a child (`MADV_WIPEONFORK`); where that is unsupported, it calls
/// `getpid`.
@safe
package final class ForkGuard: @unchecked Sendable {
  private let page: UnsafeMutablePointer<UInt64>?
  private let pid: Int32

  package init() {
    pid = getpid()
    unsafe page = kvclone_wiped_on_fork_page()
    if let page = unsafe page { unsafe page.pointee = 1 }
  }

  @inline(__always)
  package var isForked: Bool {
    if let page = unsafe page { return unsafe page.pointee == 0 }
    return getpid() != pid
  }

  deinit {
    if let page = unsafe page { unsafe munmap(page, 4096) }
  }
}
