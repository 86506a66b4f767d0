import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

/// Values chosen to make a hash table slow: those of one list differ, and have the same hash in a type of Foundation or
/// of the standard library.
@Suite("Digests of values")
struct ValueDigestTests {
  /// Orders of combining marks of different classes: all canonically equivalent, no two of the same bytes.
  private static let spellings: [AttributeValue] = {
    let marks = ["\u{327}", "\u{323}", "\u{301}", "\u{5B0}", "\u{5B1}", "\u{5B2}"]
    var orders: [[String]] = [[]]
    for mark in marks {
      orders = orders.flatMap { order in (0...order.count).map { Array(order[..<$0]) + [mark] + order[$0...] } }
    }
    return orders.map { .string("a" + $0.joined()) }
  }()

  private static let decimals: [AttributeValue] = (0..<500).compactMap { number in
    Decimal(string: "0.1\(String(repeating: "0", count: 25))\(1_000 + number)").map { .decimal($0) }
  }

  private static let bytes: [AttributeValue] = (0..<500).map { number in
    .binary(Data(repeating: 7, count: 100) + withUnsafeBytes(of: UInt32(number)) { Data($0) })
  }

  private static let integers: [AttributeValue] = (0..<500).map { .integer(Int64.max - $0) }

  private static let composites: [AttributeValue] = (0..<500).map { .composite(["a": .integer($0)]) }

  @Test(
    "values that differ have digests of their own, in sets of values and in groups of results",
    arguments: [spellings, decimals, bytes, integers, composites])
  func distinct(_ values: [AttributeValue]) {
    #expect(Set(values).count == values.count)
    #expect(Set(values.map(\.hashValue)).count >= values.count - 1)
    let queried = values.map { QueryValue($0) }
    #expect(Set(queried.map(\.equalityDigest)).count >= values.count - 1)
    #expect(Set(queried.map { QueryValue.list([.null, $0]).equalityDigest }).count >= values.count - 1)
    #expect(QueryValueSet(queried + queried).values.count == values.count)
  }

  @Test("equal numbers have one digest, whatever their types")
  func equalNumbers() {
    let groups: [[QueryValue]] = [
      [.integer(1), .double(1), .decimal(1), .boolean(true)],
      [.integer(0), .double(-0.0), .decimal(0), .boolean(false)],
      [.double(0.1), .decimal(Decimal(string: "0.1") ?? .nan)], [.double(.nan), .decimal(.nan)],
      [.integer(.max), .decimal(Decimal(Int64.max))], [.double(1e20), .decimal(Decimal(string: "1e20") ?? .nan)],
      [.integer(1 << 60), .double(0x1p60)], [.double(-2.5e-7), .decimal(Decimal(string: "-2.5e-7") ?? .nan)],
    ]
    for group in groups {
      #expect(Set(group.map(\.equalityDigest)).count == 1, "\(group)")
      #expect(group.allSatisfy { $0.isEqual(to: group[0]) }, "\(group)")
      #expect(QueryValueSet(group).values.count == 1, "\(group)")
    }
  }
}
