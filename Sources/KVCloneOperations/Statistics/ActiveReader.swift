/// An open read transaction of this or another process, which keeps pages of the file from being reused.
public struct ActiveReader: Sendable, Hashable {
  /// The kind of a reader.
  public enum Kind: String, Sendable, Hashable {
    /// A ``PinnedSnapshot`` of this process.
    case pinned
    /// A read transaction of this process.
    case transaction
    /// A reader of another process, of unknown kind.
    case unknown
  }

  /// The id of the reader's process, in that process's own PID namespace.
  public let processID: Int32
  /// The thread that took the reader slot, as numbered by the C library of its process; nil for reads of this process.
  ///
  /// This process uses reader slots in turn. Other processes that use this library do the same, so another thread of
  /// theirs may be reading.
  public let thread: UInt?
  /// The owner of a pinned snapshot of this process, if one was given; otherwise the name of the process. Empty if it
  /// is unknown.
  public let owner: String
  /// Whether the reader belongs to this process.
  public let isThisProcess: Bool
  /// The kind of the reader.
  public let kind: Kind
  /// The time since the reader was opened, with a precision of some milliseconds for readers of this process.
  ///
  /// For other processes, it is a lower bound: the time since the first commit that the reader does not see. That needs
  /// a change history (see <doc:Changes>); without one, it is nil.
  public let age: Duration?
  /// The number of commits since the commit that the reader sees.
  public let lag: UInt64
  /// The size of the pages that were freed since, in bytes. They become reusable when this reader and all readers of
  /// the same or older states end.
  ///
  /// The pages of several readers overlap, so the numbers cannot be added. It is nil if no reader slot was left for the
  /// query.
  public let retainedBytes: UInt64?
  /// Whether the process has ended. ``ObjectStore/clearStaleReaders()`` frees its reader slot.
  public let isStale: Bool
}
