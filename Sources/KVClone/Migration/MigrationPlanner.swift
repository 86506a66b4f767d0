package import KVCloneCore
package import KVCloneModel
import KVCloneRecords

/// Plans a migration from the models and the numbers of objects of the affected entities.
struct MigrationPlanner {
  /// The work of a step, without numbers.
  struct Work {
    let step: MigrationStep
    /// The handlers before and after it.
    let stage: CustomMigrationStage?
    /// Whether handlers or mapping models precede the step: the state of objects at that point is not known in advance.
    let isUnforeseeable: Bool
    let difference: ModelDifference
    let refused: Set<UInt16>
    let rewritten: Set<UInt16>
    let moved: Set<UInt16>
    let removed: Set<UInt16>
    /// The number of created indexes for each entity's objects.
    let indexed: [UInt16: Int]
    /// Whether the work concerns single records only, so that the next step's can be done in the same pass.
    let isAboutRecords: Bool
    /// Whether the set of derived attributes or their expressions change: formerly derived values may become plain
    /// ones, so the step starts with the values of the previous version.
    let changesDerivations: Bool
    let schema: Schema

    var concerned: Set<UInt16> { refused.union(rewritten).union(moved).union(removed).union(indexed.keys) }

    /// - Parameters:
    ///   - source: the version before the step.
    ///   - versions: other versions of the model, through which renaming identifiers are followed.
    init(
      _ step: MigrationStep, _ stage: CustomMigrationStage?, from source: Schema, isUnforeseeable: Bool,
      through versions: [ManagedObjectModel]
    ) throws(StoreError) {
      self.step = step
      self.stage = stage
      self.isUnforeseeable = isUnforeseeable
      difference = ModelDifference(from: step.old.model, to: step.new.model, through: versions)
      schema = try Schema(step.new, tables: SchemaTables(rootCodes: step.new.allRootCodes))
      changesDerivations = schema.derivations.fingerprint != source.derivations.fingerprint
      var isAboutRecords = step.mapping == nil && LostLists(from: source, to: schema).isEmpty
      let indexes = step.new.codes.indexIDs.subtracting(step.old.codes.indexIDs)
      var rewritten: Set<UInt16> = []
      var indexed: [UInt16: Int] = [:]
      for entity in schema.entities where !entity.isAbstract && step.matching.entities[entity.name] != nil {
        let migration = RecordMigration(entity, step.matching, old: step.old.codes)
        if !migration.isNothing { rewritten.insert(entity.code) }
        if !migration.isAboutRecords { isAboutRecords = false }
        let made =
          entity.constraints.filter { indexes.contains($0.indexID) }.count
          + entity.fetchIndexes.filter { indexes.contains($0.indexID) }.count
        if made > 0 { indexed[entity.code] = made }
      }
      self.rewritten = rewritten
      self.indexed = indexed
      self.isAboutRecords = isAboutRecords
      refused = Set(difference.refusals.flatMap { Self.codes(below: $0.entity, step) })
      removed = step.removedEntities
      moved = Set(step.moves.map(\.entity))
    }

    /// Whether the work on records can be combined with that of the previous step: nothing reads objects between them.
    func goesOn(after previous: Work) -> Bool {
      previous.isAboutRecords && !changesDerivations && previous.stage?.didMigrateHandler == nil
        && stage?.willMigrateHandler == nil && step.mapping == nil && removed.isEmpty && moved.isEmpty
        && !(isUnforeseeable && !difference.refusals.isEmpty)
    }

    /// Whether the step changes neither objects nor rules that objects must satisfy, so that it applies to branches
    /// without reading them.
    var keepsBranches: Bool {
      let rules: Set = [
        "unique", "inverse", "destination", "delete rule", "derivation", "parent", "abstract", "ordered",
      ]
      return step.mapping == nil && stage?.willMigrateHandler == nil && stage?.didMigrateHandler == nil
        && isAboutRecords && !changesDerivations && refused.isEmpty && rewritten.isEmpty && moved.isEmpty
        && removed.isEmpty
        && difference.changes.allSatisfy { change in
          [.none, .metadata, .index].contains(change.work) && !rules.contains(change.aspect ?? "")
        }
    }

    /// Whether a difference affects objects of an entity of the destination.
    func concerns(_ change: ModelDifference.Change, _ entity: EntityDescription) -> Bool {
      if change.aspect == "abstract" { return entity.name == change.entity }
      guard step.new.model.entity(entity.name, isKindOf: change.entity) else { return false }
      guard change.kind == .added, let property = change.property?.split(separator: ".").first else { return true }
      // A property that is new to an ancestor may exist in the entity itself. A missing element of a composite was
      // added to it.
      return change.property != String(property) || !step.matching.isStored(String(property), in: entity.name)
    }

