import BenchmarkSupport

/// An object with all of its attributes, as returned by a peer.
package struct Item: Sendable {
  /// The serial in KVClone and the row id in SQLite, which are equal: both count from 1 without gaps.
  package var id: Int
  var name: String
  var code: Int
  var rank: Int
  var price: Double
  var flag: Bool
  /// Seconds since 2001.
  var created: Double
  var note: String

  /// A digest of all attributes.
  package var digest: UInt64 {
    var mixer = Mixer()
    mixer.add(UInt64(id))
    mixer.add(name)
    mixer.add(UInt64(bitPattern: Int64(code)))
    mixer.add(UInt64(bitPattern: Int64(rank)))
    mixer.add(price.bitPattern)
    mixer.add(flag ? 1 : 0)
    mixer.add(created.bitPattern)
    mixer.add(note)
    return mixer.value
  }
}

/// An item and its links, by number.
package struct LinkedItem: Sendable {
  package var item: Item
  package var list: Int
  package var tags: [Int]
}

/// The graph of both peers. Every object is computed from the seed and its number, so that the graph needs no memory.
package struct ItemGraph: Sendable {
  /// The initial number of items.
  package let itemCount: Int

  /// The number of lists, which have a to-many relationship to items with a to-one inverse.
  package static let listCount = 1_000
  /// The number of tags, which have a to-many relationship to items with a to-many inverse.
  package static let tagCount = 1_000
  /// The number of items with the same code.
  static let itemsPerCode = 10
  /// The exclusive upper bound of ranks.
  package static let rankCount = 1_000_000
  /// The exclusive upper bound of prices.
  package static let priceLimit = 1_000.0
  private static let seed: UInt64 = 0x1973_F00D

  package init(itemCount: Int) { self.itemCount = itemCount }

  package var codeCount: Int { itemCount / Self.itemsPerCode }

  /// Returns an item by its number from 1. Items above ``itemCount`` are inserted by a task, and have two links.
  package func item(_ id: Int) -> LinkedItem {
    var random = SeededGenerator(seed: Self.seed ^ (UInt64(id) &* 0xD6E8_FEB8_6659_FD93))
    let item = Item(
      id: id, name: Self.name(random.next()), code: id * 48_271 % codeCount, rank: random.below(Self.rankCount),
      price: Double(random.below(Int(Self.priceLimit * 100))) / 100, flag: random.next() & 1 == 1,
      created: Double(random.below(8 * 800_000_000)) / 8, note: Self.note(&random))
    let list = 1 + random.below(Self.listCount)
    // Duplicate draws are merged, so an item has one to three tags.
    let tags = (0..<(id > itemCount ? 1 : 1 + random.below(3))).map { _ in 1 + random.below(Self.tagCount) }
    return LinkedItem(item: item, list: list, tags: Set(tags).sorted())
  }

  private static func name(_ number: UInt64) -> String {
    "\(words[Int(number & 31)]) \(String(number >> 5, radix: 36))"
  }

  /// A note of about 60 bytes.
  private static func note(_ random: inout SeededGenerator) -> String {
    var bits = random.next()
    var text = words[Int(bits & 31)]
    for _ in 0..<10 {
      bits >>= 5
      text += " "
      text += words[Int(bits & 31)]
    }
    return text
  }

  private static let words = [
    "amber", "bay", "cedar", "dune", "ember", "fjord", "grove", "hill", "iris", "juniper", "kelp", "lark", "moss",
    "north", "oak", "pine", "quartz", "reef", "sage", "tide", "umber", "vale", "wren", "yew", "zinc", "über", "ash",
    "birch", "cliff", "delta", "elm", "fern",
  ]
}
