/// The codes of ordered to-many relationships, as a bitmap: all that a store's model ever had, because snapshots
/// contain them.
package struct OrderedLists: Sendable {
  private var words: [UInt64] = []

  init(_ entities: [CompiledEntity], former: [UInt16]) {
    for entity in entities {
      for relationship in entity.relationships where relationship.isOrdered { insert(relationship.code) }
    }
    for code in former { insert(code) }
  }

  private mutating func insert(_ code: UInt16) {
    let place = Int(code / 64)
    while words.count <= place { words.append(0) }
    words[place] |= 1 << UInt64(code % 64)
  }

  package func contains(_ code: UInt16) -> Bool {
    let place = Int(code / 64)
    return place < words.count && words[place] & 1 << UInt64(code % 64) != 0
  }
}
