public import KVClone
public import KVCloneCore
import KVCloneModel

extension ObjectStore {
  /// Writes objects as NDJSON in one read transaction: a header line, then one object per line, by entity name and
  /// serial number.
  ///
  /// Stores with equal content produce equal text, apart from ids. Memory use is constant: blobs are written in chunks,
  /// so `sink` can receive part of a line.
  ///
  /// - Parameters:
  ///   - options: the objects to dump, and the treatment of blobs.
  ///   - sink: receives the next bytes of the text.
  /// - Returns: the number of written objects.
  /// - Throws: ``StoreError``; ``CloneError`` for ``DumpOptions/roots``; ``TransferError`` for the files of blobs;
  ///   errors of `sink`.
  @available(*, noasync)
  public func dump(_ options: DumpOptions = DumpOptions(), to sink: (RawSpan) throws -> Void) throws -> DumpResult {
    try Self.dump(ReadTransaction(try readSession()), options, to: sink)
  }

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
    var writer = ObjectLineWriter(model: model, options: options, insideIDs: ids)
    var result = DumpResult()
    writer.writeHeader(model, uuid)
    if let ids {
      try dump(ids, of: Set(wanted), transaction, &writer, &result, options.progress, sink)
    } else {
      for entity in wanted {
        try transaction.forEachObject(of: entity, includesSubentities: false) { object in
          try writer.writeLine(object, in: transaction, to: sink)
          result.add(entity, options.progress)
          return true
        }
      }
    }
    try writer.flush(to: sink)
    return result
  }

  /// Concrete entities below the named ones, sorted by name.
  private static func concreteEntities(of model: ManagedObjectModel, _ names: [String]) -> [String] {
    let all = model.entities.filter { entity in
      !entity.isAbstract && (names.isEmpty || names.contains { model.entity(entity.name, isKindOf: $0) })
    }
    return all.map(\.name).sorted(by: AttributeJSON.utf8Precedes)
  }

  private static func dump<T: ObjectReading & ~Copyable>(
    _ ids: [ObjectID], of wanted: Set<String>, _ transaction: borrowing T, _ writer: inout ObjectLineWriter,
    _ result: inout DumpResult, _ progress: (@Sendable (Int) -> Void)?, _ sink: (RawSpan) throws -> Void
  ) throws {
    // Ids sort by root entity; lines by concrete entity.
    var byEntity: [String: [ObjectID]] = [:]
    for id in ids { byEntity[try transaction.object(id).entityName, default: []].append(id) }
    for (entity, ids) in byEntity.sorted(by: { AttributeJSON.utf8Precedes($0.key, $1.key) })
    where wanted.contains(entity) {
      for id in ids {
        try writer.writeLine(try transaction.object(id), in: transaction, to: sink)
        result.add(entity, progress)
      }
    }
  }
}

extension Snapshot {
  /// Writes the objects of the snapshot as NDJSON; see ``ObjectStore/dump(_:to:)``.
  ///
  /// - Throws: `snapshotNotFound`, and the errors of ``ObjectStore/dump(_:to:)``.
  @available(*, noasync)
  public func dump(_ options: DumpOptions = DumpOptions(), to sink: (RawSpan) throws -> Void) throws -> DumpResult {
    try read { transaction in try ObjectStore.dump(transaction, options, to: sink) }
  }
}

extension DumpResult {
  fileprivate mutating func add(_ entity: String, _ progress: (@Sendable (Int) -> Void)?) {
    objectCount += 1
    counts[entity, default: 0] += 1
    if objectCount & 1023 == 0 { progress?(objectCount) }
  }
}
