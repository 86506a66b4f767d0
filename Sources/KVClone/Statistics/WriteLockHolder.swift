#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import KVCloneLMDB

/// Who has the right to write a store, of which there is one among all processes.
public struct WriteLockHolder: Sendable, Hashable {
  /// The process, as it is numbered in its own PID namespace.
  public let processID: Int32
  /// The process's name; empty where that is not to be seen.
  public let processName: String
  /// What it says it is doing, at most 64 bytes: the `label` of `ObjectStore.write`, or `clone`, `load` …
  public let label: String
  /// When it got the right, by its own clock.
  public let since: Date
  /// Whether it is this process.
  public let isThisProcess: Bool

  init(_ holder: WriterHolder) {
    processID = holder.pid
    processName = ProcessNames.name(holder.pid)
    label = holder.label
    since = Date(timeIntervalSince1970: Double(holder.sinceNanoseconds) / 1e9)
    isThisProcess = holder.isThisProcess
  }

  /// For how long it has it.
  public var age: Duration { .seconds(max(0, Date().timeIntervalSince(since))) }
}

extension ObjectStore {
  /// Who writes the store now, in this process or another; nil where nobody does. It may have changed when the answer arrives.
  ///
  /// Nobody is kept waiting by the question, and no transaction begins. What ends in `busy` says the same in its message.
  public var writeLockHolder: WriteLockHolder? { engine.writer() }
}
