/// The number of asynchronous writes that share one durable commit; see <doc:GroupCommit>.
///
/// Writes that wait at the same time run one after the other under one write lock, and become durable together. No
/// write waits for others to arrive. A group ends at the first limit that it reaches; the write that reaches it still
/// belongs to the group.
public struct GroupCommitOptions: Sendable, Hashable {
  /// The maximum number of writes in a group. The default is 128; 1 turns group commit off.
  ///
  /// One commit of 128 small writes costs about as much as two commits of one write, so larger groups gain little.
  public var maximumCount = 128
  /// The size of the written keys and values at which a group ends, in bytes. The default is 4 MiB.
  ///
  /// Writing 4 MiB takes longer than the synchronization of the disk, which a group saves. Until the group ends, its
  /// changes can be undone, and the limit bounds the memory for that.
  public var maximumByteCount = 4 << 20
  /// The time under the write lock at which a group ends. The default is 10 ms.
  ///
  /// Other processes wait for the lock during that time. Ten milliseconds are about the synchronization of a hard disk.
  public var maximumDuration: Duration = .milliseconds(10)

  /// Creates options with default values.
  public init() {}

  /// Options without group commit: every write commits by itself.
  public static var off: GroupCommitOptions {
    var options = GroupCommitOptions()
    options.maximumCount = 1
    return options
  }
}
