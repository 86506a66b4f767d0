import Foundation
package import Testing

/// The reasons for which tests do not run on a cluster when `KVCLONE_TEST_ENGINE=postgres` selects it for
/// ``TestStore``.
///
/// Each excluded suite or test has the trait `.needsDataFile(reason)`: a search for a reason lists its tests. Suites
/// that never open a store by ``TestStore`` need no trait, and are the same with either engine: those of KVCloneLMDB,
/// KVCloneModel, KVCloneRecords, KVCloneCoreData and the tool, which test data files, codecs, parsers and commands; the
/// imports of Core Data's stores into a directory; and the fault tests, which inject faults into engines of their own.
/// The conformance, property and fault tests of the storage interface run on each engine (``StorageKind``) without the
/// variable.
package enum DataFileReason: String, CaseIterable, Sendable {
  /// Reads, damages or replaces bytes or pages of `data.mdb`, or opens it by LMDB.
  case bytes = "reads or changes the bytes of the data file"
  /// Expects sizes, page counts or free pages, which a server does not report by store.
  case sizes = "measures the data file; the sizes of a cluster are those of its server"
  /// Page statistics, and the estimate of compaction.
  case statistics = "statistics of pages need the data file; the engine refuses them"
  /// Salvage reads the pages of a damaged file.
  case salvage = "salvage reads the pages of a data file"
  /// Reflink copies.
  case reflink = "a reflink copy clones the data file; the engine refuses it"
  /// The write-ahead log: a server has its own.
  case log = "concerns the write-ahead log beside the data file; a server has its own"
  /// The rules of paths: links, modes, missing directories, names in use, stores that are open twice.
  case path = "concerns the path, the directory or the permissions of the store"
  /// Copies the directory of a store.
  case copiedDirectory = "copies the directory of the store"
  /// The lock file: its readers, and the process that holds the write lock.
  case lockFile = "concerns the reader slots or the lock file; a server tracks its own sessions"
  /// The share of each process in the turns at the write lock.
  case turns = "measures the turns of processes at the write lock; a server queues their requests by itself"
  /// The uploads of a killed process: a server keeps their leases for up to a minute.
  case lease = "expects that a killed process loses its uploads at once, as by the kernel's locks"
  /// A forked child: libpq's connections cannot be used after `fork`.
  case fork = "concerns the memory map of a forked process"
}

extension TestStore {
  /// Whether the stores of tests have data files.
  package static var hasDataFile: Bool {
    #if Postgres
      return !PostgresServer.isDefaultEngine
    #else
      return true
    #endif
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a suite or a test if the stores of tests are in a cluster.
  package static func needsDataFile(_ reason: DataFileReason) -> Self {
    .enabled(if: TestStore.hasDataFile, Comment(rawValue: reason.rawValue))
  }
}
