import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Checks a clone into another store, or from a snapshot, object by object, against what that store has now, before anything is
/// written (R1, R35).
struct CloneIntoPlanner {
  let context: CloneIntoContext
  let matcher: OutsideMatcher
  /// The values of the first copy, and of a second one where there are several: what is equal in both is equal in all.
  let attributes: [CloneContext]
  var tally: CloneTally
  private(set) var errors: [CloneError]
  private(set) var errorCount: Int
  /// Whether all objects are looked at, whatever is wrong with the first ones.
  private let isExhaustive: Bool
  /// Large binary values that clones refer to, by the source's serials.
  private(set) var blobs = SerialSet()
  private var reported: Set<UInt16> = []
  private var patterns = TextPatterns()
  private var unmatched: Set<ObjectID> = []
  /// What clones' constraint values are, where the models do not say already that they differ.
  var values = CloneValueTable()
  /// By the destination's constraint and the source's entity: whether clones differ because their sources do.
  var distinct: [DistinctKey: Bool] = [:]
  /// Clones of one copy that outside objects with a maximum count, or with a to-one inverse, gain.
  private var gains: [GainKey: Gain] = [:]

  struct DistinctKey: Hashable {
    let index: UInt16
    let entity: UInt16
  }

  private struct GainKey: Hashable {
    let target: ObjectID
    let code: UInt16
  }

  private struct Gain {
    var count = 0
    /// The source of the first one.
    let source: String
  }

  init(context: CloneIntoContext, _ source: borrowing Session, isExhaustive: Bool = false) throws {
    self.context = context
    self.isExhaustive = isExhaustive
    matcher = OutsideMatcher(context: context)
    var attributes = [try context.attributes(source)]
    if context.copies > 1 { attributes.append(try context.attributes(source)) }
    self.attributes = attributes
    tally = CloneTally(entityCount: Int(context.bridge.source.codes.lastEntity))
    errors = context.book.errors
    errorCount = errors.count
  }

  private var bridge: CloneBridge { context.bridge }
  var isFull: Bool { !isExhaustive && errorCount >= ClonePlanner.errorLimit }

  mutating func report(_ error: CloneError) {
    errorCount += 1
    if errors.count < ClonePlanner.errorLimit { errors.append(error) }
  }

  /// Looks at every object of the clone set, against the destination as `destination` sees it.
  mutating func check(_ source: borrowing Session, _ destination: borrowing Session) throws {
    try context.cancellation.check(.check, 0, of: context.objectCount)
    try checkObjects(source, destination)
    if !isFull, values.needsSecondRound() {
      let counted = tally
      errors = context.book.errors
      errorCount = errors.count
      reported = []
      unmatched = []
      gains = [:]
      try checkObjects(source, destination)
      tally = counted
    }
    if context.book.options.recordsProvenance {
      tally.bytesWritten += UInt64(tally.objects) * CloneTally.provenanceBytes(isForeign: !bridge.isWithinStore)
    }
    try checkGains(destination)
    multiplyTally()
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
    for rootCode in context.bridge.source.rootCodes {
      guard let set = context.mark.set.set(rootCode: rootCode) else { continue }
      var serial = set.next(from: 0)
      while let current = serial, !isFull {
        try check(ObjectID(rootCode: rootCode, serial: current), source, destination)
        serial = set.next(from: current + 1)
        if tally.objects & 1023 == 0 {
          let done = tally.objects * context.copies
          try context.cancellation.check(.check, done, of: context.objectCount)
        }
      }
    }
  }

  private mutating func check(
    _ id: ObjectID, _ source: borrowing Session, _ destination: borrowing Session
  ) throws {
    let view = try source.existingRecord(id)
    let entity = try source.schema.entity(of: view, id: id)
    guard let plan = context.book.plan(entity.code) else { throw source.schema.corrupted(id, .wrongLayout) }
    let name = "\(entity.name)/\(id.serial)"
    let bridge = context.bridge.entity(entity)
    if reported.insert(entity.code).inserted {
      for error in bridge.errors { report(error.naming(object: name)) }
      for error in plan.errors { report(error.naming(object: name)) }
      if bridge.errors.isEmpty { reportUnlinked(bridge, name) }
    }
    tally.objects += 1
    tally.counts[Int(entity.code)] += 1
    guard bridge.errors.isEmpty else { return }
    let added = bridge.layout(view.layout).addedByteCount(to: view, replaced: plan.replacedCodes)
    tally.bytesWritten += UInt64(max(0, try attributes[0].recordByteCount(plan, view, id, source) + added) + 8)
    try checkAttributes(plan, view, id, name, source)
    try validate(bridge, plan, view, id, name, source)
    for (index, step) in plan.relationships.enumerated() {
      try check(step, bridge.relationships[index], id, view, plan, source, destination)
    }
    for constraint in bridge.destination.constraints {
      try check(constraint, bridge, id, view, plan, source, destination)
    }
    try countIndexEntries(bridge, id, view, plan, source, destination)
    for code in entity.referrerCodes where bridge.referrers[code] != nil {
      try source.forEachClonedReferrers(code, id, 0, attributes[0], context) { clones throws(StoreError) in
        tally.bytesWritten += UInt64(clones.count) * 8
      }
    }
    for field in view.layout.variableFields where view.isBlob(field) {
      let code = view.layout[field].propertyCode
      if plan.replacedCodes.contains(code) { continue }
      // What the destination derives is not taken over.
      guard let preset = entity.layout.fieldIndex(ofProperty: code), bridge.fields[preset] != nil else { continue }
      if let blob = view.blobReference(field) { count(blob) }
    }
  }