    /// The codes of an entity of the destination and its descendants.
    static func codes(below entity: String, _ step: MigrationStep) -> [UInt16] {
      ([entity] + step.new.model.subentities(of: entity)).compactMap { step.new.codes.entities[$0] }
    }
  }

  /// The size of an object besides its record: its key, and its share of unused space in pages.
  private static let objectByteCount: UInt64 = 64

  let options: MigrationOptions
  let works: [Work]
  /// Stages and mapping models that are not on the path.
  private let unused: [MigrationPlan.Unused]

  init(from catalog: StoreCatalog, to model: ManagedObjectModel, _ options: MigrationOptions) throws(StoreError) {
    self.options = options
    let path = try MigrationPath(from: catalog.model, to: model, options)
    var works: [Work] = []
    var current = catalog
    var schema = try Schema(catalog, tables: SchemaTables(rootCodes: catalog.allRootCodes))
    var isUnforeseeable = false
    for leg in path.legs {
      let mapping = leg.mapping
      if let stage = leg.lightweight {
        try Self.requireInferable(current.model, leg.model, mapping, stage, options.versions)
      }
      let step = try MigrationStep(from: current, to: leg.model, by: mapping, through: options.versions)
      if leg.stage?.willMigrateHandler != nil { isUnforeseeable = true }
      let work = try Work(
        step, leg.stage, from: schema, isUnforeseeable: isUnforeseeable, through: options.versions)
      schema = work.schema
      works.append(work)
      if leg.stage?.didMigrateHandler != nil || mapping != nil { isUnforeseeable = true }
      current = step.new
    }
    self.works = works
    unused = path.unused
  }

  /// Rejects a step of a lightweight stage that cannot be inferred.
  private static func requireInferable(
    _ source: ManagedObjectModel, _ destination: ManagedObjectModel, _ mapping: MappingModel?,
    _ stage: LightweightMigrationStage, _ versions: [ManagedObjectModel]
  ) throws(StoreError) {
    let place =
      "the step from \(source.versionIdentifier) to \(destination.versionIdentifier) of the lightweight stage \(stage.label)"
    if let refusal = ModelDifference(from: source, to: destination, through: versions).refusals.first {
      throw StoreError(
        .invalidStage,
        "\(place) cannot be inferred: \(refusal) (\(refusal.work.reason ?? "")); use a custom stage for it, or add an "
          + "intermediate version", entity: refusal.entity, property: refusal.property)
    }
    if let mapping {
      throw StoreError(
        .invalidStage,
        "\(place) is covered by the mapping model\(mapping.name.map { " \($0)" } ?? ""); remove the mapping model, or "
          + "the stage"
      )
    }
  }

  var isEmpty: Bool { works.isEmpty }
  var stepCount: Int { works.count }

  /// The work, with steps combined if nothing reads objects between them.
  var strides: [MigrationStride] {
    var strides: [MigrationStride] = []
    for (index, work) in works.enumerated() {
      if index > 0, work.goesOn(after: works[index - 1]) {
        strides[strides.count - 1].add(work.step, work.stage)
      } else {
        strides.append(MigrationStride(index, work.step, work.stage))
      }
    }
    return strides
  }

  /// The versions of the store after each.
  var versions: [String] { works.map(\.step.new.model.versionIdentifier) }
  /// The custom stages' labels.
  var stages: [String] { works.compactMap { $0.stage?.label } }

  /// Returns the plan. Takes time for the objects of affected tables, and none if there are no such objects.
  ///
  /// - Parameter session: a session with the store's version.
  func plan(_ session: borrowing Session) throws(StoreError) -> MigrationPlan {
    var concerned: Set<UInt16> = []
    for work in works { concerned.formUnion(work.concerned) }
    let tally = try EntityTally(session, concerned)
    let steps = try works.indices.map { (index) throws(StoreError) in
      try annotated(try plan(index, tally, session), index, tally.counts)
    }
    return MigrationPlan(steps: steps, unused: unused)
  }

