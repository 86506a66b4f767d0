import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Checks every record itself, with its lists, blobs and index entries.
extension StoreChecker {
  borrowing func checkRecords(_ run: CheckRun) throws(StoreError) {
    for rootCode in session.schema.rootCodes {
      guard let table = session.schema.objectTable(rootCode: rootCode) else { continue }
      let name = session.schema.entity(code: rootCode)?.name ?? ""
      var last: UInt64 = 0
      let before = run.objectCount
      try run.reading("the objects of \(name)") { () throws(StoreError) in
        try session.forEachEntry(table) { (key, value) throws(StoreError) in
          guard let id = Self.objectID(key), id.rootCode == rootCode, id.serial > 0 else {
            run.report(
              .malformedKey, page: run.page(table, key), "the table of \(name) has a malformed key")
            return !run.isFull
          }
          run.noteObject()
          last = id.serial
          try checkRecord(id, value, run)
          return !run.isFull
        }
        if run.isOnBranch { checkObjectCount(UInt64(run.objectCount - before), table, name, run) }
        try checkCounter(MetadataKey.serial(rootCode: rootCode), above: last, name, run)
      }
    }
  }

  /// Checks objects of removed entities: snapshots still need them, so their bytes and their blobs count.
  borrowing func checkRetiredRecords(_ run: CheckRun) throws(StoreError) {
    for rootCode in session.schema.codes.former?.rootCodes ?? [] {
      guard let table = session.schema.tables.objects[rootCode] else { continue }
      try run.reading("the objects of removed entities") { () throws(StoreError) in
        try session.forEachEntry(table) { (key, value) throws(StoreError) in
          guard let id = Self.objectID(key), id.rootCode == rootCode, id.serial > 0 else {
            run.report(
              .malformedKey, page: run.page(table, key), "the table of a removed entity has a malformed key")
            return !run.isFull
          }
          do throws(StoreError) {
            let view = try session.schema.view(of: copy value, id: id)
            for field in 0..<view.layout.fieldCount where view.layout.kind(field).mayBeBlob && !view.isNull(field) {
              if let blob = view.blobReference(field) { run.references.add(blob.id) }
            }
          } catch {
            guard error.kind == .corrupted || error.kind == .incompatibleModel else { throw error }
            run.reportUnreadable(id, page: run.page(id), error.message)
          }
          return !run.isFull
        }
      }
    }
  }

  static func objectID(_ key: borrowing RawSpan) -> ObjectID? {
    try? NumberKey.objectID(copy key)
  }

  private borrowing func checkRecord(_ id: ObjectID, _ value: borrowing RawSpan, _ run: CheckRun) throws(StoreError) {
    do throws(StoreError) {
      let view = try session.schema.view(of: copy value, id: id)
      guard !run.badLayouts.contains(view.layout.id) else { throw session.schema.corrupted(id, .wrongLayout) }
      try checkReadable(view, id, try session.schema.entity(of: view, id: id), run)
    } catch {
      // An unknown layout: the metadata contain all that exist.
      guard error.kind == .corrupted || error.kind == .incompatibleModel, let problem = problem(of: value, id, run)
      else {
        throw error
      }
      run.reportUnreadable(id, page: run.page(id), problem)
    }
  }

  private borrowing func checkReadable(
    _ view: borrowing RecordView, _ id: ObjectID, _ entity: CompiledEntity, _ run: CheckRun
  ) throws(StoreError) {
    if entity.isAbstract {
      run.report(.abstractEntity, id, entity, "its entity \(entity.name) is abstract")
    }
    if let commit = run.commit, view.commit > commit {
      run.report(.counter, id, entity, "it was written by commit \(view.commit), but the last commit is \(commit)")
    }
    for field in 0..<view.layout.fieldCount {
      switch view.layout.kind(field) {
      case .toOne: break
      case .toMany: try checkList(field, view, id, entity, run)
      default: try checkValue(field, view, id, entity, run)
      }
    }
    try expectIndexEntries(view, id, entity, run)
    try checkDerived(view, id, entity, run)
  }