  private mutating func checkAttributes(
    _ plan: CloneRuleBook.EntityPlan, _ view: borrowing RecordView, _ id: ObjectID, _ name: String,
    _ source: borrowing Session
  ) throws {
    for index in plan.checkedAttributes {
      do {
        if case .blob(let blob) = try attributes[0].value(of: index, plan, view, id, source) { count(blob) }
        guard plan.rules[index].isExcluded, let composite = plan.entity.attributes[index].composite,
          try plan.entity.value(named: composite, in: view, id: id, schema: source.schema) != nil,
          let error = plan.entity.attributes[index].blankError(plan.entity)
        else { continue }
        report(error.naming(object: name))
      } catch let error as CloneError {
        report(error)
      }
    }
  }

  /// Checks the values of a clone against the destination's model, as the commit does for every clone: the source's
  /// model may allow more, and copied values may be older than its rules.
  private mutating func validate(
    _ bridge: EntityBridge, _ plan: CloneRuleBook.EntityPlan, _ view: borrowing RecordView, _ id: ObjectID,
    _ name: String, _ source: borrowing Session
  ) throws {
    let entity = bridge.destination
    guard entity.isValidated else { return }
    var present: Set<String> = []
    var broken: [(attribute: CompiledAttribute, text: String)] = []
    for (index, attribute) in entity.attributes.enumerated() where attribute.field != nil && !attribute.isDerived {
      guard attribute.isValidated || attribute.composite != nil else { continue }
      var value = attribute.description.defaultValue
      if let mine = bridge.attributes[index] {
        do {
          value = try attributes[0].value(of: mine, plan, view, id, source)
        } catch is CloneError {
          // Reported where the attribute's own rules are checked.
          continue
        }
        if value != nil, let composite = attribute.composite { present.insert(composite) }
      }
      guard attribute.isValidated, let (_, text) = attribute.brokenRule(value, &patterns) else { continue }
      broken.append((attribute, text))
    }
    for (attribute, text) in broken {
      if let composite = attribute.composite, !present.contains(composite) { continue }
      report(invalid(attribute.path, text, plan, name))
    }
    for (path, composite) in entity.composites where !composite.isOptional && !present.contains(path) {
      report(invalid(path, "is required, and every element is nil", plan, name))
    }
  }

  private func invalid(_ property: String, _ text: String, _ plan: CloneRuleBook.EntityPlan, _ name: String)
    -> CloneError
  {
    CloneError(
      .invalidValue, "\(property) of a clone of \(name)\(bridge.elsewhere) \(text); change it, or its clone rule",
      entity: plan.entity.name, property: property, object: name)
  }

  /// Refuses relationships that the destination's model requires and the source's does not have.
  private mutating func reportUnlinked(_ bridge: EntityBridge, _ name: String) {
    let known = Set(bridge.relationships.map(\.code))
    for relationship in bridge.destination.relationships where !known.contains(relationship.code) {
      guard relationship.isValidated, let (_, text) = relationship.brokenRule(0) else { continue }
      report(
        CloneError(
          .incompatibleModel,
          "\(relationship.name) of a clone of \(name)\(self.bridge.elsewhere) \(text), and the source store has no "
            + "relationship with that name (R35)",
          entity: bridge.source.name, property: relationship.name, object: name))
    }
  }

  /// A value is written once in the destination, however many sources have it; with `copy`, once per clone.
  private mutating func count(_ blob: BlobReference) {
    if context.book.options.blobs == .share, bridge.isWithinStore || !blobs.insert(blob.id) {
      tally.share(byteCount: blob.byteCount)
    } else {
      tally.bytesCopied = tally.bytesCopied.saturatingAdd(blob.byteCount)
    }
  }

