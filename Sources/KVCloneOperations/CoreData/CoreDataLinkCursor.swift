import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// The links of one side of a relationship, which are written with their objects: in the order of the objects' keys.
final class CoreDataLinkCursor {
  private let name: String
  private let ownerCode: UInt16
  private let memberCode: UInt16
  /// The owner in the upper half. By owner, then in the order of its list.
  private let pairs: ScratchArray<UInt64>
  private var place = 0
  /// Found for the last entity, because neighbours usually have the same one.
  private var last: (entity: CompiledEntity, relationship: CompiledRelationship)?

  private init(_ name: String, ownerCode: UInt16, memberCode: UInt16, _ pairs: ScratchArray<UInt64>) {
    self.name = name
    self.ownerCode = ownerCode
    self.memberCode = memberCode
    self.pairs = pairs
  }

  /// Both sides of all relationships with completely known links; nil if an object has several links of a to-one
  /// relationship.
  ///
  /// - Parameter tables: with sorted links.
  static func all(
    of tables: [CoreDataLinkTable], _ schema: Schema, in space: ScratchSpace
  ) throws -> [CoreDataLinkCursor]? {
    var cursors: [CoreDataLinkCursor] = []
    for table in tables where !table.isRepeated && table.isCompletelyKnown {
      let links = table.links
      let owner = try schema.entity(links.ownerRoot).rootCode
      let member = try schema.entity(links.memberRoot).rootCode
      let name = links.relationship.name
      cursors.append(CoreDataLinkCursor(name, ownerCode: owner, memberCode: member, links.pairs))
      // If both sides are ordered, each has a table.
      let hasOther = table.join != nil && tables.contains { $0.isOrderOnly && $0.join == table.join }
      guard !hasOther, let inverse = links.relationship.inverseName else { continue }
      let swapped = try links.pairs.swapped(in: space)
      // The inverse of a column is to-one.
      if table.column != nil, swapped.hasRepeatedFirst { return nil }
      cursors.append(CoreDataLinkCursor(inverse, ownerCode: member, memberCode: owner, swapped))
    }
    return cursors
  }

  /// The links of the next object; nil if it has none. Keys of a root entity have to ascend.
  func links(
    of key: UInt64, _ entity: CompiledEntity
  ) throws(StoreError) -> (relationship: CompiledRelationship, targets: [ObjectID])? {
    guard entity.rootCode == ownerCode else { return nil }
    while place < pairs.count, pairs[place] >> 32 < key { place += 1 }
    guard place < pairs.count, pairs[place] >> 32 == key else { return nil }
    if last?.entity !== entity { last = (entity, try entity.relationship(name)) }
    guard let relationship = last?.relationship else { return nil }
    let first = place
    while place < pairs.count, pairs[place] >> 32 == key { place += 1 }
    var targets: [ObjectID] = []
    targets.reserveCapacity(place - first)
    var seen = TargetSet(capacity: place - first)
    for index in first..<place {
      let member = ObjectID(rootCode: memberCode, serial: pairs[index] & 0xFFFF_FFFF)
      // Equal members of an unordered list are neighbours.
      if relationship.isOrdered ? seen.insert(member) : targets.last != member { targets.append(member) }
    }
    return (relationship, targets)
  }
}

extension ScratchArray where Element == UInt64 {
  /// Whether two of the sorted pairs have the same first number.
  fileprivate var hasRepeatedFirst: Bool {
    for index in 1..<max(1, count) where self[index] >> 32 == self[index - 1] >> 32 { return true }
    return false
  }
}
