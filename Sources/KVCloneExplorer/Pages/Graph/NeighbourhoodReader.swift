import KVClone
import KVCloneCore

/// Reads the neighbourhood of an object: a bounded number of objects, by relationship, then in the order of members.
struct NeighbourhoodReader {
  /// The numbers of nodes that a closed and an open object shows around it.
  private struct Limits {
    var closed: Int
    var open: Int

    static let centre = Limits(closed: 12, open: 24)
    static let neighbour = Limits(closed: 5, open: 15)
  }

  /// The number of neighbours that can be open.
  static let maximumOpenCount = 4

  /// The members of a relationship, or the objects that refer by one without an inverse: the first of them, and their
  /// number.
  private struct Branch {
    var relationship: String
    var isIncoming = false
    var count: Int
    var isLowerBound = false
    var shown: [ObjectID]
  }

  /// The relationship between an object and the nearer one, seen from the nearer one.
  private struct Way {
    var origin: ObjectID
    var entity: String
    var relationship: String
    var isIncoming: Bool
  }

  private let model: ManagedObjectModel
  private let open: Set<String>
  private var shown: [ObjectID: String] = [:]
  private var result: Neighbourhood

  /// Reads the neighbourhood of an object.
  ///
  /// - Parameter open: the names of objects that show more neighbours.
  static func read(
    _ id: ObjectID, open: [String], _ transaction: borrowing ReadTransaction
  ) throws -> Neighbourhood {
    let model = transaction._withSession { $0.schema.model }
    let centre = try DisplayName.read(id, in: model, transaction)
    var reader = NeighbourhoodReader(model, centre, open)
    reader.shown[id] = centre.id
    try reader.readFirst(id, transaction)
    return reader.result
  }

  private init(_ model: ManagedObjectModel, _ centre: DisplayName, _ open: [String]) {
    self.model = model
    self.open = Set(open)
    result = Neighbourhood(centre: centre, isOpen: open.contains(centre.id))
  }

  private mutating func readFirst(_ id: ObjectID, _ transaction: borrowing ReadTransaction) throws {
    var ids: [ObjectID?] = []
    let branches = try branches(id, Limits.centre.open, nil, transaction)
    let closed = Self.allot(branches.map(\.count), Limits.centre.closed)
    for (branch, share) in zip(branches, closed) {
      for member in branch.shown.prefix(share) {
        if try !add(member, branch, from: result.centre.id, transaction) { continue }
        ids.append(member)
      }
      if branch.count > share {
        result.first.append(hidden(branch, share))
        ids.append(nil)
      }
    }
    let closedCount = result.first.count
    if result.isOpen { try openFirst(branches, closed, &ids, transaction) }

    var all: [[Branch]] = []
    for index in 0..<closedCount {
      var group: [Branch] = []
      if let member = ids[index], let entity = result.first[index].name?.entity {
        let node = result.first[index]
        let way = Way(
          origin: id, entity: result.centre.entity, relationship: node.relationship, isIncoming: node.isIncoming)
        group = try self.branches(member, Limits.neighbour.open, way, transaction, entity)
      }
      all.append(group)
    }
    // Closed states first, so that an object remains where it is when others open.
    var shares: [[Int]] = []
    for index in 0..<closedCount {
      let share = Self.allot(all[index].map(\.count), Limits.neighbour.closed)
      shares.append(share)
      result.second.append([])
      for (branch, share) in zip(all[index], share) {
        for member in branch.shown.prefix(share) { try addSecond(member, branch, index, isExtra: false, transaction) }
        if branch.count > share {
          var node = hidden(branch, share)
          node.parent = index
          result.second[index].append(node)
        }
      }
    }
    for index in 0..<closedCount where result.open.count < Self.maximumOpenCount {
      guard let name = result.first[index].name?.id, open.contains(name) else { continue }
      result.open.insert(index)
      try openSecond(index, all[index], shares[index], transaction)
    }
  }

  // MARK: Open objects

  private mutating func openFirst(
    _ branches: [Branch], _ closed: [Int], _ ids: inout [ObjectID?], _ transaction: borrowing ReadTransaction
  ) throws {
    let shares = Self.allot(branches.map(\.count), Limits.centre.open)
    for (index, branch) in branches.enumerated() where branch.count > closed[index] {
      for member in branch.shown.prefix(shares[index]).dropFirst(closed[index]) {
        guard try add(member, branch, from: result.centre.id, transaction) else { continue }
        result.first[result.first.count - 1].isExtra = true
        ids.append(member)
      }
      setHidden(branch, max(shares[index], closed[index]), in: &result.first)
    }
  }

  private mutating func openSecond(
    _ index: Int, _ branches: [Branch], _ closed: [Int], _ transaction: borrowing ReadTransaction
  ) throws {
    let shares = Self.allot(branches.map(\.count), Limits.neighbour.open)
    for (place, branch) in branches.enumerated() where branch.count > closed[place] {
      for member in branch.shown.prefix(shares[place]).dropFirst(closed[place]) {
        try addSecond(member, branch, index, isExtra: true, transaction)
      }
      setHidden(branch, max(shares[place], closed[place]), in: &result.second[index])
    }
  }

