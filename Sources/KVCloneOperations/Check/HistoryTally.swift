import KVCloneRecords

/// Checks whether the parts of each transaction in the history are complete, and have as many changes as its header
/// says. Entries come in key order.
struct HistoryTally {
  /// The commit after which the history is complete: earlier entries may be in the middle of a purge.
  private let start: UInt64?
  private let last: UInt64?
  private var current: Transaction?

  private struct Transaction {
    let commit: UInt64
    /// Nil if it is missing, or the transaction cannot be checked.
    var header: ChangeHeader?
    var parts: UInt32 = 0
    var inserted: UInt64 = 0
    var updated: UInt64 = 0
    var deleted: UInt64 = 0

    mutating func add(_ part: ChangePart) {
      parts += 1
      switch part {
      // Corrupted numbers must not trap.
      case .inserted(let entries): for entry in entries { inserted &+= entry.count }
      case .updated(let entries): updated &+= UInt64(entries.count)
      case .deleted(let entries): deleted &+= UInt64(entries.count)
      }
    }

    /// The mismatch; nil if all counts match.
    var problem: String? {
      guard let header else { return nil }
      if parts != header.partCount { return "it has \(parts) parts instead of the \(header.partCount) in its header" }
      for (what, found, told) in [
        ("inserted", inserted, header.insertedCount), ("updated", updated, header.updatedCount),
        ("deleted", deleted, header.deletedCount),
      ] where found != told {
        return "it lists \(found) \(what) objects instead of the \(told) in its header"
      }
      return nil
    }
  }

  /// - Parameters:
  ///   - start: nil if history is disabled, or unknown.
  ///   - last: the commit counter.
  init(start: UInt64?, last: UInt64?) {
    self.start = start
    self.last = last
  }

  /// Adds a sound entry of the table.
  mutating func note(_ key: borrowing RawSpan, _ value: borrowing RawSpan, _ run: CheckRun) {
    guard let start, let place = try? NumberKey.numberAndPart(copy key), place.number > start else { return }
    let seed = ValueEnvelope.seed(tableCode: .changes, key: copy key)
    if current?.commit != place.number {
      finish(run)
      current = Transaction(commit: place.number)
      current?.header = place.part == 0 ? try? ChangeHeader(stored: copy value, seed: seed) : nil
      if place.part != 0 { Self.report(run, place.number, "its header is missing") }
      if let last, place.number > last { Self.report(run, place.number, "the last commit is \(last)") }
    } else if let part = try? ChangePart(stored: copy value, seed: seed) {
      if place.part == (current?.parts ?? 0) + 1 { current?.add(part) }
    }
  }

  /// Skips the transaction of an unreadable entry, which was reported.
  mutating func skip(_ key: borrowing RawSpan, _ run: CheckRun) {
    guard let place = try? NumberKey.numberAndPart(copy key) else { return }
    if current?.commit != place.number { finish(run) }
    current = Transaction(commit: place.number)
  }

  /// Completes the transaction.
  mutating func finish(_ run: CheckRun) {
    if let current, let problem = current.problem { Self.report(run, current.commit, problem) }
    current = nil
  }

  private static func report(_ run: CheckRun, _ commit: UInt64, _ problem: String) {
    run.report(.history, "the history of commit \(commit) is incomplete: \(problem)")
  }
}
