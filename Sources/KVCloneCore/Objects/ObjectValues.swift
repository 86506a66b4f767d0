package import KVCloneModel

/// The property values of an object by their names in the model, as stored or to be stored.
public struct ObjectValues: Sendable {
  package private(set) var attributes: [String: AttributeValue?] = [:]
  package private(set) var targets: [String: ObjectID?] = [:]
  package private(set) var members: [String: [MemberEdit]] = [:]
  /// The owners of lists that were read with an object.
  private var owners: [String: MemberList.Owner] = [:]

  package init() {}

  /// Sets an attribute; nil clears it.
  public mutating func set(_ name: String, _ value: (some AttributeConvertible)?) {
    attributes[name] = .some(value?.attributeValue)
  }

  /// Sets a transformable attribute; nil clears it.
  public mutating func set(_ name: String, transformable value: BinaryValue?) {
    attributes[name] = .some(value?.transformableValue)
  }

  /// Sets a to-one relationship; nil clears it.
  public mutating func set<Target>(_ name: String, _ target: TypedObjectID<Target>?) {
    setTarget(name, target?.objectID)
  }

  /// Sets the changes of an unordered to-many relationship.
  public mutating func set<Member>(_ name: String, _ members: ToMany<Member>) { set(name, members.list) }

  /// Sets the changes of an ordered to-many relationship.
  public mutating func set<Member>(_ name: String, _ members: OrderedToMany<Member>) { set(name, members.list) }

  private mutating func set(_ name: String, _ list: MemberList) {
    members[name] = []
    owners[name] = list.owner
    for edit in list.edits { add(edit, to: name) }
  }

  package mutating func setAttribute(_ name: String, _ value: AttributeValue?) { attributes[name] = .some(value) }
  package mutating func setTarget(_ name: String, _ target: ObjectID?) { targets[name] = .some(target) }

  package mutating func add(_ edit: MemberEdit, to name: String) {
    if case .replace = edit { members[name] = [] }
    members[name, default: []].append(edit)
  }

  package var isEmpty: Bool { attributes.isEmpty && targets.isEmpty && members.isEmpty }

  /// The names of all properties that are set, sorted.
  package var names: [String] { Set(attributes.keys).union(targets.keys).union(members.keys).sorted() }

  /// A relationship to an object that is not stored yet.
  package var propertyWithTemporaryTarget: String? {
    names.first { name in
      targets[name]??.isTemporary ?? false
        || members[name]?.contains { $0.objects.contains(where: \.isTemporary) } ?? false
    }
  }

  /// The values of a new object: a relationship that it leaves empty may be set from its other side.
  package var withoutEmptyRelationships: ObjectValues {
    var result = self
    result.targets = targets.filter { $0.value != nil }
    result.members = members.filter { !$0.value.isEmpty && $0.value != [.replace([])] }
    return result
  }

  /// A list that was read with another object, or in another relationship. Its changes do not apply to this one.
  func listOfAnother(than id: ObjectID) -> String? {
    owners.keys.sorted().first { owners[$0] != MemberList.Owner(id: id, relationship: $0) }
  }

  /// The values without some properties.
  package func without(_ names: Set<String>) -> ObjectValues {
    var result = self
    result.attributes = attributes.filter { !names.contains($0.key) }
    result.targets = targets.filter { !names.contains($0.key) }
    result.members = members.filter { !names.contains($0.key) }
    return result
  }

  /// The values with composite attributes split into elements, `place.latitude`, and every value in its stored type.
  ///
  /// - Throws: `unknownProperty`, `wrongType`, `outOfRange`.
  package func leaves(of entity: CompiledEntity) throws(StoreError) -> ObjectValues {
    var result = self
    result.attributes = [:]
    for name in attributes.keys.sorted() {
      for (leaf, value) in try entity.assignments(name, attributes[name] ?? nil) {
        result.setAttribute(leaf.path, value)
      }
    }
    return result
  }

  /// A new object's values with additions to its lists instead of replacements: they may already contain other new
  /// objects.
  package func additions(of entity: CompiledEntity) throws(StoreError) -> ObjectValues {
    var result = self
    for (name, edits) in members {
      let place = try entity.relationship(name).isOrdered ? 0 : nil
      result.members[name] = edits.map { edit in
        if case .replace(let ids) = edit { .insert(ids, at: place) } else { edit }
      }
    }
    return result
  }

  /// Merges other values, which take precedence.
  package mutating func merge(_ other: ObjectValues) {
    attributes.merge(other.attributes) { $1 }
    targets.merge(other.targets) { $1 }
    for name in other.members.keys.sorted() {
      for edit in other.members[name] ?? [] { add(edit, to: name) }
    }
  }

  /// Removes the values of some attributes and to-one relationships.
  package mutating func remove(attributesAndTargets names: Set<String>) {
    for name in names {
      attributes[name] = nil
      targets[name] = nil
    }
  }

  /// Removes all links to an object.
  package mutating func forget(_ id: ObjectID) {
    targets = targets.filter { $0.value != id }
    for (name, edits) in members where edits.contains(where: { $0.objects.contains(id) }) {
      let rest = edits.compactMap { edit in
        let kept = edit.objects.filter { $0 != id }
        // An edit of this object alone becomes empty; a replaced list stays replaced.
        if case .replace = edit { return edit.with(kept) }
        return kept.isEmpty ? nil : edit.with(kept)
      }
      members[name] = rest.isEmpty ? nil : rest
    }
  }

  /// The values with the ids of stored objects instead of temporary ones.
  package func replacingTemporary(_ stored: (ObjectID) throws(StoreError) -> ObjectID) throws(StoreError)
    -> ObjectValues
  {
    func real(_ id: ObjectID) throws(StoreError) -> ObjectID { id.isTemporary ? try stored(id) : id }
    var result = self
    for (name, target) in targets {
      if let target { result.targets[name] = .some(try real(target)) }
    }
    for (name, edits) in members {
      var others: [MemberEdit] = []
      for edit in edits {
        var ids: [ObjectID] = []
        for id in edit.objects { ids.append(try real(id)) }
        others.append(edit.with(ids))
      }
      result.members[name] = others
    }
    return result
  }

  /// The differences from the original: changed attributes and targets, and all changes of members.
  func changes(from original: ObjectValues) -> ObjectValues {
    var result = self
    result.attributes = attributes.filter { original.attributes[$0.key] != .some($0.value) }
    result.targets = targets.filter { original.targets[$0.key] != .some($0.value) }
    result.members = members.filter { !$0.value.isEmpty }
    return result
  }
}

extension EntityObject {
  /// All values, element by element.
  ///
  /// - Throws: `wrongDestination` for a list of another object; `unknownProperty`, `wrongType`, `outOfRange`.
  package func values(of entity: CompiledEntity) throws(StoreError) -> ObjectValues {
    var values = ObjectValues()
    encode(to: &values)
    if let name = values.listOfAnother(than: objectState.id) {
      throw StoreError(
        .wrongDestination,
        "\(entity.name).\(name) was set to the list of another object; create a list of the members that a transaction "
          + "reads from it", entity: entity.name, property: name)
    }
    return try values.leaves(of: entity)
  }

  /// The values that were changed since the object was read. Both sides are converted in the same way, so that a
  /// different form of an equal Swift value is not a change.
  package func changes(_ values: ObjectValues, from original: ManagedObject) throws(StoreError) -> ObjectValues {
    values.changes(from: try Self(original).values(of: original.entity))
  }
}
