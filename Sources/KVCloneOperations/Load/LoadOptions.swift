public import KVCloneCore

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
  /// Whether the load skips broken lines and reports them, instead of failing. The default is false.
  ///
  /// - A line is skipped if it is not JSON, names an unknown entity or property, has a value of the wrong type, refers
  ///   to a file that cannot be read, repeats an id, contradicts another line, or describes an object that violates a
  ///   rule of the model, or with which an object that the store has would violate one.
  /// - A link to an object that does not exist, or to that of a skipped line, is left out. If the other object then
  ///   violates a rule, because a required relationship is empty, its line is skipped, too, and so on.
  /// - Of lines with the same id, the first one counts, even if it is skipped. Of lines with the same values under a
  ///   uniqueness constraint, the first one counts that is not skipped for another reason by then.
  ///
  /// The result is that of the same text without the skipped lines and links: they change no object that was in the
  /// store. Errors that do not belong to a line fail the load: a wrong header, a line above 1 GiB, text in UTF-16, a
  /// full disk, a limit of the store, a lifecycle hook.
  ///
  /// The text is spooled first, also that of a regular file (``ObjectStore/load(_:from:)``). Lines that turn out to be
  /// broken after they were inserted roll back the transaction, and it is repeated without them. Other transactions may
  /// run in between. ``StoreOptions/maximumObjectCount`` also counts lines that are inserted before they turn out to be
  /// broken.
  public var skipsBroken = false
  /// The maximum number of skipped lines and links that ``LoadResult/skipped`` describes. The default is 1,000.
  public var skippedLimit = 1_000
  /// Receives the number of lines and bytes read so far, about every thousand lines.
  public var progress: (@Sendable (_ lines: Int, _ bytes: UInt64) -> Void)?
  /// Receives the number of spooled bytes before the write lock is acquired; see ``ObjectStore/load(_:from:)``.
  public var spoolProgress: (@Sendable (_ bytes: UInt64) -> Void)?
  /// Receives the number of bytes read so far for the ids, before the first object is inserted.
  package var idProgress: (@Sendable (_ bytes: UInt64) -> Void)?
  /// Called for each commit, to report what is in the store if the load is interrupted or fails.
  package var commitObserver: (@Sendable (LoadCommit) -> Void)?

  /// Creates options with one transaction, an optional header, and files below the working directory.
  public init() {}
}

/// The state of a load's commit.
package enum LoadCommit: Sendable {
  /// From now until one of the others, it is unknown whether the batch is in the store.
  case begins
  /// The total number of committed objects, and everything that was skipped so far; nil without
  /// ``LoadOptions/skipsBroken``.
  case succeeded(objectCount: Int, skips: LoadSkips? = nil)
  /// No commit is in progress: the load has failed, possibly long before one.
  case failed
}

/// The skipped lines and links of committed batches; see ``LoadResult``.
package struct LoadSkips: Sendable {
  package var skipped: [LoadSkipped] = []
  package var lineCount = 0
  package var linkCount = 0

  package init(_ result: LoadResult) {
    skipped = result.skipped
    lineCount = result.skippedLineCount
    linkCount = result.skippedLinkCount
  }
}

/// The result of an NDJSON load.
public struct LoadResult: Sendable, Hashable {
  /// The number of inserted objects.
  public var objectCount = 0
  /// The number of inserted objects by concrete entity. Entities without objects are absent.
  public var counts: [String: Int] = [:]
  /// The names of objects in the store (`Note/12`) by the ids in the text, up to ``LoadOptions/idLimit``.
  public var ids: [String: String] = [:]
  /// The first skipped lines and links of each batch, by line, up to ``LoadOptions/skippedLimit``.
  public internal(set) var skipped: [LoadSkipped] = []
  /// The total number of skipped lines.
  public internal(set) var skippedLineCount = 0
  /// The total number of links that were left out of lines that were loaded.
  public internal(set) var skippedLinkCount = 0
}

/// A line or a link that a load skipped.
public struct LoadSkipped: Sendable, Hashable {
  /// The error for which a load without ``LoadOptions/skipsBroken`` fails, with the line, but never with a value.
  public let error: TransferError
  /// Whether the whole line was skipped. If false, its object exists without the link.
  public let isWholeObject: Bool
}
