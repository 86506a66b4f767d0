import Synchronization

/// A peer with a counter of its objects.
final class NumberedPeer<Peer: Sendable>: Sendable {
  let peer: Peer
  private let last: Atomic<Int>

  init(_ peer: Peer, filledCount: Int) {
    self.peer = peer
    last = Atomic(filledCount)
  }

  /// The number of all objects.
  var count: Int { last.load(ordering: .acquiring) }

  /// The number of the next object to insert.
  func next() -> Int { last.add(1, ordering: .acquiringAndReleasing).newValue }
}
