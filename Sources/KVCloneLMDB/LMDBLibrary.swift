import CKVCloneLMDB

/// The LMDB library that is loaded.
package enum LMDBLibrary {
  /// Does what costs a process with several threads much more than one with a single thread. For a program that opens one
  /// store and ends soon; to be called before it starts a thread.
  ///
  /// That is the registration for `membarrier`: for a process with several threads the kernel waits until every processor has
  /// passed through its scheduler (`synchronize_rcu`), 7 to 20 ms; for one with a single thread it waits for nobody.
  package static func prepareProcess() { _ = Barrier.isOneSided }

  /// Its version: major, minor, patch.
  package static var version: (major: Int, minor: Int, patch: Int) {
    var (major, minor, patch): (Int32, Int32, Int32) = (0, 0, 0)
    _ = unsafe mdb_version(&major, &minor, &patch)
    return (Int(major), Int(minor), Int(patch))
  }

  /// Whether it is 0.9.26 to 0.9.31, which have races that 0.9.24 does not. To be logged once.
  package static var hasKnownRaces: Bool {
    let version = version
    return version.major == 0 && version.minor == 9 && (26...31).contains(version.patch)
  }
}
