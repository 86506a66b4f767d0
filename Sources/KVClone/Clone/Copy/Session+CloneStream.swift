import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The second half of a clone: walk the marked objects in ascending order, copy each record, patch it, append it.
///
/// A root entity's objects are one table in serial order, and clones get the highest serials in the order of their
/// sources, so every write of a record is an append. Nothing in the loop over records is counted or allocated.
extension Session {
  mutating func stream(_ context: CloneContext) throws -> CloneTally {
    var state = CloneStream(context: context)
    state.mayBePending = !changes.inserted.isEmpty || !changes.updated.isEmpty || lifecycle != nil
    var batch = CloneBatch(expectedCount: context.mark.set.count)
    for set in context.mark.set.roots {
      guard let table = schema.objectTable(rootCode: set.rootCode) else { continue }
      // All copies of one table, before the next one is begun: so that all of its records are appended.
      for copy in 0..<context.book.options.count {
        context.select(copy: copy)
        try stream(set, table, &batch, &state)
      }
    }
    try context.cancellation.check(.publish, 0, of: nil)
    try publishOutside(&state)
    try publishOrderedOutside(&state)
    try publishBlobs(&state)
    context.select(copy: 0)
    return state.tally
  }

  private mutating func stream(
    _ set: CloneMembers, _ table: StorageTable, _ batch: inout CloneBatch, _ state: inout CloneStream
  ) throws {
    let rootCode = set.rootCode
    let before = state.tally.objects
    var place = 0
    var next = set.next(from: 0, &place)
    while let serial = next {
      next = try fillBatch(&batch, table, set, from: serial, &place)
      try cloneBatch(&batch, table, &state)
      try state.context.cancellation.check(.copy, state.tally.objects, of: state.context.objectCount)
      if state.outside.isFull { try publishOutside(&state) }
      if state.blobs.count >= CloneStream.blobLimit { try publishBlobs(&state) }
    }
    guard state.tally.objects - before == set.count else {
      throw StoreError(
        .corrupted,
        "\(set.count - state.tally.objects + before) objects of "
          + "\(schema.entity(code: rootCode)?.name ?? "") are missing, but other objects link to them; run `check`")
    }
  }

  /// Copies marked records from `serial` on until the batch is full; the serial to go on from.
  private borrowing func fillBatch(
    _ batch: inout CloneBatch, _ table: StorageTable, _ set: CloneMembers, from serial: UInt64, _ place: inout Int
  ) throws(StoreError) -> UInt64? {
    let rootCode = set.rootCode
    batch.removeAll()
    var wanted: UInt64? = serial
    var skipped = 0
    let key = ShortKey.object(ObjectID(rootCode: rootCode, serial: serial))
    try storage.scanToEnd(of: table, from: key.bytes) { (key, value) throws(StoreError) in
      let id = try schema.objectID(key)
      guard let next = wanted else { return false }
      if id.serial < next {
        // A stretch that nobody marked is cheaper to seek over than to walk.
        skipped += 1
        return skipped < 64
      }
      if id.serial > next { throw schema.notFound(ObjectID(rootCode: rootCode, serial: next)) }
      skipped = 0
      batch.append(id, value)
      wanted = set.next(from: next + 1, &place)
      return !batch.isFull
    }
    if batch.count == 0 { throw schema.notFound(ObjectID(rootCode: rootCode, serial: serial)) }
    return wanted
  }

