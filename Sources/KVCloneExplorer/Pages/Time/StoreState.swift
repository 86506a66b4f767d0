import Foundation
import KVClone
import KVCloneCore

/// One side of a comparison: the present state, or a snapshot.
struct StoreState: Sendable {
  /// Nil for the present state.
  let snapshot: Snapshot?

  static let present = StoreState(snapshot: nil)

  private init(snapshot: Snapshot?) { self.snapshot = snapshot }

  /// - Parameter name: nil and the empty text are the present state: no snapshot has an empty name.
  /// - Throws: `snapshotNotFound`.
  init(_ store: ObjectStore, named name: String?) throws {
    if let name, !name.isEmpty { snapshot = try store.snapshot(named: name) } else { snapshot = nil }
  }

  /// The value of `from`, `to` and `at` in URLs; empty for the present state.
  var name: String { snapshot?.name ?? "" }

  /// The name in texts.
  var title: String { snapshot?.name ?? "present" }

  /// Runs `body` in a read transaction of the state.
  func read<Result>(_ store: ObjectStore, _ body: (borrowing ReadTransaction) throws -> Result) throws -> Result {
    if let snapshot { try snapshot.read(body) } else { try store.read(body) }
  }

  /// Calls `body` with the objects that differ between two states; see `ObjectStore.diff(from:to:after:_:)`.
  static func diff(
    _ store: ObjectStore, from: StoreState, to: StoreState, after: ObjectID? = nil, isCancelled: () -> Bool,
    _ body: (SnapshotDifference) throws -> Bool
  ) throws {
    switch (from.snapshot, to.snapshot) {
    case (nil, nil): return
    case (let first?, let second):
      try SnapshotDifference.forEach(in: store, from: first, to: second, after: after, isCancelled: isCancelled, body)
    case (nil, let second?):
      try SnapshotDifference.forEach(in: store, from: second, to: nil, after: after, isCancelled: isCancelled) {
        try body($0.inverted)
      }
    }
  }

  /// Returns the difference of one object between two states; nil if it is equal in both.
  static func difference(of id: ObjectID, _ store: ObjectStore, from: StoreState, to: StoreState) throws
    -> SnapshotDifference?
  {
    switch (from.snapshot, to.snapshot) {
    case (nil, nil): nil
    case (let first?, let second): try SnapshotDifference.of(id, in: store, from: first, to: second)
    case (nil, let second?): try SnapshotDifference.of(id, in: store, from: second, to: nil)?.inverted
    }
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
    link(["objects"] + object.segments, [("at", state.isEmpty ? nil : state)])
  }
}

extension Date {
  /// In RFC 3339, to the second.
  var timeText: String { formatted(.iso8601) }
}
