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

  /// The members of a relationship: the first of them, and their number.
  private struct Branch {
    var relationship: String
    var count: Int
    var shown: [ObjectID]
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
        if try !add(member, branch.relationship, from: result.centre.id, transaction) { continue }
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
        // The way back is no news.
        let back = model.inverse(of: result.first[index].relationship, in: result.centre.entity)?.relationship.name
        group = try self.branches(member, Limits.neighbour.open, back, transaction, entity, except: id)
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
        guard try add(member, branch.relationship, from: result.centre.id, transaction) else { continue }
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
    _ id: ObjectID, _ relationship: String, from origin: String, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    if let known = shown[id] {
      result.links.append(Neighbourhood.Link(from: origin, to: known, relationship: relationship))
      return false
    }
    let name = try DisplayName.read(id, in: model, transaction)
    shown[id] = name.id
    result.first.append(Neighbourhood.Node(name: name, relationship: relationship))
    return true
  }

  private mutating func addSecond(
    _ id: ObjectID, _ branch: Branch, _ parent: Int, isExtra: Bool, _ transaction: borrowing ReadTransaction
  ) throws {
    if let known = shown[id] {
      let origin = result.first[parent].name?.id ?? ""
      result.links.append(Neighbourhood.Link(from: origin, to: known, relationship: branch.relationship))
      return
    }
    let name = try DisplayName.read(id, in: model, transaction)
    shown[id] = name.id
    result.second[parent].append(
      Neighbourhood.Node(name: name, relationship: branch.relationship, parent: parent, isExtra: isExtra))
  }

  private func hidden(_ branch: Branch, _ shown: Int) -> Neighbourhood.Node {
    Neighbourhood.Node(name: nil, hiddenCount: branch.count - shown, relationship: branch.relationship)
  }

  /// The relationships of an object that are not empty, by name.
  ///
  /// - Parameters:
  ///   - limit: of members to read.
  ///   - back: the relationship that leads back to `origin`, which is then not a member.
  private func branches(
    _ id: ObjectID, _ limit: Int, _ back: String?, _ transaction: borrowing ReadTransaction, _ entity: String? = nil,
    except origin: ObjectID? = nil
  ) throws -> [Branch] {
    var branches: [Branch] = []
    let entity = entity ?? result.centre.entity
    for relationship in model.relationships(of: entity).sorted(by: { $0.name < $1.name })
    where !relationship.isTransient {
      let isBack = relationship.name == back
      let count = try transaction.count(id, relationship.name) - (isBack ? 1 : 0)
      if count <= 0 { continue }
      var members: [ObjectID] = []
      try transaction.forEachMember(id, relationship.name) { member in
        if !isBack || member != origin { members.append(member) }
        return members.count < limit
      }
      if !members.isEmpty { branches.append(Branch(relationship: relationship.name, count: count, shown: members)) }
    }
    return branches
  }

  /// Divides places among relationships with so many members. A relationship that does not fit needs one for the rest.
  static func allot(_ counts: [Int], _ limit: Int) -> [Int] {
    func needed(_ share: Int) -> Int { counts.reduce(0) { $0 + ($1 <= share ? $1 : share + 1) } }
    var share = 1
    while share < limit, needed(share + 1) <= limit { share += 1 }
    return counts.map { min($0, share) }
  }
}
