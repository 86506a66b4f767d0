/// Options of an NDJSON load.
public struct LoadOptions: Sendable {
  /// The number of lines per transaction; nil loads all lines in one transaction.
  ///
  /// With a number, a line may only refer to lines of its own batch and of earlier batches.
  public var batch: Int?
  /// Whether a header with the hash of the store's model is required. The default is false.
  public var isStrict = false
  /// The directory that contains the files of `{"file":"…"}` values. The default is the working directory.
  public var baseDirectory = "."
  /// The maximum number of ids in ``LoadResult/ids``. The default is 0.
  public var idLimit = 0
  /// Receives the number of lines and bytes read so far, about every thousand lines.
  public var progress: (@Sendable (_ lines: Int, _ bytes: UInt64) -> Void)?
  /// Receives the number of spooled bytes before the write lock is acquired; see ``ObjectStore/load(_:from:)``.
  public var spoolProgress: (@Sendable (_ bytes: UInt64) -> Void)?
  /// Called for each commit, so that an interrupt handler can report what is in the store.
  package var commitObserver: (@Sendable (LoadCommit) -> Void)?

  /// Creates options with one transaction, an optional header, and files below the working directory.
  public init() {}
}

/// The state of a load's commit.
package enum LoadCommit: Sendable {
  /// From now until one of the others, it is unknown whether the batch is in the store.
  case begins
  /// The total number of committed objects.
  case succeeded(objectCount: Int)
  /// No commit is in progress: the load has failed, possibly long before one.
  case failed
}

/// The result of an NDJSON load.
public struct LoadResult: Sendable, Hashable {
  /// The number of inserted objects.
  public var objectCount = 0
  /// The number of inserted objects by concrete entity. Entities without objects are absent.
  public var counts: [String: Int] = [:]
  /// The names of objects in the store (`Note/12`) by the ids in the text, up to ``LoadOptions/idLimit``.
  public var ids: [String: String] = [:]
}
