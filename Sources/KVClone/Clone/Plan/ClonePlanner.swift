import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Checks a clone set object by object against the state of the destination before anything is written (R1), and counts
/// the bytes that a clone would write (R36).
struct ClonePlanner {
  /// Further errors are only counted.
  static let errorLimit = PlanReasons.limit

  let context: CloneContext
  /// Nil within a store.
  let matcher: OutsideMatcher?
  /// The second of several copies: values that are equal in both are equal in all.
  let second: CloneContext?
  var tally: CloneTally
  private(set) var errors: [CloneError] = []
  private(set) var errorCount = 0
  /// Whether all objects are checked, despite errors: a plan counts every reason, and a clone throws the first.
  private let isExhaustive: Bool
  private var reported: Set<UInt16> = []
  var patterns = TextPatterns()
  /// Constraints that two clones can violate with equal values: not all columns are copied, or lead to clones.
  let comparedConstraints: Set<UInt16>
  /// By the destination's constraint and the source's entity: whether clones differ because their sources do.
  var distinct: [DistinctKey: Bool] = [:]
  var values = CloneValueTable()
  /// The clones of one copy that outside objects with a maximum count, or with a to-one inverse, gain.
  var gains: [GainKey: Gain] = [:]
  /// The outside objects without a match that were reported.
  var unmatched: Set<ObjectID> = []
  /// Blobs that clones in another store reference, by the source's serials.
  private(set) var blobs = SerialSet()

  struct DistinctKey: Hashable {
    let index: UInt16
    let entity: UInt16
  }

  struct GainKey: Hashable {
    let target: ObjectID
    let code: UInt16
  }

  struct Gain {
    var count = 0
    /// The source of the first one.
    let source: String
  }

  init(context: CloneContext, isExhaustive: Bool = false) {
    self.context = context
    self.isExhaustive = isExhaustive
    matcher = OutsideMatcher(context)
    tally = CloneTally(entityCount: Int(context.schema.codes.lastEntity))
    second = context.copies > 1 ? context.secondCopy() : nil
    comparedConstraints = Self.comparedConstraints(context.book)
    reset()
  }

  /// Whether objects have to be checked one by one within a store, if only errors are needed.
  static func isNeeded(_ book: CloneRuleBook, _ mark: CloneMark) -> Bool {
    book.allPlans.contains { $0.needsCheck && mark.set.set(rootCode: $0.entity.rootCode) != nil }
  }

  var isFull: Bool { !isExhaustive && errorCount >= Self.errorLimit }

  /// The location of objects that are not cloned, for messages.
  var elsewhere: String { context.bridge?.elsewhere ?? "" }

  mutating func report(_ error: CloneError) {
    errorCount += 1
    if errors.count < Self.errorLimit { errors.append(error) }
  }

  private mutating func reset() {
    errors = context.book.errors
    errorCount = errors.count
    reported = []
    unmatched = []
    gains = [:]
  }

  /// Checks every object of the clone set. Within a store, both sessions are the same.
  mutating func check(_ source: borrowing Session, _ destination: borrowing Session) throws {
    if context.bridge != nil { try context.cancellation.check(.check, 0, of: context.objectCount) }
    try checkObjects(source, destination)
    if !isFull, values.needsSecondRound() {
      // A second pass for the few with equal hashes: their values may differ.
      let counted = tally
      reset()
      try checkObjects(source, destination)
      tally = counted
    }
    if context.book.options.recordsProvenance || context.book.options.keepsBase {
      let byteCount = UInt64(tally.objects) * CloneTally.provenanceBytes(isForeign: context.isForeign)
      tally.bytesWritten = tally.bytesWritten.saturatingAdd(byteCount)
    }
    multiplyTally()
    try checkGains(destination)
    let byteCount = tally.bytesWritten.saturatingAdd(tally.bytesCopied)
    if let most = context.book.options.maxBytes, byteCount > most {
      report(
        CloneError(
          .limitExceeded,
          "the clone would write \(byteCount) bytes, more than its limit of "
            + "\(most) (R29); raise the limit or exclude relationships"))
    }
  }

  private mutating func checkObjects(_ source: borrowing Session, _ destination: borrowing Session) throws {
    var sourceWindows = ReadWindows(source.storage)
    var destinationWindows = ReadWindows(destination.storage)
    for set in context.mark.set.roots {
      var place = 0
      var serial = set.next(from: 0, &place)
      var announced: UInt64 = 0
      while let current = serial, !isFull {
        sourceWindows.next()
        destinationWindows.next()
        if current >= announced { announced = set.announce(from: current, to: source) }
        let id = ObjectID(rootCode: set.rootCode, serial: current)
        let view = try source.existingRecord(id)
        let entity = try context.schema.entity(of: view, id: id)
        guard let plan = context.book.plan(entity.code) else { throw context.schema.corrupted(id, .wrongLayout) }
        try check(id, view, plan, source, destination)
        serial = set.next(from: current + 1, &place)
        if tally.objects & 1023 == 0 {
          let done = tally.objects * context.copies
          try context.cancellation.check(.check, done, of: context.objectCount)
        }
      }
    }
  }