  /// What was counted for one copy, for all of them.
  private mutating func multiplyTally() {
    guard context.book.options.blobs == .share, !bridge.isWithinStore else { return tally.multiply(by: context.copies) }
    // The first copy writes a shared value, and every further one refers to it.
    let (byteCount, count) = (tally.bytesCopied, blobs.count)
    tally.bytesShared = tally.bytesShared.saturatingAdd(byteCount)
    tally.blobsShared += count
    tally.multiply(by: context.copies)
    tally.bytesShared -= byteCount
    tally.blobsShared -= count
    tally.bytesCopied = byteCount
  }

  /// The links of one relationship: where they lead in the destination, and what remains of them (R13, R14).
  private mutating func check(
    _ step: CloneRuleBook.RelationshipPlan, _ relationship: CompiledRelationship, _ id: ObjectID,
    _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan, _ source: borrowing Session,
    _ destination: borrowing Session
  ) throws {
    let name = "\(plan.entity.name)/\(id.serial)"
    var links = 0
    var members = 0
    var lost: String?
    var matches: Set<ObjectID> = []
    try source.forEachMember(id, step.relationship, in: view, plan.entity) { (target) throws(StoreError) in
      members += 1
      switch try context.link(step, id, target, attributes[0], source) {
      case .clone: links += 1
      case .none:
        let decision = context.mark.rootSet.contains(id) ? step.rootDecision : step.decision
        let hook = context.book.options.willClone == nil ? "" : ", or the result of willClone (R30)"
        lost = decision.reason + hook
      case .outside:
        guard let match = try matcher.match(target, relationship, source, destination) else {
          if let error = try matcher.refusal(of: target, relationship, linkedFrom: name, source) {
            if unmatched.insert(target).inserted { report(error) }
            links += 1
          } else {
            if lost == nil { lost = try matcher.reason(for: target, source) }
          }
          return !isFull
        }
        // Two objects may be one in the destination, where they were found by different constraints.
        guard matches.insert(match).inserted else { return true }
        links += 1
        try noteGain(of: match, relationship, name, destination)
      }
      return true
    }
    if let field = plan.entity.field(step.relationship.field, code: step.relationship.code, in: view),
      relationship.isToMany
    {
      if links > FormatLimits.inlineIDLimit || view.head(field).isChunked {
        tally.bytesWritten += UInt64(links) * 8
      } else {
        // The source's record has them all.
        tally.bytesWritten -= UInt64(members - links) * 8
      }
    }
    if let lost, let (_, text) = relationship.brokenRule(links) {
      report(
        CloneError(
          .requiredRelationshipExcluded,
          "\(relationship.name) of a clone of \(name) \(text), because it is \(lost) (R14)", entity: plan.entity.name,
          property: relationship.name, object: name))
    } else if lost == nil, relationship.isValidated, let (_, text) = relationship.brokenRule(links) {
      report(invalid(relationship.name, text, plan, name))
    }
  }

  private mutating func noteGain(
    of target: ObjectID, _ relationship: CompiledRelationship, _ name: String, _ destination: borrowing Session
  ) throws(StoreError) {
    tally.bytesWritten += 8
    guard relationship.hasInverse else { return }
    _ = tally.touched.insert(target)
    guard let inverse = try destination.entity(of: target).inverse(of: relationship),
      !inverse.isToMany || inverse.description.maxCount > 0
    else { return }
    gains[GainKey(target: target, code: inverse.code), default: Gain(source: name)].count += 1
  }

  private mutating func checkGains(_ destination: borrowing Session) throws(StoreError) {
    for (key, gain) in gains.sorted(by: { ($0.key.target, $0.key.code) < ($1.key.target, $1.key.code) }) {
      let entity = try destination.entity(of: key.target)
      let relationship = try entity.relationship(code: key.code, key.target, destination.schema)
      let count = try destination.count(key.target, relationship.name)
      let (sum, overflow) = gain.count.multipliedReportingOverflow(by: context.copies)
      let name = "\(entity.name)/\(key.target.serial)"
      let total = overflow ? Int.max : sum
      if !relationship.isToMany, count + total > 1 {
        report(
          CloneError(
            .inverseTaken,
            "\(relationship.name) of \(name)\(bridge.elsewhere) can have one object, and "
              + (count > 0 ? "has one already" : "\(total) clones link to it")
              + ", as the clone of \(gain.source) does (R13); exclude the relationship", entity: entity.name,
            property: relationship.name, object: name))
      } else if relationship.isToMany, total > relationship.description.maxCount - count {
        report(
          CloneError(
            .maxCountExceeded,
            "\(relationship.name) of \(name)\(bridge.elsewhere) has \(count) members and would gain \(total), more "
              + "than its maximum of \(relationship.description.maxCount) (R13)", entity: entity.name,
            property: relationship.name, object: name))
      }
    }
  }
}