  /// The differences that make a step impossible: those that affect objects.
  ///
  /// - Parameter isNow: whether the session has the version before the step instead of the store's first one.
  private func refusals(
    _ index: Int, _ tally: EntityTally, _ session: borrowing Session, isNow: Bool
  ) throws(StoreError) -> [ModelDifference.Change] {
    let work = works[index]
    var refusals: [ModelDifference.Change] = []
    for refusal in work.difference.refusals {
      if refusal.isAboutMissingValues, work.isUnforeseeable, !isNow { continue }
      for entity in work.step.new.model.entities {
        guard work.concerns(refusal, entity), let code = work.step.new.codes.entities[entity.name],
          tally.counts[code] ?? 0 > 0
        else { continue }
        if refusal.isAboutMissingValues, let path = refusal.property {
          let steps = works[(isNow ? index : 0)...index].map(\.step)
          guard try isMissing(PropertyOrigin(of: path, in: entity.name, after: steps), session) else { continue }
        }
        refusals.append(refusal)
        break
      }
    }
    return refusals
  }

  private func isMissing(_ origin: PropertyOrigin, _ session: borrowing Session) throws(StoreError) -> Bool {
    switch origin {
    case .everybody: return false
    case .nobody: return true
    case .stored(let entity, let path): return try ObjectSearch.first(session, of: entity, without: path) != nil
    }
  }

  private func plan(_ index: Int, _ tally: EntityTally, _ session: borrowing Session) throws(StoreError)
    -> MigrationPlan.Step
  {
    let work = works[index]
    if let mapping = work.step.mapping { return plan(work, mapping, tally) }
    let refusals = try refusals(index, tally, session, isNow: false)
    func count(_ codes: Set<UInt16>) -> Int { codes.reduce(0) { $0 + (tally.counts[$1] ?? 0) } }
    func bytes(_ codes: Set<UInt16>) -> UInt64 {
      codes.reduce(0) { $0 + (tally.byteCounts[$1] ?? 0) + UInt64(tally.counts[$1] ?? 0) * Self.objectByteCount }
    }
    let indexed = work.indexed.reduce(0) { $0 + $1.value * (tally.counts[$1.key] ?? 0) }
    // A record that is rewritten for this step and a later one of its stride is written once, and counted there.
    var later: Set<UInt16> = []
    var next = index + 1
    while next < works.count, works[next].goesOn(after: works[next - 1]) {
      later.formUnion(works[next].rewritten)
      next += 1
    }
    let touched = work.rewritten.subtracting(later).union(work.moved).union(work.removed)
    let kind: MigrationPlan.Step.Kind =
      if !refusals.isEmpty {
        .refused
      } else if count(touched.union(work.rewritten)) > 0 {
        .objects
      } else if indexed > 0 {
        .indexes
      } else {
        .metadata
      }
    let copies: UInt64 = options.takesSnapshot ? 2 : 1
    return MigrationPlan.Step(
      from: work.step.old.model.versionIdentifier, to: work.step.new.model.versionIdentifier, kind: kind,
      stage: work.stage?.label, changes: work.difference.changes, refusals: refusals,
      rewrittenCount: count(work.rewritten), joinedCount: count(work.rewritten.intersection(later)),
      movedCount: count(work.moved), deletedCount: count(work.removed),
      byteCount: bytes(touched) * copies + UInt64(indexed) * Self.objectByteCount,
      mappingSkeleton: refusals.isEmpty
        ? nil
        : MappingModel.skeleton(from: work.step.old.model, to: work.step.new.model, through: options.versions))
  }
}

/// The number of objects of some entities, and the size of their records.
private struct EntityTally {
  private(set) var counts: [UInt16: Int] = [:]
  private(set) var byteCounts: [UInt16: UInt64] = [:]

  /// - Parameter codes: codes of entities; those that the store does not know yet have no objects.
  init(_ session: borrowing Session, _ codes: Set<UInt16>) throws(StoreError) {
    let schema = session.schema
    for rootCode in Set(codes.compactMap { schema.entity(code: $0)?.rootCode }).sorted() {
      guard let table = schema.objectTable(rootCode: rootCode) else { continue }
      var counts: [UInt16: Int] = [:]
      var byteCounts: [UInt16: UInt64] = [:]
      let key = ShortKey.object(ObjectID(rootCode: rootCode, serial: 0))
      try session.storage.scanToEnd(of: table, from: key.bytes) { (key, value) throws(StoreError) in
        do throws(RecordError) {
          let code = try RecordView.entityCode(of: copy value)
          counts[code, default: 0] += 1
          byteCounts[code, default: 0] += UInt64(value.byteCount)
        } catch {
          throw schema.corrupted(try schema.objectID(key), error)
        }
        return true
      }
      self.counts.merge(counts) { $0 + $1 }
      self.byteCounts.merge(byteCounts) { $0 + $1 }
    }
  }
}

