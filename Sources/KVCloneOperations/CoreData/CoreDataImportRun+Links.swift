import KVCloneCore
import KVCloneCoreData
import KVCloneModel

extension CoreDataImportRun {
  /// Reads the tables of links, and removes links that cannot be created.
  func gatherLinks() throws {
    for place in links.indices {
      if let join = links[place].join { try read(layout.joins[join], into: place) }
    }
    for place in links.indices {
      if links[place].isOwnInverse, !links[place].relationship.isToMany { try agree(place, with: place) }
      if let other = links[place].counterpart, !links[place].isRepeated { try agree(place, with: other) }
    }
  }

  private func read(_ join: CoreDataLayout.Join, into place: Int) throws {
    let table = links[place]
    let scan = try SQLiteScan(file, join.table)
    while try scan.next() {
      try step(.links, report.linkCount, of: nil)
      let (owner, member) = (try scan.value(join.ownerColumn), try scan.value(join.memberColumn))
      // A column of the members' own table has links only in rows with a value.
      if owner == .null, join.inverse == nil { continue }
      guard case .integer(let owner) = owner, case .integer(let member) = member,
        (1...CoreDataRows.maximumKey).contains(owner), (1...CoreDataRows.maximumKey).contains(member)
      else {
        if table.isOrderOnly { continue }
        try broken(
          CoreDataImportError(
            .invalidKey,
            "\(join.entity).\(join.description.name): row \(scan.rowID) of \(join.table.name) contains invalid object "
              + "keys: \(CoreDataRows.keyLimit); --skip-broken imports the rest without this link",
            entity: join.entity, property: join.description.name), false)
        continue
      }
      let order = table.isFromMember ? join.inverseOrderColumn : join.orderColumn
      var value: Int64?
      if let order, case .integer(let number) = try scan.value(order) { value = number }
      if table.isFromMember {
        try table.links.append(owner: member, member: owner, order: value)
      } else {
        try table.links.append(owner: owner, member: member, order: value)
        // Either of the two may be stored; both lists contain the other.
        if table.isOwnInverse, owner != member { try table.links.append(owner: member, member: owner, order: nil) }
      }
    }
  }

  // MARK: One to one

  /// Keeps the links that both sides have, and reports the others.
  private func agree(_ place: Int, with other: Int) throws {
    let first = links[place].links
    let second = try links[other].links.pairs.swapped(in: space)
    try first.pairs.sort()
    let agreed = first.emptyCopy()
    try ScratchArray.merge(first.pairs, second) { pair, isFirst, isSecond in
      try step(.links, report.linkCount, of: nil)
      if !isSecond {
        try complain(pair, links[place], isTurned: false)
      } else if isFirst {
        try agreed.append(owner: Int64(pair >> 32), member: Int64(pair & 0xFFFF_FFFF), order: nil)
      } else if place != other {
        // The other side of a relationship that is its own inverse has reported it.
        try complain(pair, links[other], isTurned: true)
      }
    }
    links[place].links = agreed
  }

  private func complain(_ pair: UInt64, _ table: CoreDataLinkTable, isTurned: Bool) throws {
    let owner = isTurned ? pair & 0xFFFF_FFFF : pair >> 32
    let member = isTurned ? pair >> 32 : pair & 0xFFFF_FFFF
    let name = name(owner, table.links.ownerRoot) ?? "\(table.links.ownerRoot)/\(owner)"
    guard let target = self.name(member, table.links.memberRoot) else {
      return try broken(
        dangling(name, table.entity, table.relationship.name, "\(table.links.memberRoot)/\(member)"), false)
    }
    try broken(
      CoreDataImportError(
        .inverseMismatch,
        "\(name) \(table.relationship.name): leads to \(target), which does not lead back; make both sides match in "
          + "the app, or import the objects without the link: --skip-broken",
        entity: table.entity, property: table.relationship.name, object: name), false)
  }

  // MARK: Creating links

  /// Calls `body` with every owner and its existing members, for the relationships of the wanted tables.
  func forEachList(
    where isWanted: (CoreDataLinkTable) -> Bool, _ body: (CoreDataLinkTable, UInt64, [UInt64]) throws -> Void
  ) throws {
    for table in links where !table.isRepeated && isWanted(table) {
      let owners = table.isFromMember ? table.relationship.destinationEntityName : table.entity
      // Looked up once, because they are used for every link.
      let ownerKeys = keys(kindOf: owners)
      let memberKeys = keys(kindOf: table.links.destination)
      try table.links.forEachOwner { owner, keys in
        try step(.links, report.linkCount, of: nil)
        let isOwner = ownerKeys.contains { $0.keys.contains(owner) }
        var taken: [UInt64] = []
        taken.reserveCapacity(keys.count)
        for key in keys {
          if isOwner, memberKeys.contains(where: { $0.keys.contains(key) }) {
            taken.append(key)
          } else if !table.isOrderOnly {
            try complainOfTarget(owner, key, isOwner: isOwner, table)
          }
        }
        if !table.isOrderOnly { report.linkCount += taken.count }
        if !taken.isEmpty { try body(table, owner, taken) }
      }
    }
  }

  private func complainOfTarget(_ owner: UInt64, _ member: UInt64, isOwner: Bool, _ table: CoreDataLinkTable) throws {
    // Reported from the side with the column, or, in a table of links, from the existing one.
    let isFromOwner = table.column != nil ? !table.isFromMember : isOwner
    // Its other half is equivalent.
    if table.column == nil, table.isOwnInverse, !isOwner { return }
    let (from, to) = isFromOwner ? (owner, member) : (member, owner)
    let (fromRoot, toRoot) =
      isFromOwner
      ? (table.links.ownerRoot, table.links.memberRoot) : (table.links.memberRoot, table.links.ownerRoot)
    let isFromInverse = table.column == nil && isFromOwner == table.isFromMember
    let property = isFromInverse ? table.relationship.inverseName ?? table.relationship.name : table.relationship.name
    guard let object = name(from, fromRoot) else {
      // Neither exists: an omitted object loses its links.
      if table.column != nil { return }
      return try broken(dangling("\(fromRoot)/\(from)", fromRoot, property, "\(toRoot)/\(to)"), false)
    }
    let entity = String(object.prefix { $0 != "/" })
    guard let target = name(to, toRoot) else {
      return try broken(dangling(object, entity, property, "\(toRoot)/\(to)"), false)
    }
    try broken(
      CoreDataImportError(
        .wrongDestination,
        "\(object) \(property): leads to \(target), which is not of the relationship's destination entity; give the "
          + "model that wrote the store (--model), or import the object without the link: --skip-broken",
        entity: entity, property: property, object: object), false)
  }

  /// The name of an object in a hierarchy; nil if it does not exist.
  private func name(_ key: UInt64, _ root: String) -> String? {
    keys(kindOf: root).first { $0.keys.contains(key) }.map { "\($0.entity)/\(key)" }
  }
}
