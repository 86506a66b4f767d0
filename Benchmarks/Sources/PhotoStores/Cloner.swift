/// One clone.
package struct CloneOutcome {
  package var objects: Int
  /// Where the peer has a clock of its own, which leaves out what comes before and after it.
  package var seconds: Double?
  package var parts: [String: Double] = [:]

  package init(objects: Int, seconds: Double? = nil, parts: [String: Double] = [:]) {
    (self.objects, self.seconds, self.parts) = (objects, seconds, parts)
  }
}

/// An open store that can be cloned in.
package protocol Cloner {
  /// Clones the request's roots, durably.
  mutating func clone() throws -> CloneOutcome
  /// Does in a small store what the process does once in its life.
  mutating func warmUp() throws
  mutating func close()
}

extension Cloner {
  package mutating func warmUp() throws {
    for _ in 0..<3 { _ = try clone() }
  }
}
