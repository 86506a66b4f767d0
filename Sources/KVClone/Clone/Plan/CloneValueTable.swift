import KVCloneModel
import KVCloneRecords

/// The values of clones under uniqueness constraints, to find two clones with equal ones (R24).
///
/// Takes two rounds over the clones, because a million values in a hash table would not be flat memory: the first
/// stores a hash of each, 8 bytes, and the second, if hashes were equal at all, the values of those few (R26).
struct CloneValueTable {
  private var hashes: [UInt64] = []
  /// Hashes that several clones have; nil in the first round.
  private var suspects: Set<UInt64>?
  /// The values with these hashes, and the source of the clone that has them.
  private var taken: [Key: ObjectID] = [:]

  private struct Key: Hashable {
    let index: UInt16
    let bytes: [UInt8]
    /// The values themselves, if they were truncated in the key.
    let values: [AttributeValue?]
  }

  /// Random for each table, so that values cannot be chosen to collide.
  private let seed = UInt64.random(in: 0 ... .max)

  /// The number of stored values.
  var count: Int { taken.count }

  /// Adds the values of `id`'s clone; returns the source of a clone with equal values, as far as the second pass knows.
  mutating func note(_ index: UInt16, _ builder: IndexKeyBuilder, _ values: [AttributeValue?], _ id: ObjectID)
    -> ObjectID?
  {
    let hash = builder.bytes.withUnsafeBytes { XXH3.hash($0, seed: seed ^ UInt64(index)) }
    guard let suspects else {
      hashes.append(hash)
      return nil
    }
    guard suspects.contains(hash) else { return nil }
    return taken.updateValue(
      id, forKey: Key(index: index, bytes: builder.bytes, values: builder.isTruncated ? values : []))
  }

  /// Ends the first round; returns whether a second one is needed.
  mutating func needsSecondRound() -> Bool {
    hashes.sort()
    var found: Set<UInt64> = []
    for index in hashes.indices.dropFirst() where hashes[index] == hashes[index - 1] {
      found.insert(hashes[index])
      // More than the maximum number of errors: the first ones suffice.
      if found.count > ClonePlanner.errorLimit { break }
    }
    hashes = []
    suspects = found
    return !found.isEmpty
  }
}
