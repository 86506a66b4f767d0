import CKVCloneLMDB
import Glibc

/// Tells a forked child from the process that opened an environment.
///
/// LMDB must not be used across fork, and nothing in it notices. `getpid` costs a system call per transaction, so the
/// guard is one page that the kernel zeroes in a child (`MADV_WIPEONFORK`); where there is none, it asks `getpid`.
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