extension MigrationPlanner {
  /// The plan of a step with a mapping model: every object that it reads is written again.
  private func plan(_ work: Work, _ mapping: MappingModel, _ tally: EntityTally) -> MigrationPlan.Step {
    let read = mapping.entityMappings.filter { $0.destinationEntityName != nil }.compactMap(\.sourceEntityName)
      .compactMap { work.step.old.codes.entities[$0] }
    let left = Set(work.removed).subtracting(read)
    return MigrationPlan.Step(
      from: work.step.old.model.versionIdentifier, to: work.step.new.model.versionIdentifier, kind: .mapping,
      stage: work.stage?.label, changes: work.difference.changes, refusals: [],
      rewrittenCount: read.reduce(0) { $0 + (tally.counts[$1] ?? 0) }, joinedCount: 0, movedCount: 0,
      deletedCount: left.reduce(0) { $0 + (tally.counts[$1] ?? 0) },
      byteCount: read.reduce(0) {
        $0 + (tally.byteCounts[$1] ?? 0) + UInt64(tally.counts[$1] ?? 0) * Self.objectByteCount
      }, mappingSkeleton: nil)
  }
}

extension MigrationPlanner {
  /// Checks a step after handlers or mapping models, which could not be planned completely.
  ///
  /// - Parameter session: a session with the version before the step.
  /// - Throws: `mappingRequired`, with an object that lacks a required value.
  func requirePossible(_ index: Int, _ session: borrowing Session) throws(StoreError) {
    let work = works[index]
    guard work.isUnforeseeable, work.step.mapping == nil, !work.difference.refusals.isEmpty else { return }
    let refusals = try refusals(index, EntityTally(session, work.refused), session, isNow: true)
    guard let first = refusals.first else { return }
    let version = work.step.new.model.versionIdentifier
    for refusal in refusals where refusal.isAboutMissingValues {
      guard let path = refusal.property else { continue }
      for entity in work.step.new.model.entities where work.concerns(refusal, entity) {
        guard case .stored(let earlier, let former) = PropertyOrigin(of: path, in: entity.name, after: [work.step]),
          let id = try ObjectSearch.first(session, of: earlier, without: former)
        else { continue }
        throw StoreError(
          .mappingRequired,
          "\(former) of \(earlier)/\(id.serial) is nil or empty, but required in the version \(version); set it in an "
            + "earlier handler, or delete the object there", entity: entity.name, property: path,
          object: "\(earlier)/\(id.serial)")
      }
    }
    throw StoreError(
      .mappingRequired, "the version \(version) cannot be inferred: \(first) (\(first.work.reason ?? ""))",
      entity: first.entity, property: first.property)
  }
}

extension MigrationPlan {
  /// - Throws: `mappingRequired`.
  func requirePossible() throws(StoreError) {
    guard let step = steps.first(where: { !$0.refusals.isEmpty }), let first = step.refusals.first else { return }
    let reasons = step.refusals.prefix(20).map { "\($0.description) (\($0.work.reason ?? ""))" }
    let more = step.refusals.count > 20 ? "; and \(step.refusals.count - 20) more" : ""
    throw step.error(for: first, reasons.joined(separator: "; ") + more)
  }
}

extension MigrationPlan.Step {
  /// The error for a difference that cannot be inferred.
  ///
  /// - Parameter reasons: the text of several differences; nil for that of this one.
  func error(for refusal: ModelDifference.Change, _ reasons: String? = nil) -> StoreError {
    let text = reasons ?? "\(refusal.description) (\(refusal.work.reason ?? ""))"
    return StoreError(
      .mappingRequired, "no migration from \(from) to \(to) can be inferred: \(text)", entity: refusal.entity,
      property: refusal.property)
  }
}

/// The parts of a step's plan besides its numbers: unmatched renaming identifiers, removals, and an alternative to a
/// refused step.
extension MigrationPlanner {
  /// - Parameters:
  ///   - index: the step's number.
  ///   - counts: the numbers of objects by entity code.
  /// - Throws: `invalidMapping` if objects need an unsupported expression.
  func annotated(
    _ step: MigrationPlan.Step, _ index: Int, _ counts: [UInt16: Int]
  ) throws(StoreError) -> MigrationPlan.Step {
    let work = works[index]
    let codes = work.step.old.codes.entities
    if let mapping = work.step.mapping {
      try mapping.requireComputable { name in codes[name].flatMap { counts[$0] } ?? 0 > 0 }
      var step = step
      step.removals = removals(of: work.step.old.model, codes, counts, leaving: mapping)
      return step
    }
    var step = step
    step.warnings = work.difference.warnings
    step.removals = removals(of: work.step, counts)
    if !step.refusals.isEmpty {
      step.chain = MigrationPlan.Chain(
        from: work.step.old.model, to: work.step.new.model, through: options.versions)
    }
    return step
  }

