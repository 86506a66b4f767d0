import KVCloneCoreData
import KVCloneLMDB
import KVCloneModel

/// The links of one relationship, and their source.
struct CoreDataLinkTable {
  /// A column of a hierarchy's table.
  struct Column {
    let hierarchy: Int
    let toOne: Int
  }

  /// The entity that declares the relationship.
  let entity: String
  let relationship: RelationshipDescription
  /// The column with the target's key; nil for tables of links.
  let column: Column?
  /// The table of links; nil for columns.
  let join: Int?
  /// Whether the links are written from the target: its list is written at once.
  let isFromMember: Bool
  /// Whether the links exist already, and only get their order.
  var isOrderOnly = false
  /// For one-to-one relationships: the table of the other side, which has to agree.
  var counterpart: Int?
  /// Whether nothing is written, because the other side's links are the same.
  var isRepeated = false
  /// Whether the relationship is its own inverse.
  let isOwnInverse: Bool
  var links: CoreDataLinks

  /// Whether the links of both sides are known before the objects are written. The hidden list of a relationship
  /// without an inverse, and the order of one that is its own inverse, result from setting one side.
  var isCompletelyKnown: Bool { links.relationship.inverseName != nil && !isOwnInverse }

  /// The link tables of a store, empty.
  static func all(of layout: CoreDataLayout, in space: ScratchSpace) -> [CoreDataLinkTable] {
    var tables: [CoreDataLinkTable] = []
    let model = layout.model
    func root(_ entity: String) -> String { model.rootEntity(of: entity) ?? entity }
    for (hierarchy, content) in layout.hierarchies.enumerated() {
      for (place, toOne) in content.toOnes.enumerated() {
        let destination = root(toOne.description.destinationEntityName)
        let isFromMember = toOne.inverse?.isToMany ?? false
        let written = isFromMember ? toOne.inverse ?? toOne.description : toOne.description
        tables.append(
          CoreDataLinkTable(
            entity: toOne.entity, relationship: toOne.description, column: Column(hierarchy: hierarchy, toOne: place),
            join: nil, isFromMember: isFromMember,
            isOwnInverse: toOne.inverse?.name == toOne.description.name && toOne.inverseEntity == toOne.entity,
            links: CoreDataLinks(
              written, ownerRoot: isFromMember ? destination : content.root,
              memberRoot: isFromMember ? content.root : destination, in: space)))
      }
    }
    let places = Dictionary(
      tables.enumerated().map { ("\($0.element.entity).\($0.element.relationship.name)", $0.offset) },
      uniquingKeysWith: { first, _ in first })
    for place in tables.indices {
      tables[place].counterpart = counterpartName(of: tables[place], layout).flatMap { places[$0] }
    }
    for place in tables.indices {
      if let other = tables[place].counterpart, other < place { tables[place].isRepeated = true }
    }
    for (place, join) in layout.joins.enumerated() {
      let owner = root(join.entity)
      let member = root(join.description.destinationEntityName)
      // An ordered side determines the order; of two, each its own.
      let (isOrdered, isOtherOrdered) = (join.description.isOrdered, join.inverse?.isOrdered ?? false)
      let isOwnInverse = join.inverse?.name == join.description.name && join.inverseEntity == join.entity
      let turns = isOrdered && isOtherOrdered && !isOwnInverse ? [false, true] : [!isOrdered && isOtherOrdered]
      for (turn, isTurned) in turns.enumerated() {
        let written = isTurned ? join.inverse ?? join.description : join.description
        tables.append(
          CoreDataLinkTable(
            entity: join.entity, relationship: join.description, column: nil, join: place, isFromMember: isTurned,
            isOrderOnly: turn > 0, isOwnInverse: isOwnInverse,
            links: CoreDataLinks(
              written, ownerRoot: isTurned ? member : owner, memberRoot: isTurned ? owner : member, in: space)))
      }
    }
    return tables
  }

  /// The other side of a one-to-one relationship, with the entity that declares it.
  private static func counterpartName(of table: CoreDataLinkTable, _ layout: CoreDataLayout) -> String? {
    guard let column = table.column else { return nil }
    let toOne = layout.hierarchies[column.hierarchy].toOnes[column.toOne]
    guard let inverse = toOne.inverse, !inverse.isToMany, !table.isOwnInverse else { return nil }
    return toOne.inverseEntity.map { "\($0).\(inverse.name)" }
  }
}
