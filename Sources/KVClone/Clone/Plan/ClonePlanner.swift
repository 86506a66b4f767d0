import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Checks a clone set object by object before anything is written, and counts what a clone would write (R36).
struct ClonePlanner {
  /// More errors than this are counted, and not kept.
  static let errorLimit = PlanReasons.limit

  let context: CloneContext
  var tally: CloneTally
  private(set) var errors: [CloneError] = []
  private(set) var errorCount = 0
  /// Whether all objects are looked at, whatever is wrong with the first ones: a plan counts every reason, and a clone
  /// throws the first.
  private let isExhaustive: Bool
  private var reported: Set<UInt16> = []
  var patterns = TextPatterns()
  /// Constraints whose values on clones may meet on two of them: not all columns are copied, or lead to clones.
  private let comparedConstraints: Set<UInt16>
  private var values = CloneValueTable()
  /// What the second of several copies has: values that are equal in both are equal in all.
  private let second: CloneContext?
  /// Clones that outside objects with a maximum count gain.
  private var gains: [GainKey: Int] = [:]

  private struct GainKey: Hashable {
    let target: ObjectID
    let code: UInt16
  }

  init(context: CloneContext, isExhaustive: Bool = false) {
    self.context = context
    self.isExhaustive = isExhaustive
    tally = CloneTally(entityCount: Int(context.schema.codes.lastEntity))
    errors = context.book.errors
    errorCount = errors.count
    second = context.book.options.count > 1 ? context.secondCopy() : nil
    comparedConstraints = Set(
      context.book.allPlans.flatMap { plan in
        plan.entity.constraints.filter { $0.mayMeet(plan) }.map(\.indexID)
      })
  }

  /// Whether objects have to be looked at one by one, when only errors are asked for.
  static func isNeeded(_ book: CloneRuleBook, _ mark: CloneMark) -> Bool {
    book.allPlans.contains { $0.needsCheck && mark.set.set(rootCode: $0.entity.rootCode) != nil }
  }

  var isFull: Bool { !isExhaustive && errorCount >= Self.errorLimit }

  mutating func report(_ error: CloneError) {
    errorCount += 1
    if errors.count < Self.errorLimit { errors.append(error) }
  }

  /// Looks at every object of the clone set.
  mutating func check(_ session: borrowing Session) throws {
    try checkObjects(session)
    if !isFull, values.needsSecondRound() {
      // Once more, for the few whose values may be equal: a hash alone says too little.
      let counted = tally
      errors = context.book.errors
      errorCount = errors.count
      reported = []
      gains = [:]
      try checkObjects(session)
      tally = counted
    }
    let copies = context.book.options.count
    if context.book.options.recordsProvenance {
      let byteCount = UInt64(tally.objects) * CloneTally.provenanceBytes(isForeign: false)
      tally.bytesWritten = tally.bytesWritten.saturatingAdd(byteCount)
    }
    tally.multiply(by: copies)
    try checkGains(session, copies: copies)
    let byteCount = tally.bytesWritten.saturatingAdd(tally.bytesCopied)
    if let most = context.book.options.maxBytes, byteCount > most {
      report(
        CloneError(
          .limitExceeded,
          "the clone would write \(byteCount) bytes, more than its limit of "
            + "\(most) (R29); raise the limit or exclude relationships"))
    }
  }

  private mutating func checkObjects(_ session: borrowing Session) throws {
    for rootCode in context.schema.rootCodes {
      guard let set = context.mark.set.set(rootCode: rootCode) else { continue }
      var place = 0
      var serial = set.next(from: 0, &place)
      var announced: UInt64 = 0
      while let current = serial, !isFull {
        if current >= announced { announced = set.announce(from: current, to: session) }
        let id = ObjectID(rootCode: rootCode, serial: current)
        let view = try session.existingRecord(id)
        let entity = try context.schema.entity(of: view, id: id)
        guard let plan = context.book.plan(entity.code) else { throw context.schema.corrupted(id, .wrongLayout) }
        try check(id, view, plan, session)
        serial = set.next(from: current + 1, &place)
        if tally.objects & 1023 == 0 {
          let done = tally.objects * context.book.options.count
          try context.cancellation.check(.check, done, of: context.objectCount)
        }
      }
    }
  }

