/// An open read transaction, of any process, as reported by an engine.
package struct StorageReader: Sendable {
  /// The process, and the thread that took the reader slot; nil where any thread may use the slot.
  package let processID: Int32
  package let thread: UInt?
  package let isThisProcess: Bool
  /// The owner of a pinned snapshot of this process; nil for other readers.
  package let pinOwner: String?
  /// The time since the reader was opened; nil for other processes.
  package let age: Duration?
  /// The commit that the reader sees.
  package let commitNumber: UInt64
  /// Whether the process has ended.
  package let isStale: Bool
  /// The name of the process; empty if it is unknown.
  package internal(set) var processName = ""
  /// The number of commits since the one that the reader sees.
  package internal(set) var lag: UInt64 = 0
  /// The number of bytes that become reusable when the reader ends; nil if it is unknown.
  package internal(set) var retainedBytes: UInt64?
}
