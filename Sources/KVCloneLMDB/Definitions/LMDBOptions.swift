/// How an environment is opened. The defaults fit every use that was measured.
package struct LMDBOptions: Sendable {
  /// Opens without the right to write; the lock file is still written, because readers register in it.
  package var isReadOnly = false
  /// Address space to reserve, in bytes. Halved as long as a limit of the process forbids it.
  package var mapSize = 1 << 40
  /// How many tables can be open. More cost time: with 65,535, every read transaction takes 33 µs to begin.
  package var maximumTables = 1024
  /// How many read transactions of all processes can be open at once. An existing
  /// lock file with more slots keeps them.
  package var maximumReaders = 126
  /// After how many dirtied bytes (about) a write transaction spills its dirty pages to the file, which bounds its
  /// memory. 0 switches forced spills off.
  package var spillBudget = 16 << 20
  /// Names of FUSE file systems, as `fuse.NAME` or `fuseblk` of /proc/self/mountinfo, that may carry a store.
  package var trustedFuseFileSystems: Set<String> = []
  /// Makes commits durable by a log of at most so many bytes: see `CommitLog`. Nil: by LMDB's own two syncs.
  package var walSizeLimit: Int?

  /// Leaves the slots of dead readers as they are when it opens, for who wants to see them.
  package var keepsDeadReaders = false

  /// How long the file may become by what write transactions add, in bytes; nil: as long as the disk has room.
  package var maximumFileBytes: Int?

  /// Leaves btrfs's copy-on-write, and with it its checksums, on for the files of an environment that is made.
  package var usesCopyOnWrite = false

  /// How long opening waits for another process that opens the store, or recovers it.
  package var busyTimeout: Duration = .seconds(5)

  /// Replaces the page cache's answers, and observes what is requested from the disk. For tests.
  package var readAheadHooks: ReadAheadHooks?

  package init() {}
}