  /// The entities with objects that no entity mapping reads: these are deleted, with all links to them.
  private func removals(
    of model: ManagedObjectModel, _ codes: [String: UInt16], _ counts: [UInt16: Int], leaving mapping: MappingModel
  ) -> [MigrationPlan.Removal] {
    let read = Set(
      mapping.entityMappings.filter { $0.destinationEntityName != nil || $0.entityMigrationPolicyClassName != nil }
        .compactMap(\.sourceEntityName))
    return model.entities.compactMap { entity in
      guard !entity.isAbstract, !read.contains(entity.name),
        let count = codes[entity.name].flatMap({ counts[$0] }), count > 0
      else { return nil }
      return MigrationPlan.Removal(entity: entity.name, objectCount: count, links: [])
    }
  }

  private func removals(of step: MigrationStep, _ counts: [UInt16: Int]) -> [MigrationPlan.Removal] {
    let model = step.old.model
    func isKept(_ entity: String) -> Bool { step.matching.laterEntities[entity] != nil }
    let remaining = model.entities.filter { isKept($0.name) || model.subentities(of: $0.name).contains(where: isKept) }
    return model.entities.filter { !$0.isAbstract && !isKept($0.name) }.map { entity in
      let links = remaining.flatMap { owner in
        owner.relationships.filter { !$0.isTransient && model.entity(entity.name, isKindOf: $0.destinationEntityName) }
          .map { "\(owner.name).\($0.name)" }
      }
      let count = step.old.codes.entities[entity.name].flatMap { counts[$0] } ?? 0
      return MigrationPlan.Removal(entity: entity.name, objectCount: count, links: links)
    }
  }
}

extension MigrationPlan.Chain {
  /// The shortest chain of versions with an inferable step between any two, regardless of the store's content; nil if
  /// none exists.
  init?(from source: ManagedObjectModel, to destination: ManagedObjectModel, through versions: [ManagedObjectModel]) {
    var open: [ManagedObjectModel] = []
    var known: Set<ModelHash> = [source.modelHash, destination.modelHash]
    for version in versions where known.insert(version.modelHash).inserted { open.append(version) }
    var waiting: [[ManagedObjectModel]] = [[source]]
    while !waiting.isEmpty {
      for chain in waiting where chain.count > 1 {
        guard let last = chain.last, ModelDifference(from: last, to: destination).refusals.isEmpty else { continue }
        self.init(chain + [destination])
        return
      }
      var longer: [[ManagedObjectModel]] = []
      for chain in waiting {
        guard let last = chain.last else { continue }
        let reached = open.filter { ModelDifference(from: last, to: $0).refusals.isEmpty }
        let hashes = Set(reached.map(\.modelHash))
        open.removeAll { hashes.contains($0.modelHash) }
        longer += reached.map { chain + [$0] }
      }
      waiting = longer
    }
    return nil
  }

  private init(_ models: [ManagedObjectModel]) {
    versions = models.map(\.versionIdentifier)
    losses = zip(models, models.dropFirst()).flatMap { source, destination in
      ModelDifference(from: source, to: destination).changes.filter { $0.kind == .removed }.map {
        Loss(version: destination.versionIdentifier, entity: $0.entity, property: $0.property)
      }
    }
  }
}

extension MigrationPlan {
  /// Returns what a migration would do, from the models and the numbers of objects.
  ///
  /// Unlike ``ObjectStore/planMigration(at:to:migration:options:progress:cancellation:)``, it runs nothing: conflicting
  /// content of objects, which that finds, is no error here, and numbers are estimates. It takes time for the objects
  /// of changed entities.
  ///
  /// - Throws: `invalidModel`, `invalidMapping`, `invalidStage`, `corrupted`.
  package static func estimate<Reader: ObjectReading & ~Copyable>(
    to model: ManagedObjectModel, _ options: MigrationOptions = MigrationOptions(), in transaction: borrowing Reader
  ) throws(StoreError) -> MigrationPlan {
    try transaction._withSession { (session) throws(StoreError) in
      let catalog = try StoreCatalog(session.storage, session.schema.tables.metadata)
      return try MigrationPlanner(from: catalog, to: model, options).plan(session)
    }
  }
}
