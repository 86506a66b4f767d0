import KVCloneCore
import KVCloneModel

extension ManagedObject {
  /// The object with the changes of `values`.
  func with(_ values: ObjectValues) -> ManagedObject {
    var copy = self
    for (name, value) in values.attributes { copy[name] = value }
    copy.links = values
    return copy
  }

  /// The object's attributes and to-one relationships: what a save can write.
  var storedValues: ObjectValues {
    var values = ObjectValues()
    for attribute in entity.attributes where attribute.field != nil && !attribute.description.isDerived {
      values.setAttribute(attribute.path, self[attribute.path])
    }
    for relationship in model.relationships(of: entityName) where !relationship.isTransient && !relationship.isToMany {
      values.setTarget(relationship.name, toOne(relationship.name))
    }
    return values
  }

  /// The properties that differ between two states of the object, sorted.
  func differences(from other: ManagedObject) throws(StoreError) -> [String] {
    var names: [String] = []
    for attribute in entity.attributes where attribute.field != nil {
      if try value(attribute.path) != other.value(attribute.path) { names.append(attribute.path) }
    }
    for relationship in model.relationships(of: entityName) where !relationship.isTransient {
      let name = relationship.name
      let isSame = relationship.isToMany ? count(name) == other.count(name) : toOne(name) == other.toOne(name)
      if !isSame { names.append(name) }
    }
    return names.sorted()
  }
}

extension MemberEdit {
  /// The members of a list after the change; an index beyond the end means the end.
  func applied(to members: [ObjectID]) -> [ObjectID] {
    switch self {
    case .replace(let ids): return ids
    case .remove(let ids): return members.filter { !ids.contains($0) }
    case .insert(let ids, nil): return members + ids.filter { !members.contains($0) }
    case .insert(let ids, let index?):
      var rest = members.filter { !ids.contains($0) }
      rest.insert(contentsOf: ids, at: min(max(index, 0), rest.count))
      return rest
    }
  }
}