  /// Turns the records of a batch into their clones' and appends them.
  private mutating func cloneBatch(_ batch: inout CloneBatch, _ table: StorageTable, _ state: inout CloneStream) throws
  {
    let context = state.context
    let programs = context.book.programs
    let constants = CloneConstants(
      key: context.key, now: context.now.timeIntervalSinceReferenceDate.bitPattern, commit: commit,
      ids: context.ids.map, outside: state.outside.sink)
    let takesGeneralWay = !changes.transients.isEmpty
    var written = 0
    var current: (code: UInt16, count: Int) = (0, 0)
    for index in 0..<batch.count {
      let id = batch.id(index)
      guard let clone = constants.ids.clone(of: id) else { throw schema.notFound(id) }
      let bytes = batch.bytes(index)
      let header: (layout: UInt16, entity: UInt16)
      do throws(RecordError) {
        header = try RecordPatch.header(of: UnsafeRawBufferPointer(bytes))
      } catch {
        throw schema.corrupted(id, error)
      }
      if header.entity != current.code {
        if current.count > 0 { state.tally.counts[Int(current.code)] += current.count }
        current = (header.entity, 0)
      }
      current.count += 1
      if let program = programs.direct(entity: header.entity, layout: header.layout), !takesGeneralWay,
        program.pointee.table.handle == table.handle
      {
        var patch: RecordPatch
        do throws(RecordError) {
          patch = try RecordPatch(bytes, layout: program.pointee.layout, seed: ValueEnvelope.seed(object: id))
        } catch {
          throw schema.corrupted(id, error)
        }
        try run(program, on: &patch, id, clone, constants, &state)
        patch.seal(commit: constants.commit, seed: ValueEnvelope.seed(object: clone))
        batch.finish(index, as: clone, byteCount: patch.byteCount)
        written &+= patch.byteCount &+ 8
      } else {
        // Appends are in the order of ids, so what is finished goes first.
        try Self.flush(&batch, &storage, table)
        written &+= try cloneRecord(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(bytes)), id, clone, &state) &+ 8
      }
    }
    try Self.flush(&batch, &storage, table)
    if current.count > 0 { state.tally.counts[Int(current.code)] += current.count }
    state.tally.objects += batch.count
    state.tally.bytesWritten += UInt64(written)
  }

  private static func flush(_ batch: inout CloneBatch, _ storage: inout StorageTransaction, _ table: StorageTable)
    throws(StoreError)
  {
    try batch.flush(to: &storage, table)
  }

  /// Follows a program's steps on one record.
  @inline(__always)
  private mutating func run(
    _ program: UnsafePointer<CloneProgram>, on patch: inout RecordPatch, _ id: ObjectID, _ clone: ObjectID,
    _ constants: CloneConstants, _ state: inout CloneStream
  ) throws {
    let ids = constants.ids
    let outside = constants.outside
    let steps = program.pointee.steps
    var inlineStart = RecordPatch.inlineStart(program.pointee.layout)
    for index in 0..<steps.count {
      let step = steps.baseAddress.unsafelyUnwrapped + index
      switch step.pointee.kind {
      case .uuid:
        if let place = step.pointee.place {
          patch.set(place, constants.key.words(object: clone.rawValue, attribute: step.pointee.code))
        }
      case .now:
        if let place = step.pointee.place { patch.set(place, constants.now) }
      case .null:
        if let place = step.pointee.place { patch.setNull(place) }
      case .toOne:
        guard let target = patch.toOne(at: step.pointee.offset) else { continue }
        if step.pointee.mode == .drop {
          patch.setToOne(at: step.pointee.offset, nil)
        } else if let mapped = ids.clone(of: target) {
          patch.setToOne(at: step.pointee.offset, mapped)
        } else {
          guard step.pointee.mode == .stop else { throw schema.notFound(target) }
          Self.noteOutside(step, target, clone, outside, &state)
        }
      case .list:
        let head = patch.head(at: step.pointee.offset)
        if head.count == 0 { continue }
        if head.isChunked {
          let cloned = try cloneLongList(program, step, id, clone, head, &state)
          if cloned.isChunked || cloned.count == 0 {
            patch.setHead(at: step.pointee.offset, cloned)
          }
          continue
        }
        if step.pointee.mode == .drop {
          patch.removeInlineIDs(at: inlineStart, head: step.pointee.offset, count: head.count)
          continue
        }
        try remap(step, &patch, inlineStart, head.count, clone, ids, outside, &state)
        inlineStart &+= 8 &* head.count
      case .blob:
        guard let blob = patch.blob(at: step.pointee.offset) else { continue }
        state.blobs.append(blob.serial)
        state.tally.share(byteCount: blob.byteCount)
      }
    }
    if program.pointee.hasIndexes || program.pointee.hasReferrers || program.pointee.hasDerived
      || state.mayBePending
    {
      try finish(program, patch, id, clone, &state)
    }
  }

  /// What few entities need beyond their records.
  @inline(never)
  private mutating func finish(
    _ program: UnsafePointer<CloneProgram>, _ patch: RecordPatch, _ id: ObjectID, _ clone: ObjectID,
    _ state: inout CloneStream
  ) throws {
    guard let plan = state.context.book.plan(program.pointee.entityCode) else {
      throw schema.corrupted(id, .wrongLayout)
    }
    for code in plan.entity.referrerCodes { try cloneReferrers(code, id, clone, &state) }
    if program.pointee.hasIndexes {
      state.tally.bytesWritten += try addIndexEntries(clone, plan.entity, patch)
    }
    noteClone(clone, of: id, plan, state)
  }

  /// Marks a clone for the commit's validation where the plan does not vouch for it: a source of this very transaction has
  /// not been checked yet, and may be put right before the commit checks it.
  mutating func noteClone(
    _ clone: ObjectID, of id: ObjectID, _ plan: CloneRuleBook.EntityPlan, _ state: borrowing CloneStream
  ) {
    noteDerivedInsert(clone, plan.entity)
    let isPending = state.mayBePending && (changes.inserted.contains(id) || changes.updated.contains(id))
    if isPending || plan.isValidatedAtCommit || lifecycle?.hooks(plan.entity).isEmpty == false {
      changes.noteInsert(clone)
    }
  }

  @inline(__always)
  static func noteOutside(
    _ step: UnsafePointer<CloneStep>, _ target: ObjectID, _ clone: ObjectID, _ outside: WaitingLinkSink,
    _ state: inout CloneStream
  ) {
    if step.pointee.inverseIsOrdered {
      state.noteOrdered(step.pointee.code, step.pointee.inverseCode, target, clone: clone)
    } else {
      outside.append(target, step.pointee.inverseCode, clone)
    }
  }

  /// Maps an inline list where it stands.
  @inline(__always)
  private func remap(
    _ step: UnsafePointer<CloneStep>, _ patch: inout RecordPatch, _ start: Int, _ count: Int, _ clone: ObjectID,
    _ ids: CloneIDMap, _ outside: WaitingLinkSink, _ state: inout CloneStream
  ) throws(StoreError) {
    var originals = 0
    for index in 0..<count {
      let target = patch.inlineID(at: start, index)
      if let mapped = ids.clone(of: target) {
        patch.setInlineID(at: start, index, mapped)
      } else {
        guard step.pointee.mode == .stop else { throw schema.notFound(target) }
        Self.noteOutside(step, target, clone, outside, &state)
        originals &+= 1
      }
    }
    // In an unordered list the originals come first: their ids are below all clones'.
    if originals > 0, originals < count, !step.pointee.isOrdered { patch.sortInlineIDs(at: start, count: count) }
  }
}

/// What is the same for all records of a clone.
struct CloneConstants {
  let key: KeyedUUID
  /// Seconds since 2001, bit by bit.
  let now: UInt64
  let commit: UInt64
  let ids: CloneIDMap
  let outside: WaitingLinkSink
}
