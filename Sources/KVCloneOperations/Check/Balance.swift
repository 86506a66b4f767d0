import KVCloneModel
import KVCloneRecords

/// Whether two tables that follow from each other agree, found without looking up anything in either.
///
/// Each is read once, in its own order. What the one says that the other has to have is added to a sum, what the other has is taken from
/// it, both as hashes under a key of this run's own: the sum is even when they agree, and else with a probability of 2⁻⁶⁴. Which of their
/// entries have no counterpart it does not tell; those are looked up, one by one, only where it is not even. A lookup for each entry, in
/// the order of the other table, would read a page of the file for each where the store is larger than memory.
struct Balance {
  private var sum: UInt64 = 0
  private let key = UInt64.random(in: .min ... .max)

  /// Whether everything that is expected was found, and nothing else.
  var isEven: Bool { sum == 0 }

  /// The other side of a link: the list of `owner` under a relationship's code has to have `member`.
  mutating func expectLink(_ code: UInt16, _ owner: ObjectID, _ member: ObjectID) {
    sum &+= hash(code, owner, member)
  }

  /// The list of `owner` under a relationship's code has `member`.
  mutating func findLink(_ code: UInt16, _ owner: ObjectID, _ member: ObjectID) {
    sum &-= hash(code, owner, member)
  }

  /// An object has to have an entry in an index.
  mutating func expectEntry(_ key: borrowing RawSpan) {
    sum &+= XXH3.hash(copy key, seed: self.key)
  }

  /// An index has an entry.
  mutating func findEntry(_ key: borrowing RawSpan) {
    sum &-= XXH3.hash(copy key, seed: self.key)
  }

  private func hash(_ code: UInt16, _ owner: ObjectID, _ member: ObjectID) -> UInt64 {
    let seed = XXH3.hash(littleEndianWord: owner.rawValue.littleEndian, seed: key ^ UInt64(code))
    return XXH3.hash(littleEndianWord: member.rawValue.littleEndian, seed: seed)
  }
}
