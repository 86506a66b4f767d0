struct DictionaryObject: Hashable {
  var entity: String
  var values: [String: DictionaryValue] = [:]
  /// The members by relationship, also of to-one relationships. Unordered lists are sorted; empty ones are missing.
  var links: [String: [Int]] = [:]
}

/// One operation of a transaction.
enum DictionaryEdit: Hashable {
  case insert(Int, entity: String, values: [String: DictionaryValue])
  case set(Int, attribute: String, value: DictionaryValue?)
  case setToOne(Int, relationship: String, target: Int?)
  case link(Int, relationship: String, target: Int, index: Int?)
  case unlink(Int, relationship: String, target: Int)
  case reorder(Int, relationship: String, members: [Int])
  case delete([Int])
}

/// The whole content of a store as dictionaries.
struct DictionaryState {
  let model: DictionaryModel
  var objects: [Int: DictionaryObject] = [:]

  func members(_ id: Int, _ name: String) -> [Int] { objects[id]?.links[name] ?? [] }

  /// The result of an edit, or nil if an object is missing or a Deny rule refuses it.
  func applying(_ edit: DictionaryEdit) -> DictionaryState? {
    var state = self
    return state.apply(edit) ? state : nil
  }

  /// The result of a transaction, or nil if it is refused or leaves an invalid state.
  func applying(_ edits: [DictionaryEdit]) -> DictionaryState? {
    var state = self
    for edit in edits where !state.apply(edit) { return nil }
    return state.brokenRules().isEmpty ? state : nil
  }

  private mutating func apply(_ edit: DictionaryEdit) -> Bool {
    switch edit {
    case .insert(let id, let entity, let values):
      guard objects[id] == nil else { return false }
      objects[id] = DictionaryObject(entity: entity, values: values)
    case .set(let id, let attribute, let value):
      guard objects[id] != nil else { return false }
      objects[id]?.values[attribute] = value
    case .setToOne(let id, let name, let target):
      guard let relationship = relationship(id, name) else { return false }
      if let target, objects[target] == nil { return false }
      for old in members(id, name) where old != target { unlink(id, relationship, old) }
      if let target { link(id, relationship, target, at: nil) }
    case .link(let id, let name, let target, let index):
      guard let relationship = relationship(id, name), objects[target] != nil else { return false }
      if members(id, name).contains(target) { return false }
      if let index, index > members(id, name).count { return false }
      link(id, relationship, target, at: index)
    case .unlink(let id, let name, let target):
      guard let relationship = relationship(id, name), members(id, name).contains(target) else { return false }
      unlink(id, relationship, target)
    case .reorder(let id, let name, let members):
      guard relationship(id, name) != nil, Set(members) == Set(self.members(id, name)) else { return false }
      setMembers(id, name, members)
    case .delete(let ids):
      return delete(ids)
    }
    return true
  }

  private func relationship(_ id: Int, _ name: String) -> DictionaryRelationship? {
    objects[id].flatMap { model.relationship(name, $0.entity) }
  }

  mutating func setMembers(_ id: Int, _ name: String, _ members: [Int]) {
    guard let relationship = relationship(id, name) else { return }
    let kept = relationship.isOrdered ? members : members.sorted()
    objects[id]?.links[name] = kept.isEmpty ? nil : kept
  }

  private mutating func link(_ id: Int, _ relationship: DictionaryRelationship, _ target: Int, at index: Int?) {
    if members(id, relationship.name).contains(target) { return }
    if !relationship.isToMany {
      for old in members(id, relationship.name) { unlink(id, relationship, old) }
    }
    let inverse = model.inverse(relationship)
    if let inverse, !inverse.isToMany {
      for old in members(target, inverse.name) { unlink(target, inverse, old) }
    }
    insert(target, into: id, relationship.name, at: index)
    if let inverse, !(model.isOwnInverse(relationship) && id == target) {
      insert(id, into: target, inverse.name, at: nil)
    }
  }

  private mutating func insert(_ member: Int, into id: Int, _ name: String, at index: Int?) {
    var list = members(id, name)
    list.insert(member, at: min(index ?? list.count, list.count))
    setMembers(id, name, list)
  }

  private mutating func unlink(_ id: Int, _ relationship: DictionaryRelationship, _ target: Int) {
    setMembers(id, relationship.name, members(id, relationship.name).filter { $0 != target })
    if let inverse = model.inverse(relationship) {
      setMembers(target, inverse.name, members(target, inverse.name).filter { $0 != id })
    }
  }

  private mutating func delete(_ ids: [Int]) -> Bool {
    guard ids.allSatisfy({ objects[$0] != nil }) else { return false }
    var deleted = Set(ids)
    var waiting = ids
    while let id = waiting.popLast() {
      guard let object = objects[id] else { continue }
      for relationship in model.relationships(object.entity) where relationship.deleteRule == .cascade {
        for member in members(id, relationship.name) where deleted.insert(member).inserted { waiting.append(member) }
      }
    }
    for id in deleted {
      guard let object = objects[id] else { continue }
      for relationship in model.relationships(object.entity) where relationship.deleteRule == .deny {
        if !deleted.isSuperset(of: members(id, relationship.name)) { return false }
      }
    }
    for id in deleted { objects[id] = nil }
    for (id, object) in objects {
      for (name, list) in object.links where list.contains(where: deleted.contains) {
        setMembers(id, name, list.filter { !deleted.contains($0) })
      }
    }
    return true
  }

  /// The values of an object under a constraint, to-one targets among them; nil if one is nil.
  func uniqueValues(of id: Int, _ names: [String]) -> [DictionaryValue]? {
    guard let object = objects[id] else { return nil }
    let values = names.compactMap { name in
      model.relationship(name, object.entity) == nil
        ? object.values[name] : members(id, name).first.map { .string("object \($0)") }
    }
    return values.count == names.count ? values : nil
  }

  /// The violations of required properties, counts and uniqueness constraints, in words.
  func brokenRules() -> [String] {
    var broken: [String] = []
    var seen: [[String]: Set<[DictionaryValue]>] = [:]
    for (id, object) in objects.sorted(by: { $0.key < $1.key }) {
      for attribute in model.attributes(object.entity) where !attribute.isOptional {
        if object.values[attribute.name] == nil { broken.append("\(object.entity)/\(id).\(attribute.name) is nil") }
      }
      for relationship in model.relationships(object.entity) {
        let count = members(id, relationship.name).count
        let tooFew = count < relationship.needed || (count > 0 && count < relationship.minimum)
        let tooMany = relationship.maximum > 0 && count > relationship.maximum
        if tooFew || tooMany { broken.append("\(object.entity)/\(id).\(relationship.name) has \(count)") }
      }
      for (owner, names) in model.constraints(object.entity) {
        if let values = uniqueValues(of: id, names), !seen[[owner] + names, default: []].insert(values).inserted {
          broken.append("\(object.entity)/\(id) is not unique under \(names)")
        }
      }
    }
    return broken
  }
}