  /// Updates the node for the members that are not shown.
  private func setHidden(_ branch: Branch, _ shown: Int, in nodes: inout [Neighbourhood.Node]) {
    guard let place = nodes.firstIndex(where: { $0.name == nil && $0.relationship == branch.relationship }) else {
      return
    }
    nodes[place].hiddenCount = branch.count - shown
  }

  // MARK: Reading

  /// Adds a node to the first ring; returns false if the object has one already.
  private mutating func add(
    _ id: ObjectID, _ branch: Branch, from origin: String, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    if let known = shown[id] {
      link(origin, known, branch)
      return false
    }
    let name = try DisplayName.read(id, in: model, transaction)
    shown[id] = name.id
    result.first.append(
      Neighbourhood.Node(name: name, relationship: branch.relationship, isIncoming: branch.isIncoming))
    return true
  }

  private mutating func addSecond(
    _ id: ObjectID, _ branch: Branch, _ parent: Int, isExtra: Bool, _ transaction: borrowing ReadTransaction
  ) throws {
    if let known = shown[id] {
      link(result.first[parent].name?.id ?? "", known, branch)
      return
    }
    let name = try DisplayName.read(id, in: model, transaction)
    shown[id] = name.id
    result.second[parent].append(
      Neighbourhood.Node(
        name: name, relationship: branch.relationship, isIncoming: branch.isIncoming, parent: parent, isExtra: isExtra))
  }

  /// Adds a link between objects that are shown. One without an inverse is found from both of its ends.
  private mutating func link(_ origin: String, _ target: String, _ branch: Branch) {
    let link = Neighbourhood.Link(from: origin, to: target, branch.relationship, isIncoming: branch.isIncoming)
    if !result.links.contains(link) { result.links.append(link) }
  }

  private func hidden(_ branch: Branch, _ shown: Int) -> Neighbourhood.Node {
    Neighbourhood.Node(
      name: nil, hiddenCount: branch.count - shown, relationship: branch.relationship, isIncoming: branch.isIncoming,
      isLowerBound: branch.isLowerBound)
  }

  /// The relationships of an object that are not empty, by name, and then those without an inverse that lead to it.
  ///
  /// - Parameters:
  ///   - limit: of members to read.
  ///   - way: from the nearer object, which is not a member of the way back.
  private func branches(
    _ id: ObjectID, _ limit: Int, _ way: Way?, _ transaction: borrowing ReadTransaction, _ entity: String? = nil
  ) throws -> [Branch] {
    var branches: [Branch] = []
    let back = way.flatMap { way in
      way.isIncoming
        ? way.relationship.split(separator: ".").last.map(String.init)
        : model.inverse(of: way.relationship, in: way.entity)?.relationship.name
    }
    let entity = entity ?? result.centre.entity
    for relationship in model.relationships(of: entity).sorted(by: { $0.name < $1.name })
    where !relationship.isTransient {
      let isBack = relationship.name == back
      let count = try transaction.count(id, relationship.name) - (isBack ? 1 : 0)
      if count <= 0 { continue }
      var members: [ObjectID] = []
      try transaction.forEachMember(id, relationship.name) { member in
        if !isBack || member != way?.origin { members.append(member) }
        return members.count < limit
      }
      if !members.isEmpty { branches.append(Branch(relationship: relationship.name, count: count, shown: members)) }
    }
    return try branches + incoming(id, limit, way, transaction)
  }

  private func incoming(
    _ id: ObjectID, _ limit: Int, _ way: Way?, _ transaction: borrowing ReadTransaction
  ) throws -> [Branch] {
    try transaction._withSession { session in
      var branches: [Branch] = []
      for relationship in IncomingRelationship.all(to: try session.entity(of: id), in: session.schema) {
        let isBack = way.map { isSame(relationship, $0) } ?? false
        let list = session.address(id, relationship.code)
        let page = try MemberReader.page(.chunks(list, isOrdered: false), from: nil, limit: limit + 1, in: session)
        let members = page.ids.filter { !isBack || $0 != way?.origin }
        if members.isEmpty { continue }
        var count = MemberCount(value: members.count)
        if page.next != nil {
          count = try MemberReader.count(list, in: session)
          // The nearer object is in the list, perhaps after the members that were read.
          if isBack { count.value -= 1 }
        }
        branches.append(
          Branch(
            relationship: relationship.title, isIncoming: true, count: count.value, isLowerBound: count.isLowerBound,
            shown: Array(members.prefix(limit))))
      }
      return branches
    }
  }

  /// Whether the nearer object refers to this one by a relationship without an inverse.
  private func isSame(_ relationship: IncomingRelationship, _ way: Way) -> Bool {
    !way.isIncoming && way.relationship == relationship.description.name
      && ([way.entity] + model.superentities(of: way.entity)).contains(relationship.entity)
  }

  /// Divides the places of nodes among relationships by their numbers of members. A relationship that does not fit
  /// needs one for the rest.
  static func allot(_ counts: [Int], _ limit: Int) -> [Int] {
    func needed(_ share: Int) -> Int { counts.reduce(0) { $0 + ($1 <= share ? $1 : share + 1) } }
    var share = 1
    while share < limit, needed(share + 1) <= limit { share += 1 }
    return counts.map { min($0, share) }
  }
}
