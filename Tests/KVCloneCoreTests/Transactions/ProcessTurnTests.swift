import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

/// Two processes that write continuously take turns.
@Suite("Turns of processes", .needsDataFile(.turns))
struct ProcessTurnTests {
  private static let model = ManagedObjectModel("Turns") {
    EntityDescription("Mine") { AttributeDescription("number", .integer64) }
    EntityDescription("Other") { AttributeDescription("number", .integer64) }
  }
  private static let count = 1_000

  @Test("two processes with single writes")
  func processes() throws {
    let test = try TestStore(Self.model, options: .tracking())
    let peers = try (0..<2).map { _ in try PeerProcess("insert", [test.location, "Other"]) }
    for peer in peers { #expect(peer.hear() == "open") }
    // Each process gets all of its turns at once, and both wait for the lock when it is released.
    try test.store.write { _ in
      for peer in peers { try peer.tell(Array(repeating: "go", count: Self.count).joined(separator: "\n")) }
      usleep(200_000)
    }
    var serials: [[UInt64]] = []
    for peer in peers {
      serials.append((0..<Self.count).map { _ in UInt64(peer.hear() ?? "") ?? 0 })
      #expect(try peer.finish() == 0)
    }
    #expect(Set(serials.joined()) == Set(1...UInt64(2 * Self.count)))
    // Serials are the order of the turns. While both processes wrote, they had about as many. The first turns of the
    // process that began earlier do not count.
    let begin = try #require(serials.compactMap { $0.min() }.max())
    let end = try #require(serials.compactMap { $0.max() }.min())
    try #require(end > begin + UInt64(Self.count) / 4, "the processes did not write at the same time")
    let share = Double(serials[0].count { $0 >= begin && $0 <= end }) / Double(end - begin + 1)
    #expect(share > 0.4 && share < 0.6, "one process had \(share) of the turns")
    try checked(test.store)
  }
}
