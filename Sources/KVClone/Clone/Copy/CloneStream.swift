import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The second half of a clone: iterate over the marked objects in ascending order, copy each record, patch it, append
/// it.
///
/// A root entity's objects are one table in serial order, and clones get the highest serials in the order of their
/// sources, so every write of a record is an append. The loop over records neither counts references nor allocates.
///
/// Within a store, sources are read in the transaction that writes. Each read therefore ends before the next write.
struct CloneStream: ~Copyable {
  /// The maximum number of blob references that wait to be counted.
  private static let blobLimit = 1 << 18

  let context: CloneContext
  /// Nil within a store.
  let matcher: OutsideMatcher?
  private let place: UnsafeMutablePointer<Session>
  private let sourcePlace: UnsafePointer<Session>
  var tally: CloneTally
  /// The clones that outside objects gain, waiting to be published.
  let outside: DeferredLinks
  /// Ordered lists of outside objects that gain clones: published last, because the order of the sources decides.
  var ordered: [OrderedList: OrderedGain] = [:]
  /// References to blobs that wait to be counted, by the destination's serials.
  var blobs: [UInt64] = []
  /// The blobs that clones in another store share.
  var sharedBlobs: SharedBlobs?
  /// The list chunk that is being cloned.
  let chunk = ChunkBuffer()
  /// Whether sources may be objects that this transaction inserted or changed.
  private let mayBePending: Bool

  /// The transaction that writes the clones.
  var session: Session {
    @inline(__always) unsafeAddress { UnsafePointer(place) }
    @inline(__always) nonmutating unsafeMutableAddress { place }
  }

  /// The transaction that reads the sources.
  var source: Session { @inline(__always) unsafeAddress { sourcePlace } }

  private init(
    _ context: CloneContext, _ place: UnsafeMutablePointer<Session>, source: UnsafePointer<Session>
  ) {
    self.context = context
    self.place = place
    sourcePlace = source
    matcher = OutsideMatcher(context)
    // One or two links an object, up to where reserving unused memory would cost more than growing.
    outside = DeferredLinks(capacity: min(max(8, 2 * context.mark.count), 2048))
    tally = CloneTally(entityCount: Int(context.schema.codes.lastEntity))
    mayBePending =
      !place.pointee.changes.inserted.isEmpty || !place.pointee.changes.updated.isEmpty
      || place.pointee.lifecycle != nil
  }

  /// Allocates the ids of the plan, and writes all clones.
  ///
  /// - Parameter reader: the transaction to read the sources in; nil for the one that writes.
  static func write(_ context: CloneContext, from reader: CloneReader?, in session: inout Session) throws -> CloneTally
  {
    if let byteCount = context.byteCount { try session.makeRoom(for: byteCount) }
    try context.places.take(in: &session)
    session.changes.isEmpty = false
    let tally = try withUnsafeMutablePointer(to: &session) { place in
      try withExtendedLifetime(reader) {
        var stream = CloneStream(context, place, source: reader?.place ?? UnsafePointer(place))
        try stream.write()
        return stream.tally
      }
    }
    // A clone that follows its parent's `now()` uses the time of the commit.
    if context.futures.tellTheTime, session.state.now == nil { session.state.now = context.now }
    return tally
  }

  private mutating func write() throws {
    try writeSharedBlobs()
    var batch = CloneBatch(expectedCount: context.mark.set.count)
    for set in context.mark.set.roots {
      guard let table = context.schema.objectTable(rootCode: set.rootCode) else { continue }
      // All copies of one table before the next, so that all of its records are appended.
      for copy in 0..<context.copies {
        context.select(copy: copy)
        try write(set, table, &batch)
      }
    }
    try context.cancellation.check(.publish, 0, of: nil)
    try publishOutside()
    try publishOrdered()
    try publishBlobs()
    countSharedBlobs()
    context.select(copy: 0)
  }

