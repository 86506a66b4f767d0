/// How NDJSON is loaded.
public struct LoadOptions: Sendable {
  /// Lines per transaction; nil loads everything in one, so that either all is loaded or nothing.
  ///
  /// With a number, a line may refer to lines of its own batch and of earlier ones only.
  public var batch: Int?
  /// Whether the header must be there, and name a model with this store's hash.
  public var isStrict = false
  /// The directory below which `{"file":"…"}` values are found.
  public var baseDirectory = "."
  /// How many of the file's ids ``LoadResult/ids`` tells.
  public var idLimit = 0
  /// Called about every thousand lines with the lines and bytes read so far.
  public var progress: (@Sendable (_ lines: Int, _ bytes: UInt64) -> Void)?
  /// Called while input is spooled, before the write lock is taken, with the bytes received so far; see
  /// ``ObjectStore/load(_:from:)``.
  public var spoolProgress: (@Sendable (_ bytes: UInt64) -> Void)?
  /// Told about each commit, so that whoever ends the process knows what is in the store.
  package var commitObserver: (@Sendable (LoadCommit) -> Void)?

  /// One transaction, any header, files below the working directory.
  public init() {}
}

/// How a load's commit stands.
package enum LoadCommit: Sendable {
  /// From now until one of the others, nobody knows whether the batch is in the store.
  case begins
  /// So many objects have been committed so far.
  case succeeded(objectCount: Int)
  /// There is no commit under way: the load has failed, perhaps long before one.
  case failed
}

/// What was loaded.
public struct LoadResult: Sendable, Hashable {
  /// Objects inserted.
  public var objectCount = 0
  /// Objects inserted by concrete entity; entities without any are absent.
  public var counts: [String: Int] = [:]
  /// The store's names (`Note/12`) of the file's ids, as many as ``LoadOptions/idLimit`` asked for.
  public var ids: [String: String] = [:]
}
