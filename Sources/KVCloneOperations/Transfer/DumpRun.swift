import KVClone
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The state of one dump, and its written objects.
struct DumpRun {
  private var writer: ObjectLineWriter
  private let options: DumpOptions
  private var result = DumpResult()

  /// Writes the objects that a transaction sees.
  static func dump(
    _ transaction: borrowing ReadTransaction, _ options: DumpOptions, to sink: (RawSpan) throws -> Void
  ) throws -> DumpResult {
    let (model, uuid) = transaction._withSession { session in (session.schema.model, session.storeUUID) }
    for name in options.entities where model.entity(named: name) == nil { throw model.unknownEntity(name) }
    let wanted = concreteEntities(of: model, options.entities)
    var ids: [ObjectID]?
    if !options.roots.isEmpty {
      ids = try transaction.cloneSet(of: options.roots, options: options.cloneOptions).sorted()
    }
    if let directory = options.blobsDirectory { try TransferFiles.prepareDirectory(directory) }
    var run = DumpRun(writer: ObjectLineWriter(model: model, options: options, insideIDs: ids), options: options)
    run.writer.writeHeader(model, uuid)
    return try transaction._withSession { session in
      if let ids {
        try run.dump(ids, of: Set(wanted), session, sink)
      } else {
        for entity in wanted { try run.dump(try session.schema.entity(entity), session, sink) }
      }
      try run.writer.flush(to: sink)
      return run.result
    }
  }

  /// Returns the concrete entities among the named ones and their descendants, sorted by name.
  private static func concreteEntities(of model: ManagedObjectModel, _ names: [String]) -> [String] {
    let all = model.entities.filter { entity in
      !entity.isAbstract && (names.isEmpty || names.contains { model.entity(entity.name, isKindOf: $0) })
    }
    return all.map(\.name).sorted(by: AttributeJSON.utf8Precedes)
  }

  /// Writes the objects of one concrete entity.
  private mutating func dump(
    _ entity: CompiledEntity, _ session: borrowing Session, _ sink: (RawSpan) throws -> Void
  ) throws {
    let countBefore = result.objectCount
    var failure: (any Error)?
    try session.forEachRecord(of: entity, includesSubentities: false) { (id, record) throws(StoreError) in
      do {
        try dump(id, record, session, sink)
        return true
      } catch {
        failure = error
        return false
      }
    }
    if let failure { throw failure }
    let count = result.objectCount - countBefore
    if count > 0 { result.counts[entity.name] = count }
  }

  private mutating func dump(
    _ ids: [ObjectID], of wanted: Set<String>, _ session: borrowing Session, _ sink: (RawSpan) throws -> Void
  ) throws {
    // Ids sort by root entity; lines by concrete entity.
    var byEntity: [String: [ObjectID]] = [:]
    try Self.forEachWindow(of: ids, session) { (id) throws in
      byEntity[try session.entity(of: id).name, default: []].append(id)
    }
    for (entity, ids) in byEntity.sorted(by: { AttributeJSON.utf8Precedes($0.key, $1.key) })
    where wanted.contains(entity) {
      try Self.forEachWindow(of: ids, session) { (id) throws in
        try dump(id, try session.existingRecord(id), session, sink)
      }
      result.counts[entity] = ids.count
    }
  }

  /// Calls `body` with each object, and announces the objects before.
  private static func forEachWindow(
    of ids: [ObjectID], _ session: borrowing Session, _ body: (ObjectID) throws -> Void
  ) throws {
    let window = session.readWindow()
    var rest = ids[...]
    while !rest.isEmpty {
      let next = rest.prefix(window)
      try session.readScope {
        session.prefetch(next)
        for id in next { try body(id) }
      }
      rest = rest.dropFirst(next.count)
    }
  }

  private mutating func dump(
    _ id: ObjectID, _ record: borrowing RecordView, _ session: borrowing Session, _ sink: (RawSpan) throws -> Void
  ) throws {
    try writer.writeLine(id, record, in: session, to: sink)
    result.objectCount += 1
    if result.objectCount & 1023 == 0 { options.progress?(result.objectCount) }
  }
}