  private mutating func check(
    _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan, _ source: borrowing Session,
    _ destination: borrowing Session
  ) throws {
    let mapping = context.mapping(of: plan.entity)
    if !plan.errors.isEmpty || mapping.bridge != nil, reported.insert(plan.entity.code).inserted {
      let name = plan.name(of: id)
      for error in mapping.errors + plan.errors { report(error.naming(object: name)) }
      if let bridge = mapping.bridge, bridge.errors.isEmpty { reportUnlinked(bridge, name) }
    }
    tally.objects += 1
    tally.counts[Int(plan.entity.code)] += 1
    guard mapping.errors.isEmpty else { return }
    try countRecord(id, view, plan, mapping, source)
    try checkAttributes(id, view, plan, source)
    try validate(id, view, plan, mapping, source)
    for (index, step) in plan.relationships.enumerated() {
      try check(step, mapping.relationship(index, step), id, view, plan, source, destination)
    }
    for constraint in mapping.entity.constraints {
      try check(constraint, id, view, plan, mapping, source, destination)
    }
    for index in mapping.entity.fetchIndexes {
      let columns = index.columns.map(\.place)
      guard let (values, _, _) = try values(columns, id, view, plan, mapping, context, source, destination) else {
        continue
      }
      tally.bytesWritten += index.entryByteCount(values)
    }
    for code in plan.entity.referrerCodes where mapping.referrers(code) != nil { try countReferrers(code, id, source) }
  }

  private mutating func checkAttributes(
    _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan, _ source: borrowing Session
  ) throws {
    for index in plan.checkedAttributes {
      do {
        if case .blob(let blob) = try context.value(of: index, plan, view, id, source) { count(blob) }
        // An attribute of a composite that is nil needs no value.
        guard plan.rules[index].isExcluded, let composite = plan.entity.attributes[index].composite,
          try plan.entity.value(named: composite, in: view, id: id, schema: context.schema) != nil,
          let error = plan.entity.attributes[index].blankError(plan.entity)
        else { continue }
        report(error.naming(object: plan.name(of: id)))
      } catch let error as CloneError {
        report(error)
      }
    }
  }

  // MARK: Bytes

  /// Counts the bytes and the blobs of a clone's record.
  private mutating func countRecord(
    _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan, _ mapping: CloneMapping,
    _ source: borrowing Session
  ) throws(StoreError) {
    if let bridge = mapping.bridge {
      let added = bridge.layout(view.layout).addedByteCount(to: view, replaced: plan.replacedCodes)
      try countRecord(id, view, plan, addedByteCount: added, source)
      countBlobs(view, plan, bridge)
    } else if view.layout == plan.entity.layout {
      try countRecord(id, view, plan, source)
      countBlobs(view, plan, nil)
    } else {
      // A record of an earlier model version is cloned in the current layout.
      var present = RecordBuffer()
      try Session.load(&present, view, plan.entity, id)
      try countRecord(id, present.view, plan, source)
      countBlobs(present.view, plan, nil)
    }
  }

  private mutating func countRecord(
    _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan, addedByteCount added: Int = 0,
    _ source: borrowing Session
  ) throws(StoreError) {
    let byteCount = try context.recordByteCount(plan, view, id, source)
    tally.bytesWritten += UInt64(max(0, byteCount + added) + 8)
  }

  private mutating func countBlobs(
    _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan, _ bridge: EntityBridge?
  ) {
    for field in view.layout.variableFields where view.isBlob(field) {
      let code = view.layout[field].propertyCode
      if plan.replacedCodes.contains(code) { continue }
      if let bridge {
        // The destination's derived attributes are not copied.
        guard let preset = plan.entity.layout.fieldIndex(ofProperty: code), bridge.fields[preset] != nil else {
          continue
        }
      }
      if let blob = view.blobReference(field) { count(blob) }
    }
  }

  /// Counts a shared blob once in another store, however many sources have it.
  private mutating func count(_ blob: BlobReference) {
    if context.book.options.blobs == .share, !context.isForeign || !blobs.insert(blob.id) {
      tally.share(byteCount: blob.byteCount)
    } else {
      tally.bytesCopied = tally.bytesCopied.saturatingAdd(blob.byteCount)
    }
  }

  /// Counts the hidden referrer list of a clone.
  private mutating func countReferrers(_ code: UInt16, _ id: ObjectID, _ source: borrowing Session) throws(StoreError) {
    var count = 0
    var position: UInt64? = 0
    while let from = position, let batch = try context.clonedReferrers(code, id, from: from, source) {
      count += batch.clones.count
      position = batch.next
    }
    if count > 0 { tally.bytesWritten += context.listByteCount(count) }
  }

  /// Multiplies the counts of one copy by the number of copies.
  private mutating func multiplyTally() {
    guard context.book.options.blobs == .share, context.isForeign else { return tally.multiply(by: context.copies) }
    // The first copy writes a shared blob, and every further one references it.
    let (byteCount, count) = (tally.bytesCopied, blobs.count)
    tally.bytesShared = tally.bytesShared.saturatingAdd(byteCount)
    tally.blobsShared += count
    tally.multiply(by: context.copies)
    tally.bytesShared -= byteCount
    tally.blobsShared -= count
    tally.bytesCopied = byteCount
  }
}

extension CloneRuleBook.EntityPlan {
  /// The name of a source of the entity, created for errors only.
  func name(of id: ObjectID) -> String { "\(entity.name)/\(id.serial)" }
}

extension CloneError {
  /// Adds the object to the error.
  func naming(object: String) -> CloneError {
    CloneError(kind, message, entity: entity, property: property, object: object)
  }
}