  private mutating func check(
    _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan, _ session: borrowing Session
  ) throws {
    // Made for errors only: a million objects have none.
    var name: String { "\(plan.entity.name)/\(id.serial)" }
    if !plan.errors.isEmpty, reported.insert(plan.entity.code).inserted {
      for error in plan.errors { report(error.naming(object: name)) }
    }
    tally.objects += 1
    tally.counts[Int(plan.entity.code)] += 1
    if view.layout == plan.entity.layout {
      try countRecord(id, view, plan, session)
    } else {
      // A record of an earlier model version is cloned in the present layout.
      var present = RecordBuffer()
      try Session.load(&present, view, plan.entity, id)
      try countRecord(id, present.view, plan, session)
    }
    for index in plan.checkedAttributes {
      do {
        if case .blob(let blob) = try context.value(of: index, plan, view, id, session) { count(blob) }
        if plan.rules[index].isExcluded, try hasComposite(index, plan, view, id, session),
          let error = plan.entity.attributes[index].blankError(plan.entity)
        {
          report(error.naming(object: name))
        }
      } catch let error as CloneError {
        report(error)
      }
    }
    for index in plan.validatedAttributes { try validate(index, id, view, plan, session) }
    if plan.isValidatedAtCommit { try validateAll(id, view, plan, session) }
    for step in plan.relationships { try check(step, id, view, plan, session) }
    for constraint in plan.entity.constraints { try check(constraint, id, view, plan, session) }
    for index in plan.entity.fetchIndexes {
      guard let (values, _, _) = try cloneValues(index.columns.map(\.place), id, view, plan, context, session) else {
        continue
      }
      tally.bytesWritten += index.entryByteCount(values)
    }
    for code in plan.entity.referrerCodes {
      // The hidden list of the clone's own referrers.
      let count = try session.clonedReferrers(code, id, context).count
      if count > 0 { tally.bytesWritten += CloneTally.listBytes(count) }
    }
  }

  /// Whether the composite that an attribute is a leaf of is there.
  private func hasComposite(
    _ index: Int, _ plan: CloneRuleBook.EntityPlan, _ view: borrowing RecordView, _ id: ObjectID,
    _ session: borrowing Session
  ) throws(StoreError) -> Bool {
    guard let composite = plan.entity.attributes[index].composite else { return false }
    return try plan.entity.value(named: composite, in: view, id: id, schema: session.schema) != nil
  }

  /// Counts the bytes and the large values of a clone's record.
  ///
  /// - Parameter view: the source's record, in the entity's present layout.
  private mutating func countRecord(
    _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan, _ session: borrowing Session
  ) throws(StoreError) {
    tally.bytesWritten += UInt64(try context.recordByteCount(plan, view, id, session) + 8)
    countBlobs(view, plan)
  }

  private mutating func countBlobs(_ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan) {
    for field in view.layout.variableFields where view.isBlob(field) {
      if plan.replacedCodes.contains(view.layout[field].propertyCode) { continue }
      if let blob = view.blobReference(field) { count(blob) }
    }
  }

  private mutating func count(_ blob: BlobReference) {
    if context.book.options.blobs == .share {
      tally.share(byteCount: blob.byteCount)
    } else {
      tally.bytesCopied = tally.bytesCopied.saturatingAdd(blob.byteCount)
    }
  }

