import KVCloneCore
import KVCloneLMDB
import KVCloneModel

/// Links between the rows of two tables, as pairs of keys in scratch space.
final class CoreDataLinks {
  /// The relationship that the links are written from.
  let relationship: RelationshipDescription
  let ownerRoot: String
  let memberRoot: String
  /// The required entity of members.
  let destination: String
  /// Pairs of keys, with the owner in the upper half.
  private(set) var pairs: ScratchArray<UInt64>
  /// The member's position in the owner's list; as many as pairs, or none.
  private let orders: ScratchArray<UInt64>
  private let space: ScratchSpace
  private static let maximumCount = Int(UInt32.max)

  init(
    _ relationship: RelationshipDescription, ownerRoot: String, memberRoot: String, in space: ScratchSpace
  ) {
    self.relationship = relationship
    self.ownerRoot = ownerRoot
    self.memberRoot = memberRoot
    self.space = space
    destination = relationship.destinationEntityName
    pairs = ScratchArray(in: space)
    orders = ScratchArray(in: space)
  }

  /// An empty instance for the same relationship.
  func emptyCopy() -> CoreDataLinks {
    CoreDataLinks(relationship, ownerRoot: ownerRoot, memberRoot: memberRoot, in: space)
  }

  /// - Parameter order: for an ordered relationship; rows without a position come first.
  func append(owner: Int64, member: Int64, order: Int64?) throws(StoreError) {
    // Sorting by position keeps a link's number in 32 bits.
    guard pairs.count < Self.maximumCount else {
      throw StoreError(
        .limitExceeded,
        "\(ownerRoot).\(relationship.name) has more than \(Self.maximumCount) links; import a smaller store",
        entity: ownerRoot, property: relationship.name)
    }
    try pairs.append(UInt64(owner) << 32 | UInt64(member))
    if relationship.isOrdered {
      // Sorts like the number.
      try orders.append(UInt64(bitPattern: order ?? .min) ^ (1 << 63))
    }
  }

  /// Calls `body` with each owner and its members: in the order of their positions, or of their keys if they have none.
  func forEachOwner(_ body: (UInt64, [UInt64]) throws -> Void) throws {
    if relationship.isOrdered { try sortByPlace() } else { try pairs.sort() }
    try pairs.forEachFirst { owner, range in try body(UInt64(owner), range.map { pairs[$0] & 0xFFFF_FFFF }) }
  }

  /// Sorts by owner, then position, then member. Positions are replaced by their ranks, which fit next to an owner.
  private func sortByPlace() throws(StoreError) {
    let distinct = ScratchArray<UInt64>(in: space)
    try distinct.reserve(orders.count)
    for index in orders.indices { try distinct.append(orders[index]) }
    try distinct.sort()
    let ranks = ScratchArray<UInt64>(in: space)
    try ranks.reserve(distinct.count)
    for index in distinct.indices where index == 0 || distinct[index] != distinct[index - 1] {
      try ranks.append(distinct[index])
    }
    // First by position and member; then stably by owner and position.
    let byPlace = ScratchArray<UInt64>(in: space)
    try byPlace.reserve(pairs.count)
    for index in pairs.indices { try byPlace.append(UInt64(Self.rank(orders[index], ranks)) << 32 | UInt64(index)) }
    try byPlace.sort()
    let byOwner = ScratchArray<UInt64>(in: space)
    try byOwner.reserve(pairs.count)
    for position in byPlace.indices {
      let index = Int(byPlace[position] & 0xFFFF_FFFF)
      try byOwner.append(pairs[index] & ~0xFFFF_FFFF | UInt64(position))
    }
    try byOwner.sort()
    let sorted = ScratchArray<UInt64>(in: space)
    try sorted.reserve(pairs.count)
    for position in byOwner.indices {
      try sorted.append(pairs[Int(byPlace[Int(byOwner[position] & 0xFFFF_FFFF)] & 0xFFFF_FFFF)])
    }
    pairs = sorted
  }

  private static func rank(_ order: UInt64, _ ranks: ScratchArray<UInt64>) -> Int {
    var (low, high) = (0, ranks.count)
    while low < high {
      let middle = (low + high) / 2
      if ranks[middle] < order { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
