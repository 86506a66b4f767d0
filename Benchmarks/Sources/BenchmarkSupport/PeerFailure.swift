/// A failure of a peer, or of a library that it calls.
package struct PeerFailure: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