  /// The links of one relationship: what remains of them (R14), and what they do to outside objects (R13).
  private mutating func check(
    _ step: CloneRuleBook.RelationshipPlan, _ id: ObjectID, _ view: borrowing RecordView,
    _ plan: CloneRuleBook.EntityPlan, _ session: borrowing Session
  ) throws {
    let relationship = step.relationship
    var links = 0
    var dropped = 0
    var name: String { "\(plan.entity.name)/\(id.serial)" }
    try session.forEachMember(id, relationship, in: view, plan.entity) { (target) throws(StoreError) in
      var mode = step.mode
      if mode == .dynamic { mode = try context.mode(step, id, target, session) }
      let isCloned = context.mark.set.contains(target)
      if mode == .drop {
        dropped += 1
        return true
      }
      links += 1
      if mode == .follow || mode == .stop && isCloned { return true }
      tally.bytesWritten += 8
      if !relationship.hasInverse { return true }
      _ = tally.touched.insert(target)
      let holder = try session.entity(of: target)
      let inverse = holder.inverse(of: relationship)
      if !relationship.inverseIsToMany {
        let targetName = "\(holder.name)/\(target.serial)"
        report(
          CloneError(
            .inverseTaken,
            "the clone of \(name) would replace \(name) as the \(inverse?.name ?? "inverse") of \(targetName), because "
              + "\(relationship.name) is not followed (R13); follow or exclude it", entity: holder.name,
            property: inverse?.name, object: targetName))
        return !isFull
      }
      if let inverse, inverse.description.maxCount > 0 {
        gains[GainKey(target: target, code: inverse.code), default: 0] += 1
      }
      return true
    }
    countList(relationship, in: view, plan.entity, links: links, dropped: dropped)
    if dropped == 0, plan.isValidatedAtCommit, let (_, text) = relationship.brokenRule(links) {
      report(
        CloneError(
          .invalidValue, "\(relationship.name) of a clone of \(name) \(text)", entity: plan.entity.name,
          property: relationship.name, object: name))
    }
    if dropped > 0, let (_, text) = relationship.brokenRule(links) {
      let decision = context.mark.rootSet.contains(id) ? step.rootDecision : step.decision
      let reason =
        context.mark.answers.isEmpty || decision.disposition == .exclude
        ? decision.reason : "\(decision.reason), or the result of willClone (R30)"
      report(
        CloneError(
          .requiredRelationshipExcluded,
          "\(relationship.name) of a clone of \(name) \(text), because it is \(reason) (R14)",
          entity: plan.entity.name, property: relationship.name, object: name))
    }
  }

  /// What a list costs beyond its place in the record.
  private mutating func countList(
    _ relationship: CompiledRelationship, in view: borrowing RecordView, _ entity: CompiledEntity, links: Int,
    dropped: Int
  ) {
    guard relationship.isToMany, let field = entity.field(relationship.field, code: relationship.code, in: view) else {
      return
    }
    if links > FormatLimits.inlineIDLimit {
      tally.bytesWritten += CloneTally.listBytes(links)
    } else if !view.head(field).isChunked {
      // The source's record has them all.
      tally.bytesWritten -= UInt64(dropped) * 8
    } else if context.book.programs.direct(entity: entity.code, layout: view.layout.id) != nil, dropped == 0 {
      // A short list stays in chunks where it is cloned chunk by chunk,
      tally.bytesWritten += CloneTally.listBytes(links)
    } else {
      // and comes into the record where its links are looked at one by one.
      tally.bytesWritten += UInt64(links) * 8
    }
  }

  private mutating func checkGains(_ session: borrowing Session, copies: Int) throws(StoreError) {
    for (key, gain) in gains.sorted(by: { ($0.key.target, $0.key.code) < ($1.key.target, $1.key.code) }) {
      let entity = try session.entity(of: key.target)
      let relationship = try entity.relationship(code: key.code, key.target, context.schema)
      let count = try session.count(key.target, relationship.name)
      let name = "\(entity.name)/\(key.target.serial)"
      let (all, overflows) = gain.multipliedReportingOverflow(by: copies)
      if overflows || count + all > relationship.description.maxCount {
        report(
          CloneError(
            .maxCountExceeded,
            "\(relationship.name) of \(name) has \(count) members and would gain \(overflows ? .max : all), more than its maximum of "
              + "\(relationship.description.maxCount) (R13)", entity: entity.name, property: relationship.name,
            object: name))
      }
    }
  }

