import KVCloneModel
import KVCloneRecords

/// Whether two tables that are derived from each other agree, without lookups in either.
///
/// Each is read once, in key order. What one table requires of the other is added to a sum, what the other contains is
/// subtracted, both as hashes with a random key of this run: the sum is zero if they agree, and otherwise with a
/// probability of 2⁻⁶⁴. It does not tell which entries have no counterpart; those are looked up, one by one, only if it
/// is not zero. A lookup for each entry, in the order of the other table, would read a page of the file for each if the
/// store exceeds memory.
struct Balance {
  private var sum: UInt64 = 0
  private let key = UInt64.random(in: .min ... .max)

  /// Whether exactly the required entries were found.
  var isEven: Bool { sum == 0 }

  /// Requires the inverse side of a link: `member` in the list of `owner` for a relationship's code.
  mutating func expectLink(_ code: UInt16, _ owner: ObjectID, _ member: ObjectID) {
    sum &+= hash(code, owner, member)
  }

  /// Records `member` in the list of `owner` for a relationship's code.
  mutating func findLink(_ code: UInt16, _ owner: ObjectID, _ member: ObjectID) {
    sum &-= hash(code, owner, member)
  }

  /// Requires an object's entry in an index.
  mutating func expectEntry(_ key: borrowing RawSpan) {
    sum &+= XXH3.hash(copy key, seed: self.key)
  }

  /// Records an entry of an index.
  mutating func findEntry(_ key: borrowing RawSpan) {
    sum &-= XXH3.hash(copy key, seed: self.key)
  }

  private func hash(_ code: UInt16, _ owner: ObjectID, _ member: ObjectID) -> UInt64 {
    let seed = XXH3.hash(littleEndianWord: owner.rawValue.littleEndian, seed: key ^ UInt64(code))
    return XXH3.hash(littleEndianWord: member.rawValue.littleEndian, seed: seed)
  }
}
