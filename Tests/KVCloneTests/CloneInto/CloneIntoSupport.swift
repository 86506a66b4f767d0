import Foundation
import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

extension ManagedObjectModel {
  /// A model of the same meaning with other codes and layouts: all declarations are reversed, an additional entity
  /// comes first, and every root entity has an additional attribute.
  var rearranged: ManagedObjectModel {
    var entities = entities.reversed().map { entity in
      var other = entity
      other.attributes.reverse()
      other.relationships.reverse()
      if entity.superentityName == nil {
        other.attributes.insert(AttributeDescription("onlyThere", .string, default: "new"), at: 0)
      }
      return other
    }
    entities.insert(EntityDescription("OnlyThere") { AttributeDescription("name", .string) }, at: 0)
    return ManagedObjectModel(name: name + " there", entities: entities, composites: composites)
  }

  /// The model without uniqueness constraints, because the reference cloner clones within one store, where clones
  /// conflict with their sources.
  var unconstrained: ManagedObjectModel {
    let entities = entities.map { entity in
      var other = entity
      other.uniquenessConstraints = []
      return other
    }
    return ManagedObjectModel(name: name, entities: entities, composites: composites)
  }

  /// Returns the model with one entity changed.
  func changing(_ name: String, _ change: (inout EntityDescription) -> Void) -> ManagedObjectModel {
    let entities = entities.map { entity in
      var other = entity
      if entity.name == name { change(&other) }
      return other
    }
    return ManagedObjectModel(name: self.name, entities: entities, composites: composites)
  }
}

extension CloneStore {
  /// Clones into another store in one commit there, expects that this store is unchanged, and checks both.
  @discardableResult
  func clone(
    _ roots: [ObjectID], into other: CloneStore, _ options: CloneOptions = CloneOptions(),
    _ location: SourceLocation = #_sourceLocation
  ) throws -> CloneResult {
    let (mine, its, lines) = (try commit, try other.commit, try self.lines())
    let plan = try store.planClone(roots, into: other.store, options: options)
    #expect(plan.errors.isEmpty, "\(plan.errors.first?.message ?? "")", sourceLocation: location)
    let result = try store.clone(roots, into: other.store, options: options)
    #expect(try commit == mine && self.lines() == lines, "the source changed", sourceLocation: location)
    #expect(try other.commit == its + 1, sourceLocation: location)
    #expect(plan.objectCount == result.objectCount && plan.counts == result.counts, sourceLocation: location)
    #expect(plan.affectedObjectIDs == result.affectedObjectIDs, sourceLocation: location)
    #expect(plan.affectedObjectCount == result.affectedObjectCount, sourceLocation: location)
    #expect(plan.blobsShared == result.blobsShared && plan.bytesShared == result.bytesShared, sourceLocation: location)
    #expect(plan.bytesCopied == result.bytesCopied, sourceLocation: location)
    try expectClean(location)
    try other.expectClean(location)
    return result
  }

  /// Expects that a clone into another store is rejected with this kind, without changes in either store (R1).
  @discardableResult
  func expectRefusal(
    _ kind: CloneError.Kind, _ roots: [ObjectID], into other: CloneStore, _ options: CloneOptions = CloneOptions(),
    entity: String? = nil, property: String? = nil, object: String? = nil, isPlanned: Bool = true,
    _ location: SourceLocation = #_sourceLocation
  ) throws -> CloneError? {
    let (mine, its) = (try lines(), try other.lines())
    let (commit, itsCommit) = (try self.commit, try other.commit)
    let error = #expect(throws: CloneError.self, sourceLocation: location) {
      try self.store.clone(roots, into: other.store, options: options)
    }
    #expect(error?.kind == kind, "\(error?.message ?? "")", sourceLocation: location)
    if let entity { #expect(error?.entity == entity, sourceLocation: location) }
    if let property { #expect(error?.property == property, sourceLocation: location) }
    if let object { #expect(error?.object == object, sourceLocation: location) }
    if isPlanned {
      let plan = try store.planClone(roots, into: other.store, options: options)
      #expect(plan.errors.contains { $0.kind == kind }, "\(plan.errors)", sourceLocation: location)
    }
    #expect(try lines() == mine && other.lines() == its, sourceLocation: location)
    #expect(try self.commit == commit && other.commit == itsCommit, sourceLocation: location)
    try other.expectClean(location)
    return error
  }

  /// Loads a text, and returns the store's label for each of its ids.
  @discardableResult
  func loadText(_ text: String) throws -> [Label: Label] {
    var options = LoadOptions()
    options.idLimit = .max
    var isFirst = true
    let result = try store.load(options) { buffer in
      defer { isFirst = false }
      if isFirst { buffer.append(contentsOf: text.utf8) }
      return isFirst
    }
    var ids: [Label: Label] = [:]
    for (id, name) in result.ids {
      if let id = Label(id), let name = Label(name) { ids[id] = name }
    }
    return ids
  }
}