  /// Why a record is unreadable; nil if it is not.
  private borrowing func problem(of value: borrowing RawSpan, _ id: ObjectID, _ run: CheckRun) -> String? {
    do throws(RecordError) {
      guard let layout = session.schema.layout(id: try RecordView.layoutID(of: copy value)),
        !run.badLayouts.contains(layout.id)
      else {
        // Corrupted bytes may contain any layout: the checksum is reported instead.
        let isIntact = ValueEnvelope.isIntact(copy value, seed: ValueEnvelope.seed(object: id))
        throw isIntact ? .wrongLayout : .checksumMismatch
      }
      let view = try RecordView(copy value, layout: layout, seed: ValueEnvelope.seed(object: id))
      guard let entity = session.schema.entity(code: view.layout.entityCode), entity.rootCode == id.rootCode else {
        return "its entity is not in the model, or has another table"
      }
      return nil
    } catch {
      return error.description
    }
  }

  private borrowing func checkValue(
    _ field: Int, _ view: borrowing RecordView, _ id: ObjectID, _ entity: CompiledEntity, _ run: CheckRun
  ) throws(StoreError) {
    let kind = view.layout.kind(field)
    let name = run.propertyNames[view.layout[field].propertyCode]
    let offset = view.layout.offset(field)
    let bytes = view.bytes
    if view.isNull(field) {
      let isEmpty =
        kind.isVariable
        ? view.variableBytes(field).byteCount == 0 && !view.isBlob(field)
        : (0..<kind.width).allSatisfy { bytes.unsafeLoad(fromByteOffset: offset + $0, as: UInt8.self) == 0 }
      if !isEmpty { run.report(.value, id, entity, property: name, "it is nil, but has a value") }
      return
    }
    switch kind {
    case .boolean:
      if bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self) > 1 {
        run.report(.value, id, entity, property: name, "its Boolean is neither true nor false")
      }
    case .string, .uri:
      if (try? view.string(field)) == nil {
        run.report(.value, id, entity, property: name, RecordError.invalidUTF8.description)
      }
    case .binary, .transformable:
      guard let blob = view.blobReference(field) else { return }
      try checkReference(blob, property: name, id, entity, run)
    default: break
    }
  }

  private borrowing func checkReference(
    _ blob: BlobReference, property: String?, _ id: ObjectID, _ entity: CompiledEntity, _ run: CheckRun
  ) throws(StoreError) {
    do throws(StoreError) {
      guard let info = try session.storage.blobInfo(session.blobTables, blob.id) else {
        return run.report(.missingBlob, id, entity, property: property, "its blob \(blob.id) does not exist")
      }
      if info.byteCount != blob.byteCount || info.state != .complete {
        run.report(
          .missingBlob, id, entity, property: property,
          "its blob \(blob.id) differs in length, or was never completed")
      }
    } catch {
      // Reported with the blobs.
      guard error.kind == .corrupted else { throw error }
    }
    run.references.add(blob.id)
  }

  private borrowing func checkList(
    _ field: Int, _ view: borrowing RecordView, _ id: ObjectID, _ entity: CompiledEntity, _ run: CheckRun
  ) throws(StoreError) {
    let code = view.layout[field].propertyCode
    // A list of a removed relationship has no owner.
    guard let index = entity.relationshipIndexByCode[code] else { return }
    let isOrdered = entity.relationships[index].isOrdered
    let list = session.address(id, code)
    let head = view.head(field)
    if head.isChunked {
      // Its chunks may be on a corrupted page, which was reported.
      if run.isLost(list) { return }
      for problem in try session.storage.findProblems(list, head: head, isOrdered: isOrdered) {
        run.reportList(list, entity, problem)
      }
      return
    }
    let ids = view.inlineIDs(field)
    if isOrdered {
      for position in 1..<max(1, ids.count) where (ids.firstIndex(of: ids[position]) ?? position) < position {
        run.reportList(list, entity, ListProblem("a member occurs twice"))
      }
    } else if !ids.isStrictlyAscending {
      run.reportList(
        list, entity, ListProblem("its members are not sorted by id, or one occurs twice"))
    }
  }

  /// Requires an object's index entries; their existence is checked with the indexes.
  private borrowing func expectIndexEntries(
    _ view: borrowing RecordView, _ id: ObjectID, _ entity: CompiledEntity, _ run: CheckRun
  ) throws(StoreError) {
    do throws(StoreError) {
      try forEachIndexEntry(of: view, id, entity) { (key, _) throws(StoreError) in
        run.indexEntries.expectEntry(key.span.bytes)
      }
    } catch {
      // A text that is not UTF-8: reported with the values.
      guard error.kind == .corrupted else { throw error }
    }
  }
}
