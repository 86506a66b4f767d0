import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

/// Two processes that write continuously take turns.
@Suite("Turns of processes")
struct ProcessTurnTests {
  private static let model = ManagedObjectModel("Turns") {
    EntityDescription("Mine") { AttributeDescription("number", .integer64) }
    EntityDescription("Other") { AttributeDescription("number", .integer64) }
  }
  private static let count = 400

  @Test("two processes with single writes")
  func processes() throws {
    let test = try TestStore(Self.model, options: .tracking())
    let peers = try (0..<2).map { _ in try PeerProcess("insert", [test.path, "Other"]) }
    for peer in peers { #expect(peer.hear() == "open") }
    // Each process gets all of its turns at once.
    for peer in peers { try peer.tell(Array(repeating: "go", count: Self.count).joined(separator: "\n")) }
    var last: [UInt64] = []
    for peer in peers {
      var serials: [UInt64] = []
      for _ in 0..<Self.count { serials.append(UInt64(peer.hear() ?? "") ?? 0) }
      last.append(serials.max() ?? 0)
      #expect(try peer.finish() == 0)
    }
    #expect(last.max() == UInt64(2 * Self.count))
    // Serials are the order of the turns. When the first process was done, the other one had done about as many.
    let first = last.min() ?? 0
    let share = Double(Self.count) / Double(first)
    #expect(share > 0.4 && share < 0.6, "the faster process had \(share) of the turns")
    try checked(test.store)
  }
}