  /// R24: the clone's values under a constraint, against the store and the other clones.
  private mutating func check(
    _ constraint: CompiledConstraint, _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan,
    _ session: borrowing Session
  ) throws {
    guard let (values, isNew, isUnique) = try cloneValues(constraint.columns, id, view, plan, context, session),
      let builder = constraint.builder(for: values)
    else { return }
    tally.bytesWritten += UInt64(builder.bytes.count + 16)
    if isUnique { return }
    var name: String { "\(plan.entity.name)/\(id.serial)" }
    if let second {
      if let next = try cloneValues(constraint.columns, id, view, plan, second, session), next.values == values {
        report(
          CloneError(
            .uniquenessConflict,
            "all copies of \(name) would have the same \(constraint.name), which must be unique (R24, R32); exclude or "
              + "rebuild an attribute of the constraint", entity: plan.entity.name, property: constraint.name,
            object: name))
        return
      }
    }
    var other: ObjectID?
    if !isNew { other = try session.holder(of: constraint, builder, values: values, otherThan: nil) }
    let isInStore = other != nil
    if other == nil, comparedConstraints.contains(constraint.indexID) {
      other = self.values.note(constraint.indexID, builder, values, id)
    }
    guard let other else { return }
    let holder = try session.name(of: other)
    report(
      CloneError(
        .uniquenessConflict,
        "a clone of \(name) would have the same \(constraint.name) as \(isInStore ? "" : "the clone of ")\(holder), "
          + "which must be unique (R24); exclude or rebuild an attribute of the constraint", entity: plan.entity.name,
        property: constraint.name, object: name))
  }

  /// The values of the clone in the columns of an index; nil where a rule cannot be followed, which is reported elsewhere.
  /// `isNew`: one of them names a clone, so nothing in the store can have them. `isUnique`: one is a rebuilt UUID, so nothing
  /// else can.
  private func cloneValues(
    _ columns: [CompiledConstraint.Column], _ id: ObjectID, _ view: borrowing RecordView,
    _ plan: CloneRuleBook.EntityPlan, _ context: CloneContext, _ session: borrowing Session
  ) throws -> (values: [AttributeValue?], isNew: Bool, isUnique: Bool)? {
    var values: [AttributeValue?] = []
    var isNew = false
    var isUnique = false
    for column in columns {
      switch column {
      case .attribute(let index):
        // A rebuilt UUID is like no other: nothing to look up, and nothing to remember for every object (R26).
        let rule = plan.rules[index]
        if rule.rebuild == .uuid, !rule.isExcluded, rule.followParent == nil, !plan.entity.attributes[index].isDerived {
          isUnique = true
        }
        do {
          values.append(try context.value(of: index, plan, view, id, session))
        } catch is CloneError {
          return nil
        }
      case .toOne(let index):
        let step = plan.relationships[index]
        guard let field = plan.entity.field(step.relationship.field, code: step.relationship.code, in: view),
          let target = view.toOne(field)
        else {
          values.append(nil)
          continue
        }
        var mode = step.mode
        if mode == .dynamic { mode = try context.mode(step, id, target, session) }
        if mode == .drop {
          values.append(nil)
          continue
        }
        let clone = mode == .keep ? nil : context.cloneID(of: target)
        isNew = isNew || clone != nil
        values.append(CompiledConstraint.column(clone ?? target))
      }
    }
    return (values, isNew, isUnique)
  }
}

extension CompiledConstraint {
  /// Whether two clones can have the same values although their sources do not: a default, `now`, a parent's value, or what
  /// is derived of them, is the same for many.
  fileprivate func mayMeet(_ plan: CloneRuleBook.EntityPlan) -> Bool {
    columns.contains { column in
      if case .attribute(let index) = column {
        let rule = plan.rules[index]
        return rule.isExcluded || rule.followParent != nil || rule.rebuild == .now
          || plan.entity.attributes[index].isDerived
      }
      return false
    }
  }
}

extension CloneError {
  /// The same error with the object that shows it.
  func naming(object: String) -> CloneError {
    CloneError(kind, message, entity: entity, property: property, object: object)
  }
}
