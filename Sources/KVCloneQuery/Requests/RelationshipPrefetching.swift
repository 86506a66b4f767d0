import KVCloneCore
import KVCloneModel

/// Prefetching of relationships for the results of a request, and the requests of fetched properties.
enum RelationshipPrefetching {
  /// - Throws: `unknownProperty` if the path does not consist of relationships in any entity that it can reach.
  static func check(_ path: String, of entity: CompiledEntity, in session: borrowing Session) throws(StoreError) {
    var current = entity
    for name in path.split(separator: ".", omittingEmptySubsequences: false) {
      let relationship = try current.relationship(String(name))
      guard let destination = session.schema.entity(code: relationship.destinationCode) else { return }
      current = destination
    }
  }

  /// Returns the request of a fetched property, and the entity of its object.
  static func request(ofFetchedProperty name: String, _ id: ObjectID, in session: borrowing Session) throws(StoreError)
    -> (
      FetchRequest, CompiledEntity
    )
  {
    let entity = try session.entity(of: id)
    guard let property = session.schema.model.fetchedProperties(of: entity.name).first(where: { $0.name == name })
    else {
      throw StoreError(
        .unknownProperty, "\(entity.name) has no fetched property \(name); check the spelling", entity: entity.name,
        property: name,
        object: "\(entity.name)/\(id.serial)")
    }
    do {
      return (
        try FetchRequest(property.fetchRequest, substitutionVariables: ["FETCHED_PROPERTY": .string(name)]), entity
      )
    } catch {
      throw StoreError(
        .invalidPredicate, "the predicate of the fetched property \(name) cannot be parsed: \(error)",
        entity: entity.name,
        property: name)
    }
  }
}

/// Follows key paths from objects, and reads each object on the way once.
struct PrefetchReader {
  private(set) var related: [ObjectID: ManagedObject] = [:]
  private(set) var members: [PrefetchedObjects.Link: [ObjectID]] = [:]
  private let start: [ObjectID]

  init(_ objects: [ManagedObject]) {
    start = objects.map(\.id)
    for object in objects { related[object.id] = object }
  }

  mutating func follow(_ path: String, _ session: borrowing Session) throws(StoreError) {
    var level = start
    for name in path.split(separator: ".").map(String.init) {
      var next: [ObjectID] = []
      // Those of many owners together, because an engine in a network reads them in one round trip.
      var missing: [ObjectID] = []
      for owner in level {
        let link = PrefetchedObjects.Link(owner: owner, relationship: name)
        if let known = members[link] {
          next += known
          continue
        }
        let targets = try session.members(owner, try session.entity(of: owner).relationship(name))
        members[link] = targets
        next += targets
        missing += targets.filter { related[$0] == nil }
        if missing.count >= session.readWindow() {
          try read(missing, session)
          missing.removeAll(keepingCapacity: true)
        }
      }
      try read(missing, session)
      var seen: Set<ObjectID> = []
      level = next.filter { seen.insert($0).inserted }
    }
  }

  /// Reads objects that are not known yet, and prefetches their pages in batches.
  private mutating func read(_ ids: [ObjectID], _ session: borrowing Session) throws(StoreError) {
    let window = session.readWindow()
    var start = 0
    while start < ids.count {
      let end = min(start + window, ids.count)
      try session.readScope { () throws(StoreError) in
        session.prefetch(ids[start..<end])
        for id in ids[start..<end] where related[id] == nil { related[id] = try session.object(id) }
      }
      start = end
    }
  }
}
