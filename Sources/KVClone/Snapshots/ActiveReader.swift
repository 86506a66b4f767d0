/// A read transaction that is open, of this process or another: what keeps pages of the file from being used again.
public struct ActiveReader: Sendable, Hashable {
  /// The kinds of readers.
  public enum Kind: String, Sendable, Hashable {
    /// A ``PinnedSnapshot`` of this process.
    case pinned
    /// A read of this process.
    case transaction
    /// One of another process, which does not tell.
    case unknown
  }

  /// The process, as it is numbered in its own PID namespace.
  public let processID: Int32
  /// The thread that took the reader's place in the lock file, as the C library of its process numbers it; nil for reads of
  /// this process, which use places in turns. Other processes that use this library do so too, so that another thread
  /// of theirs may be reading.
  public let thread: UInt?
  /// Who reads: the owner of a pinned snapshot of this process where one was given, else the name of the process. Empty where
  /// that is not to be seen.
  public let owner: String
  /// Whether the reader is of this process.
  public let isThisProcess: Bool
  /// What it is.
  public let kind: Kind
  /// How long it has been open. That of a read of this process is exact to some milliseconds. Of other processes nobody knows:
  /// where the store keeps a history (see <doc:Changes>) it is how long ago the first commit was that the reader does not see, so
  /// that it is at least so old; else nil.
  public let age: Duration?
  /// How many commits there were since the one that it sees.
  public let lag: UInt64
  /// Bytes of pages that were let go of since, and would be free for use if this reader, and all that see the same or older
  /// states, ended. Those of several readers are the same pages in part: they are not to be added up. Nil where no place
  /// was left for the reader that looks at it.
  public let retainedBytes: UInt64?
  /// Whether the process is gone; ``ObjectStore/clearStaleReaders()`` clears its place.
  public let isStale: Bool
}
