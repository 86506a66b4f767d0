import KVCloneModel
import KVCloneRecords

/// Checks a clone set object by object before anything is written, and counts what a clone would write (R36).
struct ClonePlanner {
  /// More errors than this are not collected: by then the model, and not an object, is what is wrong.
  static let errorLimit = 100

  let context: CloneContext
  var tally: CloneTally
  private(set) var errors: [CloneError] = []
  private var reported: Set<UInt16> = []
  /// What clones' constraint values are so far, by constraint and key bytes, with the source they come from.
  private var taken: [TakenKey: ObjectID] = [:]
  /// Clones that outside objects with a maximum count gain.
  private var gains: [GainKey: Int] = [:]

  private struct TakenKey: Hashable {
    let index: UInt16
    let bytes: [UInt8]
    /// The values themselves, where they were cut to fit the key.
    let values: [AttributeValue?]
  }

  private struct GainKey: Hashable {
    let target: ObjectID
    let code: UInt16
  }

  init(context: CloneContext) {
    self.context = context
    tally = CloneTally(entityCount: Int(context.schema.codes.lastEntity))
    errors = context.book.errors
  }

  /// Whether objects have to be looked at one by one, when only errors are asked for.
  static func isNeeded(_ book: CloneRuleBook, _ mark: CloneMark) -> Bool {
    book.allPlans.contains { $0.needsCheck && mark.set.set(rootCode: $0.entity.rootCode) != nil }
  }

  var isFull: Bool { errors.count >= Self.errorLimit }

  /// Looks at every object of the clone set.
  mutating func check(_ session: borrowing Session) throws {
    for rootCode in context.schema.rootCodes {
      guard let set = context.mark.set.set(rootCode: rootCode) else { continue }
      var serial = set.next(from: 0)
      while let current = serial, !isFull {
        let id = ObjectID(rootCode: rootCode, serial: current)
        let view = try session.existingRecord(id)
        let entity = try context.schema.entity(of: view, id: id)
        guard let plan = context.book.plan(entity.code) else { throw context.schema.damaged(id, .wrongLayout) }
        try check(id, view, plan, session)
        serial = set.next(from: current + 1)
        if tally.objects & 1023 == 0 { try context.cancellation.check() }
      }
    }
    try checkGains(session)
    let byteCount = tally.bytesWritten.saturatingAdd(tally.bytesCopied)
    if let most = context.book.options.maxBytes, byteCount > most {
      errors.append(
        CloneError(
          .limitExceeded,
          "the clone would write \(byteCount) bytes, more than its limit of "
            + "\(most) (R29); raise the limit or exclude relationships"))
    }
  }

  private mutating func check(
    _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan, _ session: borrowing Session
  ) throws {
    let name = "\(plan.entity.name)/\(id.serial)"
    if !plan.errors.isEmpty, reported.insert(plan.entity.code).inserted {
      errors += plan.errors.map { $0.naming(object: name) }
    }
    tally.objects += 1
    tally.counts[Int(plan.entity.code)] += 1
    tally.bytesWritten += UInt64(view.byteCount + 8 - replacedByteCount(view, plan))
    for index in plan.checkedAttributes {
      do {
        if case .blob(let blob) = try context.value(of: index, plan, view, id, session) { count(blob) }
        if plan.rules[index].isExcluded, try hasComposite(index, plan, view, id, session),
          let error = plan.entity.attributes[index].blankError(plan.entity)
        {
          errors.append(error.naming(object: name))
        }
      } catch let error as CloneError {
        errors.append(error)
      }
    }
    for step in plan.relationships { try check(step, id, view, plan, session) }
    for constraint in plan.entity.constraints { try check(constraint, id, view, plan, session) }
    countBlobs(view, plan)
  }

  /// Bytes of the source's record that are not the clone's: what replaces them is not known, and may be nothing.
  private func replacedByteCount(_ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan) -> Int {
    if plan.replacedCodes.isEmpty { return 0 }
    var count = 0
    for field in view.layout.variableFields where plan.replacedCodes.contains(view.layout[field].propertyCode) {
      count += view.variableBytes(field).byteCount
    }
    return count
  }

  /// Whether the composite that an attribute is a leaf of is there.
  private func hasComposite(
    _ index: Int, _ plan: CloneRuleBook.EntityPlan, _ view: borrowing RecordView, _ id: ObjectID,
    _ session: borrowing Session
  ) throws(StoreError) -> Bool {
    guard let composite = plan.entity.attributes[index].composite else { return false }
    return try plan.entity.value(named: composite, in: view, id: id, schema: session.schema) != nil
  }

  private mutating func countBlobs(_ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan) {
    for field in view.layout.variableFields where view.isBlob(field) {
      if plan.replacedCodes.contains(view.layout[field].propertyCode) { continue }
      if let blob = view.blobReference(field) { count(blob) }
    }
  }

