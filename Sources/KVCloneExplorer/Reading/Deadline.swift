/// The end of the time that a request may take.
///
/// Transactions of ``PageContext/read(_:)`` check it by themselves. A loop outside of them checks it, too, about every
/// thousand steps.
struct Deadline: Sendable {
  let end: ContinuousClock.Instant
  private let limit: Duration

  init(after limit: Duration) {
    self.limit = limit
    end = .now + limit
  }

  var isOver: Bool { end <= .now }

  /// The error of a request that takes longer.
  var error: ExplorerError {
    ExplorerError(
      .timeLimit,
      "the page was cancelled after \(Text.seconds(limit.inSeconds)); narrow the request: use a predicate or a sort by "
        + "an indexed attribute, or a smaller limit")
  }

  /// Throws `timeLimit` after the deadline, and `cancelled` if the client has disconnected.
  func check() throws(ExplorerError) {
    if isOver { throw error }
    if Task.isCancelled { throw ExplorerError(.cancelled, "the request was cancelled; repeat it") }
  }
}
