import Foundation
import KVClone
import KVCloneCore

/// One side of a comparison: the present state, a snapshot, or, for a branch, its base or the store.
struct StoreState: Sendable {
  /// The place of a state.
  enum Origin: Sendable {
    /// The store or branch that the page shows.
    case own
    /// The base of the branch that the page shows.
    case base
    /// The present state of the store of that branch.
    case store
  }

  /// Nil for a present state.
  let snapshot: Snapshot?
  let origin: Origin

  static let present = StoreState(snapshot: nil)

  private init(snapshot: Snapshot?, origin: Origin = .own) { (self.snapshot, self.origin) = (snapshot, origin) }

  /// - Parameter name: nil and the empty text are the present state: no snapshot has an empty name.
  /// - Throws: `snapshotNotFound`.
  init(_ store: ObjectStore, named name: String?) throws {
    guard let name, !name.isEmpty else {
      self = .present
      return
    }
    guard store.parent != nil, name == StateName.base || name == StateName.store else {
      self.init(snapshot: try store.snapshot(named: name))
      return
    }
    let isBase = name == StateName.base
    self.init(snapshot: isBase ? try StateName.snapshot(name, of: store) : nil, origin: isBase ? .base : .store)
  }

  /// The value of `from`, `to` and `at` in URLs; empty for the present state.
  var name: String {
    switch origin {
    case .own: snapshot?.name ?? ""
    case .base: StateName.base
    case .store: StateName.store
    }
  }

  /// The name in texts.
  var title: String {
    switch origin {
    case .own: snapshot?.name ?? "present"
    case .base: "base"
    case .store: "store"
    }
  }

  /// Runs `body` in a read transaction of the state.
  func read<Result>(_ store: ObjectStore, _ body: (borrowing ReadTransaction) throws -> Result) throws -> Result {
    if let snapshot { return try snapshot.read(body) }
    return try (origin == .store ? store.parent ?? store : store).read(body)
  }

  /// The states of a comparison, as the library compares them.
  private enum Pair {
    case same
    case snapshots(ObjectStore, Snapshot, Snapshot?)
    case branch(BranchComparison, BranchComparison.Origin)

    /// - Returns: the states, and whether they are in the opposite order.
    static func of(_ store: ObjectStore, _ from: StoreState, _ to: StoreState) throws -> (pair: Pair, isInverted: Bool)
    {
      let parent = store.parent ?? store
      switch (from.origin, to.origin) {
      case (.own, .own): return snapshots(store, from.snapshot, to.snapshot)
      case (.base, .base), (.store, .store), (.base, .store), (.store, .base):
        return snapshots(parent, from.snapshot, to.snapshot)
      case (let origin, .own) where to.snapshot == nil: return (try branch(store, origin), false)
      case (.own, let origin) where from.snapshot == nil: return (try branch(store, origin), true)
      default:
        throw ExplorerError(
          .badRequest,
          "a snapshot of a branch cannot be compared with the base or the store; compare it with the present state")
      }
    }

    private static func snapshots(_ store: ObjectStore, _ from: Snapshot?, _ to: Snapshot?) -> (Pair, Bool) {
      if let from { return (.snapshots(store, from, to), false) }
      guard let to else { return (.same, false) }
      return (.snapshots(store, to, nil), true)
    }

    private static func branch(_ store: ObjectStore, _ origin: Origin) throws -> Pair {
      guard let comparison = BranchComparison(store) else { return .same }
      return .branch(comparison, origin == .base ? .base : .store)
    }
  }

  /// Calls `body` with the objects that differ between two states; see `ObjectStore.diff(from:to:after:_:)`.
  static func diff(
    _ store: ObjectStore, from: StoreState, to: StoreState, after: ObjectID? = nil, isCancelled: () -> Bool,
    _ body: (SnapshotDifference) throws -> Bool
  ) throws {
    let (pair, isInverted) = try Pair.of(store, from, to)
    let body = { (difference: SnapshotDifference) in try body(isInverted ? difference.inverted : difference) }
    switch pair {
    case .same: return
    case .snapshots(let store, let from, let to):
      try SnapshotDifference.forEach(in: store, from: from, to: to, after: after, isCancelled: isCancelled, body)
    case .branch(let comparison, let origin):
      try comparison.forEach(from: origin, after: after, isCancelled: isCancelled, body)
    }
  }

  /// Returns the difference of one object between two states; nil if it is equal in both.
  static func difference(of id: ObjectID, _ store: ObjectStore, from: StoreState, to: StoreState) throws
    -> SnapshotDifference?
  {
    let (pair, isInverted) = try Pair.of(store, from, to)
    let difference: SnapshotDifference? =
      switch pair {
      case .same: nil
      case .snapshots(let store, let from, let to): try SnapshotDifference.of(id, in: store, from: from, to: to)
      case .branch(let comparison, let origin): try comparison.difference(of: id, from: origin)
      }
    return isInverted ? difference?.inverted : difference
  }
}

extension PageContext {
  /// Returns the URL of a page about a snapshot. It shows no other snapshot, so `at` is not kept.
  func link(
    _ first: String, snapshot name: String, _ last: [String] = [], _ items: [(name: String, value: String?)] = []
  ) -> String {
    link([first, name] + last, items + [("at", nil)])
  }

  /// Returns the URL of the comparison of two states.
  func link(comparing from: String, _ to: String, _ items: [(name: String, value: String?)] = []) -> String {
    link(["compare"], [("from", from), ("to", to)] + items + [("at", nil)])
  }

  /// Returns the URL of the comparison of an object in two states.
  func link(comparing from: String, _ to: String, object: ObjectName) -> String {
    link(["compare"] + object.segments, [("from", from), ("to", to), ("at", nil)])
  }

  /// Returns the URL of an object's page in a state.
  func link(to object: ObjectName, in state: String) -> String {
    link(["objects"] + object.segments, items(of: state))
  }

  /// The items of the query of a page at a state.
  func items(of state: String) -> [(name: String, value: String?)] {
    state == StateName.store ? [("at", nil), ("branch", nil)] : [("at", state.nonEmpty)]
  }
}

extension Date {
  /// In RFC 3339, to the second.
  var timeText: String { formatted(.iso8601) }
}
