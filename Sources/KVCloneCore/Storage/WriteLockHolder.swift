#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import KVCloneLMDB

/// The holder of the write lock of a store, which one write transaction of all processes can have.
public struct WriteLockHolder: Sendable, Hashable {
  /// The id of the holder's process, in that process's own PID namespace.
  public let processID: Int32
  /// The name of the process; empty if it is unknown.
  public let processName: String
  /// The label of the operation, at most 64 bytes: the `label` of `ObjectStore.write`, or a name such as `clone` or
  /// `load`.
  public let label: String
  /// The time at which the process acquired the lock, by its own clock.
  public let since: Date
  /// Whether this process holds the lock.
  public let isThisProcess: Bool

  package init(processID: Int32, processName: String, label: String, since: Date, isThisProcess: Bool) {
    self.processID = processID
    self.processName = processName
    self.label = label
    self.since = since
    self.isThisProcess = isThisProcess
  }

  init(_ holder: WriterHolder) {
    processID = holder.pid
    processName = ProcessNames.name(holder.pid)
    label = holder.label
    since = Date(timeIntervalSince1970: Double(holder.sinceNanoseconds) / 1e9)
    isThisProcess = holder.isThisProcess
  }

  /// The time since the lock was acquired.
  public var age: Duration { .seconds(max(0, Date().timeIntervalSince(since))) }
}
