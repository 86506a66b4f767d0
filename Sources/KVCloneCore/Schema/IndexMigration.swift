import KVCloneModel

/// Determines which indexes of a model's next version have the same entries as existing ones: over the same columns, of
/// the same objects. All others are built, under a new id.
struct IndexMigration {
  let matching: ModelMatching
  let old: SchemaCodes
  /// With properties and entities, without indexes.
  let new: SchemaCodes

  private var source: ManagedObjectModel { matching.source }
  private var destination: ManagedObjectModel { matching.destination }

  /// The content of an index.
  private struct Content: Hashable {
    /// The code and the form of each column.
    let columns: [String]
    /// Codes of the concrete entities, and of their roots: ids are in the keys.
    let entities: Set<[UInt16]>
  }

  func keptConstraints() -> [String: [String: UInt16]] {
    var known: [Content: UInt16] = [:]
    for entity in source.entities {
      for constraint in entity.uniquenessConstraints {
        guard let id = old.indexes[entity.name]?[constraint.joined(separator: ",")],
          let content = content(constraint.map { ($0, "") }, entity.name, source, old, isEarlier: true)
        else { continue }
        known[content] = id
      }
    }
    var kept: [String: [String: UInt16]] = [:]
    for entity in destination.entities {
      for constraint in entity.uniquenessConstraints {
        guard let content = content(constraint.map { ($0, "") }, entity.name, destination, new, isEarlier: false),
          let id = known.removeValue(forKey: content)
        else { continue }
        kept[entity.name, default: [:]][constraint.joined(separator: ",")] = id
      }
    }
    return kept
  }

  func keptFetchIndexes() -> [String: [String: UInt16]] {
    func columns(_ index: StoredFetchIndex) -> [(String, String)] {
      index.columns.map { ($0.path, "\($0.isAscending) \($0.isFolded)") }
    }
    var known: [Content: UInt16] = [:]
    for entity in source.entities {
      for index in source.storedFetchIndexes(declaredIn: entity) {
        guard let id = old.fetchIndexes?[entity.name]?[index.definition],
          let content = content(columns(index), entity.name, source, old, isEarlier: true)
        else { continue }
        known[content] = id
      }
    }
    var kept: [String: [String: UInt16]] = [:]
    for entity in destination.entities {
      for index in destination.storedFetchIndexes(declaredIn: entity) {
        guard let content = content(columns(index), entity.name, destination, new, isEarlier: false),
          let id = known.removeValue(forKey: content)
        else { continue }
        kept[entity.name, default: [:]][index.definition] = id
      }
    }
    return kept
  }

  /// Nil if a column is not stored, or if the migration sets values in it.
  private func content(
    _ columns: [(path: String, form: String)], _ entity: String, _ model: ManagedObjectModel, _ codes: SchemaCodes,
    isEarlier: Bool
  ) -> Content? {
    guard let description = model.entity(named: entity) else { return nil }
    var forms: [String] = []
    for (path, form) in columns {
      let top = path.split(separator: ".").first.map(String.init) ?? path
      let declaring = SchemaInverse.declaringEntity(of: top, from: description, in: model)
      guard let code = codes.properties[declaring]?[path] else { return nil }
      if !isEarlier, getsValues(path, top, entity) { return nil }
      if movesObjects, model.relationship(top, of: entity) != nil { return nil }
      forms.append("\(code) \(form)")
    }
    var entities: Set<[UInt16]> = []
    for name in [entity] + model.subentities(of: entity) where model.entity(named: name)?.isAbstract == false {
      // A new entity has no objects, and a removed one loses them.
      let isKept = isEarlier ? matching.laterEntities[name] != nil : matching.entities[name] != nil
      guard isKept, let code = codes.entities[name],
        let root = model.rootEntity(of: name).flatMap({ codes.entities[$0] })
      else { continue }
      entities.insert([code, root])
    }
    return Content(columns: forms, entities: entities)
  }

  /// Whether objects get new ids, which are values of to-one relationships.
  private var movesObjects: Bool {
    matching.entities.contains { later, earlier in
      let root = source.rootEntity(of: earlier).flatMap { old.entities[$0] }
      return destination.rootEntity(of: later).flatMap { new.entities[$0] } != root
    }
  }

  /// Whether nil is replaced by a value: it has become required.
  private func getsValues(_ path: String, _ top: String, _ entity: String) -> Bool {
    ([entity] + destination.subentities(of: entity)).contains { name in
      guard let attribute = destination.attribute(top, of: name),
        let leaf = CompiledAttribute.leaves(of: attribute).first(where: { $0.path == path })?.description,
        let former = matching.formerLeaf(path, top, of: name)
      else { return false }
      return former.description.isOptional && !leaf.isOptional
    }
  }
}
