/// Something a peer cannot do, or a library that it calls cannot.
package struct PeerFailure: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
