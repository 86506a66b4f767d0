@testable package import KVClone

/// Differences between two states, computed by a full comparison.
extension StoreOracle {
  /// Returns the expected result of `ObjectStore/diff(from:to:_:)`, see ``SnapshotDifference/comparable``.
  package func differences(to other: StoreOracle) -> [SnapshotDifference] {
    Set(objects.keys).union(other.objects.keys).sorted().compactMap { id in
      switch (objects[id], other.objects[id]) {
      case (nil, nil): nil
      case (nil, let now?): difference(id, now, .inserted)
      case (let then?, nil): difference(id, then, .deleted)
      case (let then?, let now?): difference(id, then, now, other)
      }
    }
  }

  private func difference(_ id: ObjectID, _ object: Object, _ kind: SnapshotDifference.Kind) -> SnapshotDifference {
    SnapshotDifference(id: id, entityName: object.entity, kind: kind, attributes: [], relationships: [])
  }

  private func difference(_ id: ObjectID, _ then: Object, _ now: Object, _ other: StoreOracle) -> SnapshotDifference? {
    var attributes: [SnapshotDifference.Attribute] = []
    for attribute in model.attributes(of: now.entity) {
      let old = attribute.isDerived ? derived(id, attribute.name) : then.values[attribute.name]
      let new = attribute.isDerived ? other.derived(id, attribute.name) : now.values[attribute.name]
      if old != new { attributes.append(.init(name: attribute.name, old: old, new: new)) }
    }
    var relationships: [SnapshotDifference.Relationship] = []
    for relationship in model.relationships(of: now.entity) {
      let (old, new) = (then.links[relationship.name] ?? [], now.links[relationship.name] ?? [])
      if old == new { continue }
      let (before, after) = (Set(old), Set(new))
      let isReordered = old.filter { after.contains($0) } != new.filter { before.contains($0) }
      relationships.append(
        .init(
          name: relationship.name, added: after.subtracting(before).sorted(),
          removed: before.subtracting(after).sorted(), isReordered: isReordered))
    }
    if attributes.isEmpty, relationships.isEmpty { return nil }
    return SnapshotDifference(
      id: id, entityName: now.entity, kind: .updated, attributes: attributes, relationships: relationships
    ).comparable
  }

  /// Returns how many objects changed in values or links; links to objects that are deleted and not restored are
  /// ignored.
  package func changedCount(_ ids: [ObjectID], since past: StoreOracle) -> Int {
    let coming = Set(ids)
    return ids.count { id in
      guard let now = objects[id], let then = past.objects[id] else { return false }
      return now.values != then.values
        || model.relationships(of: now.entity).contains { relationship in
          let members = past.links(id, relationship.name).filter { objects[$0] != nil || coming.contains($0) }
          return members != links(id, relationship.name)
        }
    }
  }
}

extension SnapshotDifference {
  /// The difference with properties sorted by name, and blobs by length only, because a store returns their address and
  /// an oracle their bytes.
  package var comparable: SnapshotDifference {
    SnapshotDifference(
      id: id, entityName: entityName, kind: kind,
      attributes: attributes.map { .init(name: $0.name, old: Self.shown($0.old), new: Self.shown($0.new)) }
        .sorted { $0.name < $1.name },
      relationships: relationships.sorted { $0.name < $1.name })
  }

  private static func shown(_ value: AttributeValue?) -> AttributeValue? {
    switch value {
    case .blob(let blob)?: .string("\(blob.byteCount) bytes")
    case .binary(let data)? where data.count > 1024: .string("\(data.count) bytes")
    default: value
    }
  }
}
