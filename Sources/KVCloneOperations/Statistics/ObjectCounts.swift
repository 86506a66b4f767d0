import KVCloneCore

/// The numbers of objects of a store, by their concrete entities.
struct ObjectCounts {
  private(set) var byEntity: [String: Int] = [:]

  var total: Int { byEntity.values.reduce(0, +) }

  /// - Parameter usesTableSizes: whether the size of a table is the count of its only concrete entity. Otherwise, the
  ///   headers of all records are read.
  init(_ session: borrowing Session, usingTableSizes usesTableSizes: Bool) throws(StoreError) {
    let schema = session.schema
    for entity in schema.entities where !entity.isAbstract { byEntity[entity.name] = 0 }
    for rootCode in schema.rootCodes {
      var counts = usesTableSizes ? try Self.size(session, rootCode: rootCode) : nil
      if counts == nil { counts = try session.counts(rootCode: rootCode) }
      for (code, count) in counts ?? [:] {
        byEntity[schema.entity(code: code)?.name ?? "", default: 0] += count
      }
    }
  }

  /// The number of all objects: the sizes of their tables.
  static func total(_ session: borrowing Session) throws(StoreError) -> Int {
    var total = 0
    for rootCode in session.schema.rootCodes {
      guard let table = session.schema.objectTable(rootCode: rootCode) else { continue }
      total += Int(clamping: try session.storage.entryCount(table))
    }
    return total
  }

  /// The sizes of the tables with only one concrete entity, by its name.
  static func ofTables(_ session: borrowing Session) throws(StoreError) -> [String: Int] {
    let schema = session.schema
    var counts: [String: Int] = [:]
    for rootCode in schema.rootCodes {
      for (code, count) in try size(session, rootCode: rootCode) ?? [:] {
        counts[schema.entity(code: code)?.name ?? ""] = count
      }
    }
    return counts
  }

  /// The size of a table with only one concrete entity; nil for other tables.
  private static func size(_ session: borrowing Session, rootCode: UInt16) throws(StoreError) -> [UInt16: Int]? {
    let schema = session.schema
    guard let root = schema.entity(code: rootCode), let table = schema.objectTable(rootCode: rootCode),
      root.concreteCodes.count == 1, let code = root.concreteCodes.first
    else { return nil }
    return [code: Int(clamping: try session.storage.entryCount(table))]
  }
}
