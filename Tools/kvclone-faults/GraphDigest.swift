import KVClone

/// A digest of an object and the objects that it owns, or of the object alone.
struct GraphDigest {
  private var digest = StoreDigest()
  private var numbers: [ObjectID: UInt64] = [:]
  private var queue: [ObjectID] = []
  private var hasLinks = true

  /// - Parameters:
  ///   - followsOwned: whether owned objects count, as in a clone: those of relationships with a to-one inverse. Then
  ///     ids do not count, so that all clones of an object have the same digest. Otherwise relationships are compared
  ///     by ids.
  ///   - hasLinks: whether relationships count.
  static func of(
    _ root: ObjectID, _ model: ManagedObjectModel, _ transaction: borrowing ReadTransaction, followsOwned: Bool = true,
    hasLinks: Bool = true
  ) throws -> String {
    var run = GraphDigest()
    run.hasLinks = hasLinks
    _ = run.number(root)
    var next = 0
    while next < run.queue.count {
      try run.add(run.queue[next], model, transaction, followsOwned)
      next += 1
    }
    return String(run.digest.hash.value, radix: 16)
  }

  private mutating func number(_ id: ObjectID) -> UInt64 {
    if let number = numbers[id] { return number }
    numbers[id] = UInt64(queue.count)
    queue.append(id)
    return UInt64(queue.count - 1)
  }

  private mutating func add(
    _ id: ObjectID, _ model: ManagedObjectModel, _ transaction: borrowing ReadTransaction, _ followsOwned: Bool
  ) throws {
    let object = try transaction.object(id)
    guard let entity = model.entity(named: object.entityName) else { return }
    digest.hash.add(entity.name)
    var blobs: Set<UInt64> = []
    for name in entity.attributes.map(\.name).sorted() {
      digest.hash.add(name)
      try digest.add(try object.value(name), of: id, name, transaction, &blobs)
    }
    guard hasLinks else { return }
    for relationship in entity.relationships.sorted(by: { $0.name < $1.name }) {
      digest.hash.add(relationship.name)
      let members = try transaction.members(id, relationship.name)
      digest.hash.add(UInt64(members.count))
      guard followsOwned else {
        for member in members { digest.hash.add(member.rawValue) }
        continue
      }
      let inverse = relationship.inverseName.flatMap { name in
        model.entity(named: relationship.destinationEntityName)?.relationships.first { $0.name == name }
      }
      guard let inverse, !inverse.isToMany else { continue }
      for member in members { digest.hash.add(number(member)) }
    }
  }
}

/// A digest of the objects found by each value of the indexed attributes.
enum IndexDigest {
  /// The maximum number of values per attribute.
  private static let valueLimit = 100

  static func of(_ model: ManagedObjectModel, _ transaction: borrowing ReadTransaction) throws -> String {
    var hash = ContentHash()
    for entity in model.entities where !entity.isAbstract {
      // The first element of a composite index reaches all its entries.
      let names =
        entity.uniquenessConstraints.compactMap(\.first) + entity.indexes.compactMap { $0.elements.first?.propertyName }
      for name in names {
        // Values in the order of their first objects, so that the digest does not depend on hashing.
        var values: [AttributeValue?] = []
        var known: Set<AttributeValue?> = []
        try transaction.forEachObject(of: entity.name) { object in
          let value = try object.value(name)
          if known.insert(value).inserted { values.append(value) }
          return values.count < valueLimit
        }
        hash.add(UInt64(values.count))
        var sum: UInt64 = 0
        for value in values {
          let predicate = try QueryPredicate(
            format: "%K == %@", .string(name), value.map { QueryArgument.value($0) } ?? .null)
          for id in try transaction.fetchIDs(FetchRequest(entity.name, predicate: predicate)) {
            sum &+= id.rawValue &* 31
          }
        }
        hash.add(sum)
      }
    }
    return String(hash.value, radix: 16)
  }
}