  private mutating func write(_ set: CloneMembers, _ table: StorageTable, _ batch: inout CloneBatch) throws {
    let before = tally.objects
    var place = 0
    var next = set.next(from: 0, &place)
    var windows = ReadWindows(source.storage)
    while let serial = next {
      windows.renew()
      next = try Self.fill(&batch, table, set, from: serial, &place, source)
      try cloneBatch(&batch, table)
      try context.cancellation.check(.copy, tally.objects, of: context.objectCount)
      if outside.isFull { try publishOutside() }
      if blobs.count >= Self.blobLimit { try publishBlobs() }
    }
    guard tally.objects - before == set.count else {
      let name = context.schema.entity(code: set.rootCode)?.name ?? ""
      throw StoreError(
        .corrupted,
        "\(set.count - tally.objects + before) objects of \(name) are missing, but other objects link to them; run `check`"
      )
    }
  }

  /// Copies marked records from `serial` on until the batch is full, and returns the serial to continue from.
  private static func fill(
    _ batch: inout CloneBatch, _ table: StorageTable, _ set: CloneMembers, from serial: UInt64, _ place: inout Int,
    _ source: borrowing Session
  ) throws(StoreError) -> UInt64? {
    let rootCode = set.rootCode
    batch.removeAll()
    var wanted: UInt64? = serial
    var skipped = 0
    let key = ShortKey.object(ObjectID(rootCode: rootCode, serial: serial))
    try source.storage.scanToEnd(of: table, from: key.bytes) { (key, value) throws(StoreError) in
      let id = try source.schema.objectID(key)
      guard let next = wanted else { return false }
      if id.serial < next {
        // A seek is cheaper than iterating over a range of unmarked objects.
        skipped += 1
        return skipped < 64
      }
      if id.serial > next { throw source.schema.notFound(ObjectID(rootCode: rootCode, serial: next)) }
      skipped = 0
      batch.append(id, value)
      wanted = set.next(from: next + 1, &place)
      return !batch.isFull
    }
    if batch.count == 0 { throw source.schema.notFound(ObjectID(rootCode: rootCode, serial: serial)) }
    return wanted
  }

