/// The result of one clone.
package struct CloneOutcome {
  package var objects: Int
  /// The time measured by the peer itself, without its setup and cleanup; nil if it does not measure.
  package var seconds: Double?
  package var parts: [String: Double] = [:]

  package init(objects: Int, seconds: Double? = nil, parts: [String: Double] = [:]) {
    (self.objects, self.seconds, self.parts) = (objects, seconds, parts)
  }
}

/// An open store for clones.
package protocol Cloner {
  /// Clones the request's roots, durably.
  mutating func clone() throws -> CloneOutcome
  /// Performs the one-time work of the process in a small store.
  mutating func warmUp() throws
  mutating func close()
}

extension Cloner {
  package mutating func warmUp() throws {
    for _ in 0..<3 { _ = try clone() }
  }
}
