extension Session {
  /// Whether nothing waits.
  @inline(__always)
  var isSettled: Bool { waiting?.isEmpty ?? true }

  /// What waits, to be added to.
  mutating func waitingInserts() -> WaitingInserts {
    if let waiting { return waiting }
    let waiting = WaitingInserts()
    self.waiting = waiting
    return waiting
  }
}
