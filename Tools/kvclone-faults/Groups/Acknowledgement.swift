/// A commit of the workload that the store has acknowledged: a line `ack N` or `ack N as COMMIT` of a worker.
struct Acknowledgement: Sendable, CustomStringConvertible {
  /// The number in the workload; 0 is the creation.
  let number: Int
  /// The commit number of the store, for writes of groups.
  var commit: UInt64?

  init(_ number: Int, as commit: UInt64? = nil) {
    self.number = number
    self.commit = commit
  }

  /// Returns nil if the line is not an acknowledgement.
  init?(line: some StringProtocol) {
    let parts = line.split(whereSeparator: \.isWhitespace)
    guard parts.count > 1, parts[0] == "ack", let number = Int(parts[1]) else { return nil }
    self.number = number
    commit = parts.count == 4 ? UInt64(parts[3]) : nil
  }

  var description: String { "ack \(number)" + (commit.map { " as \($0)" } ?? "") }

  /// Returns an explanation if the commit numbers of acknowledged writes are out of order: they must ascend in the
  /// order of the writes, and without gaps within a group unless a fault made the store commit in between.
  static func disorder(
    of acknowledgements: [Acknowledgement], groups: [ClosedRange<Int>], isDisturbed: Bool
  ) -> String? {
    let numbered = acknowledgements.filter { $0.commit != nil }.sorted { $0.number < $1.number }
    for (first, second) in zip(numbered, numbered.dropFirst()) {
      guard let earlier = first.commit, let later = second.commit else { continue }
      let isInGroup = groups.contains { $0 ~= first.number && $0 ~= second.number }
      let isNext = !isDisturbed && isInGroup && second.number == first.number + 1
      if later <= earlier || isNext && later != earlier + 1 {
        return "the commit numbers are out of order: \(first), then \(second)"
      }
    }
    return nil
  }
}