  /// Converts the records of a batch to their clones' and appends them.
  @inline(never)
  private mutating func cloneBatch(_ batch: inout CloneBatch, _ table: StorageTable) throws {
    let context = context
    let programs = context.book.programs
    let constants = CloneConstants(
      key: context.key, now: context.now.timeIntervalSinceReferenceDate.bitPattern, commit: session.commit,
      ids: context.ids.map, outside: outside.sink)
    let takesGeneralWay = context.bridge != nil || !session.changes.transients.isEmpty
    var written = 0
    var current: (code: UInt16, count: Int) = (0, 0)
    for index in 0..<batch.count {
      let id = batch.id(index)
      guard let clone = constants.ids.clone(of: id) else { throw context.schema.notFound(id) }
      let bytes = batch.bytes(index)
      let header: (layout: UInt16, entity: UInt16)
      do throws(RecordError) {
        header = try RecordPatch.header(of: UnsafeRawBufferPointer(bytes))
      } catch {
        throw context.schema.corrupted(id, error)
      }
      if header.entity != current.code {
        if current.count > 0 { tally.counts[Int(current.code)] += current.count }
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
          throw context.schema.corrupted(id, error)
        }
        try run(program, on: &patch, id, clone, constants)
        patch.seal(commit: constants.commit, seed: ValueEnvelope.seed(object: clone))
        batch.finish(index, as: clone, byteCount: patch.byteCount)
        written &+= patch.byteCount &+ 8
      } else {
        // Appends are in ascending order of ids, so finished records go first.
        try batch.flush(to: &session.storage, table)
        written &+= try cloneRecord(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(bytes)), id, clone) &+ 8
      }
    }
    try batch.flush(to: &session.storage, table)
    if current.count > 0 { tally.counts[Int(current.code)] += current.count }
    tally.objects += batch.count
    tally.bytesWritten += UInt64(written)
  }

  /// Runs a program's steps on one record.
  @inline(__always)
  private mutating func run(
    _ program: UnsafePointer<CloneProgram>, on patch: inout RecordPatch, _ id: ObjectID, _ clone: ObjectID,
    _ constants: CloneConstants
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
          guard step.pointee.mode == .stop else { throw context.schema.notFound(target) }
          noteOutside(step, target, clone, outside)
        }
      case .list:
        let head = patch.head(at: step.pointee.offset)
        if head.count == 0 { continue }
        if head.isChunked {
          let cloned = try cloneLongList(step, id, clone, head, ids)
          if cloned.isChunked || cloned.count == 0 {
            patch.setHead(at: step.pointee.offset, cloned)
          }
          continue
        }
        if step.pointee.mode == .drop {
          patch.removeInlineIDs(at: inlineStart, head: step.pointee.offset, count: head.count)
          continue
        }
        try remap(step, &patch, inlineStart, head.count, clone, ids, outside)
        inlineStart &+= 8 &* head.count
      case .blob:
        guard let blob = patch.blob(at: step.pointee.offset) else { continue }
        blobs.append(blob.serial)
        tally.share(byteCount: blob.byteCount)
      }
    }
    if program.pointee.hasIndexes || program.pointee.hasReferrers || program.pointee.hasDerived || mayBePending {
      try finish(program, patch, id, clone)
    }
  }

  /// The steps beyond the record, which few entities need.
  @inline(never)
  private mutating func finish(
    _ program: UnsafePointer<CloneProgram>, _ patch: RecordPatch, _ id: ObjectID, _ clone: ObjectID
  ) throws {
    guard let plan = context.book.plan(program.pointee.entityCode) else {
      throw context.schema.corrupted(id, .wrongLayout)
    }
    for code in plan.entity.referrerCodes { try cloneReferrers(code, to: code, id, clone) }
    if program.pointee.hasIndexes {
      tally.bytesWritten += try IndexEntries.add(clone, plan.entity, patch, in: &session)
    }
    noteInsert(clone, plan.entity, of: id, plan)
  }

  /// Marks a clone for the commit's validation if the plan does not guarantee it: another model may require more, and a
  /// source of this very transaction has not been validated yet, and may be corrected before the commit.
  func noteInsert(
    _ clone: ObjectID, _ entity: CompiledEntity, of id: ObjectID, _ plan: CloneRuleBook.EntityPlan
  ) {
    DerivedChanges.noteInsert(clone, entity, in: &session)
    let isPending = mayBePending && (session.changes.inserted.contains(id) || session.changes.updated.contains(id))
    if context.bridge != nil || isPending || plan.isValidatedAtCommit
      || session.lifecycle?.hooks(plan.entity).isEmpty == false
    {
      session.changes.noteInsert(clone)
    }
  }

  /// Records that the clone links to `target`, which is not cloned, so that its other side gains the clone.
  @inline(__always)
  mutating func noteOutside(
    _ step: UnsafePointer<CloneStep>, _ target: ObjectID, _ clone: ObjectID, _ outside: DeferredLinkSink
  ) {
    if step.pointee.inverseIsOrdered {
      noteOrdered(OrderedList(owner: target, code: step.pointee.inverseCode), clone: clone)
    } else {
      outside.append(target, step.pointee.inverseCode, clone)
    }
  }

  /// Maps an inline list in place.
  @inline(__always)
  private mutating func remap(
    _ step: UnsafePointer<CloneStep>, _ patch: inout RecordPatch, _ start: Int, _ count: Int, _ clone: ObjectID,
    _ ids: CloneIDMap, _ outside: DeferredLinkSink
  ) throws(StoreError) {
    var originals = 0
    for index in 0..<count {
      let target = patch.inlineID(at: start, index)
      if let mapped = ids.clone(of: target) {
        patch.setInlineID(at: start, index, mapped)
      } else {
        guard step.pointee.mode == .stop else { throw context.schema.notFound(target) }
        noteOutside(step, target, clone, outside)
        originals &+= 1
      }
    }
    // In an unordered list the originals come first: their ids are less than all clones'.
    if originals > 0, originals < count, !step.pointee.isOrdered { patch.sortInlineIDs(at: start, count: count) }
  }
}

/// Values that are equal in all records of a clone.
private struct CloneConstants {
  let key: KeyedUUID
  /// Seconds since 2001, as bits.
  let now: UInt64
  let commit: UInt64
  let ids: CloneIDMap
  let outside: DeferredLinkSink
}
