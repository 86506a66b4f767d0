import Foundation
import KVClone
import KVCloneCore

/// The snapshots and the latest transactions of a store, as one page shows them.
struct Timeline: Sendable {
  struct Entry: Sendable {
    var info: SnapshotInfo
    /// Nil if counting them was left for a request of its own.
    var retainedBytes: UInt64?
    /// The name of the snapshot before it.
    var previous: String?
  }

  /// The part of the timeline that a page shows.
  struct Request: Sendable {
    /// The number of the snapshot (its epoch) before which the list begins; nil for the newest ones.
    var beforeSnapshot: UInt64?
    /// The commit before which the list of transactions begins; nil for the latest ones.
    var beforeCommit: UInt64?
    /// The snapshot with retained bytes that are counted regardless of the budget.
    var counted: String?
    var limit: Int
    /// Whether time is left for counting retained bytes.
    var hasTime: @Sendable () -> Bool
    /// Whether time is left for counting those of ``counted``.
    var hasTimeForCounted: @Sendable () -> Bool = { true }
  }

  private(set) var commit: UInt64
  private(set) var snapshotCount: Int
  /// Newest first.
  private(set) var entries: [Entry] = []
  /// The number of the last listed snapshot, if older ones follow.
  private(set) var nextSnapshot: UInt64?
  /// Newest first; nil if the store records no history.
  private(set) var transactions: [HistoryTransaction]?
  /// The last listed commit, if older ones follow.
  private(set) var nextCommit: UInt64?

  init(_ store: ObjectStore, _ request: Request) throws {
    let all = try store.snapshots()
    snapshotCount = all.count
    let earlier = all.filter { $0.epoch < request.beforeSnapshot ?? .max }
    let shown = earlier.suffix(request.limit)
    if shown.count < earlier.count { nextSnapshot = shown.first?.epoch }
    // The count for the oldest snapshot is the cheapest.
    for (index, info) in zip(shown.indices, shown) {
      entries.append(
        Entry(
          info: info, retainedBytes: try Self.retainedBytes(info, store, request),
          previous: index > 0 ? earlier[index - 1].name : nil))
    }
    entries.reverse()
    let history = try store.read { reader in
      let token = try reader.currentToken()
      return (token: token, latest: try Self.transactions(token, request, reader))
    }
    commit = history.token.commit
    transactions = history.latest?.transactions
    if history.latest?.hasMore == true { nextCommit = transactions?.last?.commit }
  }

  private static func retainedBytes(_ info: SnapshotInfo, _ store: ObjectStore, _ request: Request) throws -> UInt64? {
    let hasTime = request.counted == info.name ? request.hasTimeForCounted : request.hasTime
    guard hasTime() else { return nil }
    do throws(StoreError) {
      return try store.snapshot(named: info.name).retainedBytes(isCancelled: { !hasTime() })
    } catch {
      // It may have been deleted since the list was read.
      guard error.kind == .snapshotNotFound || error.kind == .cancelled else { throw error }
      return nil
    }
  }

  /// Returns the latest transactions before a commit, newest first; nil if the store records no history.
  private static func transactions(
    _ token: HistoryToken, _ request: Request, _ reader: borrowing ReadTransaction
  ) throws -> (transactions: [HistoryTransaction], hasMore: Bool)? {
    let first: HistoryTransaction?
    do throws(StoreError) {
      first = try reader.history(limit: 1).first
    } catch {
      guard error.kind == .historyDisabled else { throw error }
      return nil
    }
    let end = min(token.commit, request.beforeCommit.map { $0 - min($0, 1) } ?? .max)
    guard let first, first.commit <= end else { return ([], false) }
    // The history is read forwards. Commits without an entry are rare, so the first window usually suffices.
    let start = first.commit - 1
    var width = UInt64(request.limit)
    while true {
      let low = max(start, end - min(end, width))
      var found: [HistoryTransaction] = []
      try reader.forEachTransaction(after: HistoryToken(store: token.store, commit: low)) { transaction in
        if transaction.commit <= end { found.append(transaction) }
        return transaction.commit < end
      }
      if found.count >= request.limit || low == start {
        let latest = Array(found.suffix(request.limit).reversed())
        return (latest, (latest.last?.commit ?? 0) > first.commit)
      }
      width *= 4
    }
  }
}
