import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// What a clone into another store does besides its records: objects there learn of the clones that link to them (R9,
/// R12), and large values are written once and counted (R25).
extension Session {
  /// Adds clones to the lists of objects of before, one object at a time whatever the number of clones.
  mutating func publishOutside(_ state: inout CloneIntoStream) throws(StoreError) {
    var links = 0
    try state.outside.drain { (target, code, clones) throws(StoreError) in
      try addMembersOrOne(target, code, clones, state.chunk)
      links += clones.count
    }
    state.tally.bytesWritten += UInt64(links) * 8
  }

  /// The same for ordered lists: clones come at the end, in the order that their sources have in the source's list,
  /// copy after copy. Which they are is decided once more, so that nothing has to be remembered of each.
  mutating func publishOrdered(_ source: borrowing Session, _ state: inout CloneIntoStream) throws(StoreError) {
    // A list that stands for several of the source's lists may get a clone from more than one.
    var lists: [CloneIntoStream.List: Int] = [:]
    for gain in state.ordered { lists[gain.list, default: 0] += 1 }
    for copy in 0..<state.context.copies {
      for gain in state.ordered {
        let view = try source.existingRecord(gain.sourceTarget)
        let entity = try source.schema.entity(of: view, id: gain.sourceTarget)
        let list = try entity.relationship(code: gain.sourceCode, gain.sourceTarget, source.schema)
        var position: UInt64? = 0
        var seen = 0
        while let from = position,
          let batch = try source.memberBatch(gain.sourceTarget, list, in: view, entity, from: from)
        {
          var clones: [ObjectID] = []
          for member in batch.members {
            if let clone = try gained(member, gain, copy, source, state) { clones.append(clone) }
          }
          if lists[gain.list] ?? 0 > 1 {
            for clone in clones { _ = try attach(gain.target, gain.code, clone) }
          } else if !clones.isEmpty {
            try addMembers(gain.target, gain.code, clones, state.chunk)
          }
          state.tally.bytesWritten += UInt64(clones.count) * 8
          seen += batch.members.count
          position = batch.next
        }
        let count = source.count(gain.sourceTarget, list, in: view, entity)
        guard seen == count else { throw source.address(gain.sourceTarget, list.code).wrongCount(seen, head: count) }
      }
    }
  }

  /// The clone of a member of a source's list, where that clone links to what stands for the list's owner.
  private func gained(
    _ member: ObjectID, _ gain: CloneIntoStream.OrderedGain, _ copy: Int, _ source: borrowing Session,
    _ state: CloneIntoStream
  ) throws(StoreError) -> ObjectID? {
    guard let clone = state.context.cloneID(of: member, copy: copy), let attributes = state.attributes,
      let plan = state.context.book.plan(try source.entity(of: member).code),
      let step = plan.relationships.first(where: {
        $0.relationship.hasInverse && $0.relationship.inverseCode == gain.sourceCode
      }),
      case .outside = try state.context.link(step, member, gain.sourceTarget, attributes, source)
    else { return nil }
    return clone
  }

  private mutating func addMembersOrOne(
    _ id: ObjectID, _ code: UInt16, _ clones: some RandomAccessCollection<ObjectID>, _ chunk: ChunkBuffer
  ) throws(StoreError) {
    let entity = try entity(of: id)
    if let index = entity.relationshipIndexByCode[code], !entity.relationships[index].isToMany {
      for clone in clones { _ = try attach(id, code, clone) }
    } else {
      try addMembers(id, code, clones, chunk)
    }
  }

  // MARK: Large values

  /// Writes every large value that clones share, once, chunk by chunk; the serial of the first, and all their bytes.
  mutating func writeBlobs(_ source: borrowing Session, _ context: CloneIntoContext) throws
    -> (first: UInt64, byteCount: UInt64)
  {
    if context.bridge.isWithinStore { return (0, 0) }
    let first = try nextBlobSerial()
    guard context.book.options.blobs == .share else {
      // Nobody got the serial: every clone writes values of its own.
      changes.nextBlobSerial = first
      return (first, 0)
    }
    changes.nextBlobSerial = first + UInt64(context.blobs.count)
    var serial = first
    var byteCount: UInt64 = 0
    var next = context.blobs.next(from: 0)
    while let old = next {
      try context.cancellation.check()
      // Referrers are counted as clones refer to it.
      let info = try storage.copyBlob(
        blobTables, to: serial, references: 0, from: old, of: source.storage, source.blobTables
      ) { try context.cancellation.check() }
      byteCount = byteCount.saturatingAdd(info.byteCount)
      serial += 1
      next = context.blobs.next(from: old + 1)
    }
    return (first, byteCount)
  }

  /// The values of the record in `scratch` that are large, named by the source's serials so far.
  mutating func takeOverBlobs(_ id: ObjectID, _ source: borrowing Session, _ state: inout CloneIntoStream) throws {
    for field in scratch.layout.variableFields where scratch.view.isBlob(field) {
      guard let blob = scratch.view.blobReference(field) else { continue }
      let serial: UInt64
      switch state.context.book.options.blobs {
      case .share where state.context.bridge.isWithinStore:
        state.blobs.append(blob.id)
        state.tally.share(byteCount: blob.byteCount)
        continue
      case .share:
        guard let known = state.blobSerial(of: blob.id) else { throw source.blobTables.missing(blob.id) }
        serial = known
        state.blobs.append(known)
        state.tally.share(byteCount: blob.byteCount)
      case .copy:
        serial = try nextBlobSerial()
        let info = try storage.copyBlob(
          blobTables, to: serial, references: 1, from: blob.id, of: source.storage, source.blobTables
        ) { try state.context.cancellation.check() }
        state.tally.bytesCopied = state.tally.bytesCopied.saturatingAdd(info.byteCount)
      }
      let reference = BlobReference(id: serial, byteCount: blob.byteCount, isTransformable: blob.isTransformable)
      do throws(RecordError) {
        try scratch.set(field, .blob(reference))
      } catch {
        throw source.schema.corrupted(id, error)
      }
    }
  }

  /// Counts the referrers of large values. Of one that only snapshots show, the bytes are there still: it is described again.
  mutating func publishBlobs(_ source: borrowing Session, _ state: inout CloneIntoStream) throws(StoreError) {
    guard state.context.bridge.isWithinStore else { return try countReferrers(&state.blobs) }
    for (serial, count) in Self.tally(&state.blobs) {
      if try storage.blobInfo(blobTables, serial) != nil {
        try storage.addReferences(blobTables, serial, count: count)
        continue
      }
      var info = try source.storage.existingBlobInfo(blobTables, serial)
      guard info.state == .complete else { throw blobTables.missing(serial) }
      info.referenceCount = count
      try storage.store(blobTables, serial, info)
    }
  }
}
