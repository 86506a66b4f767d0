import KVCloneModel
import KVCloneRecords

/// Values that clones have under uniqueness constraints, to find two clones with the same (R24).
///
/// In two rounds over the clones, because a million values in a hash table would not be flat memory: the first keeps a
/// hash of each, 8 bytes, and the second, where hashes met at all, the values of those few (R26).
struct CloneValueTable {
  private var hashes: [UInt64] = []
  /// Hashes that several clones have; nil in the first round.
  private var suspects: Set<UInt64>?
  /// Of those, the values, with the source whose clone has them.
  private var taken: [Key: ObjectID] = [:]

  private struct Key: Hashable {
    let index: UInt16
    let bytes: [UInt8]
    /// The values themselves, where they were cut to fit the key.
    let values: [AttributeValue?]
  }

  /// Differs from table to table, so that values cannot be chosen to have hashes that meet.
  private let seed = UInt64.random(in: 0 ... .max)

  /// How many values are remembered as such.
  var count: Int { taken.count }

  /// Notes what the clone of `id` has; the source whose clone has the same already, as far as the second round has come.
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

  /// Ends the first round; whether there has to be a second one.
  mutating func needsSecondRound() -> Bool {
    hashes.sort()
    var found: Set<UInt64> = []
    for index in hashes.indices.dropFirst() where hashes[index] == hashes[index - 1] {
      found.insert(hashes[index])
      // More than errors are collected for: the first ones will do.
      if found.count > ClonePlanner.errorLimit { break }
    }
    hashes = []
    suspects = found
    return !found.isEmpty
  }
}