  private mutating func count(_ blob: BlobReference) {
    if context.book.options.blobs == .share {
      tally.share(blob)
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
    var dropped = false
    let name = "\(plan.entity.name)/\(id.serial)"
    try session.forEachMember(id, relationship, in: view, plan.entity) { (target) throws(StoreError) in
      var mode = step.mode
      if mode == .dynamic { mode = try context.mode(step, id, target, session) }
      let isCloned = context.mark.set.contains(target)
      if mode == .drop {
        dropped = true
        return true
      }
      links += 1
      if mode == .follow || mode == .stop && isCloned { return true }
      if !relationship.hasInverse { return true }
      _ = tally.touched.insert(target)
      tally.bytesWritten += 8
      let holder = try session.entity(of: target)
      let inverse = holder.inverse(of: relationship)
      if !relationship.inverseIsToMany {
        let targetName = "\(holder.name)/\(target.serial)"
        errors.append(
          CloneError(
            .inverseTaken,
            "\(inverse?.name ?? "the inverse") of \(targetName) would be taken from \(name) by its clone, because "
              + "\(relationship.name) is not followed (R13); follow or exclude it", entity: holder.name,
            property: inverse?.name, object: targetName))
        return !isFull
      }
      if let inverse, inverse.description.maxCount > 0 {
        gains[GainKey(target: target, code: inverse.code), default: 0] += 1
      }
      return true
    }
    if relationship.isToMany, links > FormatLimits.inlineIDLimit { tally.bytesWritten += UInt64(links) * 8 }
    if dropped, let (_, text) = relationship.brokenRule(links) {
      let decision = context.mark.rootSet.contains(id) ? step.rootDecision : step.decision
      errors.append(
        CloneError(
          .requiredRelationshipExcluded,
          "\(relationship.name) of a clone of \(name) \(text), because it is \(decision.reason) (R14)",
          entity: plan.entity.name, property: relationship.name, object: name))
    }
  }

  private mutating func checkGains(_ session: borrowing Session) throws(StoreError) {
    for (key, gain) in gains.sorted(by: { ($0.key.target, $0.key.code) < ($1.key.target, $1.key.code) }) {
      let entity = try session.entity(of: key.target)
      let relationship = try entity.relationship(code: key.code, key.target, context.schema)
      let count = try session.count(key.target, relationship.name)
      let name = "\(entity.name)/\(key.target.serial)"
      if count + gain > relationship.description.maxCount {
        errors.append(
          CloneError(
            .maxCountExceeded,
            "\(relationship.name) of \(name) has \(count) members and would gain \(gain), more than its maximum of "
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
    guard let (values, isNew) = try cloneValues(constraint, id, view, plan, session),
      let builder = constraint.builder(for: values)
    else { return }
    let name = "\(plan.entity.name)/\(id.serial)"
    var other: ObjectID?
    if !isNew { other = try session.holder(of: constraint, builder, values: values, otherThan: nil) }
    let isInStore = other != nil
    if other == nil {
      let key = TakenKey(
        index: constraint.indexID, bytes: builder.bytes, values: builder.isTruncated ? values : [])
      other = taken[key]
      taken[key] = id
    }
    guard let other else { return }
    let holder = try session.name(of: other)
    errors.append(
      CloneError(
        .uniquenessConflict,
        "a clone of \(name) would have the same \(constraint.name) as \(isInStore ? "" : "the clone of ")\(holder), which "
          + "has to be unique (R24); exclude or rebuild an attribute of the constraint", entity: plan.entity.name,
        property: constraint.name, object: name))
  }

  /// The values of the clone; nil where one is nil. `isNew`: one of them names a clone, so nothing in the store can have
  /// them.
  private func cloneValues(
    _ constraint: CompiledConstraint, _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan,
    _ session: borrowing Session
  ) throws -> (values: [AttributeValue?], isNew: Bool)? {
    var values: [AttributeValue?] = []
    var isNew = false
    for column in constraint.columns {
      switch column {
      case .attribute(let index):
        // A rebuilt UUID is like no other: nothing to look up, and nothing to remember for every object (R26).
        let rule = plan.rules[index]
        if rule.rebuild == .uuid, !rule.isExcluded, rule.followParent == nil { return nil }
        do {
          values.append(try context.value(of: index, plan, view, id, session))
        } catch is CloneError {
          // Reported where the attribute's own rules are checked.
          return nil
        }
      case .toOne(let index):
        let step = plan.relationships[index]
        guard let field = plan.entity.field(step.relationship.field, code: step.relationship.code, in: view),
          let target = view.toOne(field)
        else { return nil }
        var mode = step.mode
        if mode == .dynamic { mode = try context.mode(step, id, target, session) }
        if mode == .drop { return nil }
        let clone = mode == .keep ? nil : context.cloneID(of: target)
        isNew = isNew || clone != nil
        values.append(CompiledConstraint.column(clone ?? target))
      }
    }
    return values.contains { $0 == nil } ? nil : (values, isNew)
  }
}

extension CloneError {
  /// The same error with the object that shows it.
  func naming(object: String) -> CloneError {
    CloneError(kind, message, entity: entity, property: property, object: object)
  }
}
