import CKVCloneLMDB
import Glibc

/// The loaded LMDB library.
package enum LMDBLibrary {
  /// A release of LMDB.
  package struct Version: Sendable, Equatable, CustomStringConvertible {
    package let major: Int
    package let minor: Int
    package let patch: Int

    package var description: String { "\(major).\(minor).\(patch)" }
  }

  /// Registers for `membarrier` early, which costs much more in a process with several threads. For a program that
  /// opens one store and ends soon; call before starting a thread.
  ///
  /// With several threads, the kernel waits until every processor has passed through its scheduler (`synchronize_rcu`),
  /// 7 to 20 ms; with a single thread it does not wait.
  package static func prepareProcess() { _ = Barrier.isOneSided }

  /// The version of the loaded library.
  package static var version: Version {
    var (major, minor, patch): (Int32, Int32, Int32) = (0, 0, 0)
    _ = unsafe mdb_version(&major, &minor, &patch)
    return Version(major: Int(major), minor: Int(minor), patch: Int(patch))
  }

  /// The version of the header of this build.
  static let builtVersion = Version(
    major: Int(MDB_VERSION_MAJOR), minor: Int(MDB_VERSION_MINOR), patch: Int(MDB_VERSION_PATCH))

  /// Whether the library is 0.9.26 to 0.9.31, which destroy the mutexes of `lock.mdb` when an environment closes: see
  /// ``ReaderLockFile``.
  package static var destroysMutexes: Bool { destroysMutexes(version) }

  static func destroysMutexes(_ version: Version) -> Bool {
    version.major == 0 && version.minor == 9 && (26...31).contains(version.patch)
  }

  /// Rejects a library, or an operating system, with files that this code would misread. Call before opening or
  /// creating a store, so that LMDB maps nothing.
  ///
  /// - Throws: `unsupportedLibrary`, `unsupportedSystemPageSize`.
  static func check() throws(LMDBError) {
    try check(version, builtVersion, pageSize: Int(sysconf(Int32(_SC_PAGESIZE))))
  }

  /// Patch releases of 0.9 have one data format and one lock file; LMDB 1.0 has others, and another series may have.
  static func check(_ loaded: Version, _ built: Version, pageSize: Int) throws(LMDBError) {
    if (loaded.major, loaded.minor) != (built.major, built.minor) {
      throw .unsupportedLibrary(loaded: "\(loaded)", built: "\(built)")
    }
    // LMDB creates files with pages of the system's size. With other sizes, pages at their own offsets would be
    // misread, and LMDB syncs and maps in pages of the system.
    if pageSize != LMDBLimits.pageSize { throw .unsupportedSystemPageSize(pageSize) }
  }
}
