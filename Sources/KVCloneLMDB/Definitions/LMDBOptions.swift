/// Options for opening an environment. The defaults fit every measured use.
package struct LMDBOptions: Sendable {
  /// Opens without write access to the data; the lock file is still written, because readers register in it.
  package var isReadOnly = false
  /// Address space to reserve, in bytes. Halved until it fits the limits of the process.
  package var mapSize = 1 << 40
  /// The maximum number of open tables. Larger values cost time: with 65,535, beginning a read transaction takes 33 µs.
  package var maximumTables = 1024
  /// The maximum number of read transactions in all processes. An existing lock file with more slots keeps them.
  package var maximumReaders = 126
  /// The number of dirty bytes (approximate) after which a write transaction spills, which bounds its memory. 0
  /// disables forced spills.
  package var spillBudget = 16 << 20
  /// Names of FUSE file systems that may carry a store, as `fuse.NAME` or `fuseblk` in /proc/self/mountinfo.
  package var trustedFuseFileSystems: Set<String> = []
  /// The size limit of the write-ahead log, in bytes (see `CommitLog`); nil disables the log, and commits use LMDB's
  /// own two syncs.
  package var walSizeLimit: Int?

  /// Keeps the slots of stale readers when opening, for listing them.
  package var keepsDeadReaders = false

  /// The maximum size of the file that write transactions may grow it to, in bytes; nil for the size of the disk.
  package var maximumFileBytes: Int?

  /// Keeps copy-on-write, and with it checksums, enabled on btrfs for the files of a new environment.
  package var usesCopyOnWrite = false

  /// The maximum time that opening waits for another process that opens or recovers the store.
  package var busyTimeout: Duration = .seconds(5)

  /// Replaces the results of page cache lookups, and observes read-ahead requests. For tests.
  package var readAheadHooks: ReadAheadHooks?

  package init() {}
}
