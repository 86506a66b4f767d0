import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A step of a migration: from one version of the model to the next, in a transaction that other steps share.
struct MigrationStep {
  let matching: ModelMatching
  let old: StoreCatalog
  let new: StoreCatalog
  /// What makes the objects of the destination, resolved; nil where it is inferred what becomes of them.
  let mapping: MappingModel?

  /// - Parameter versions: other versions of the model, through which renaming identifiers are followed.
  init(
    from old: StoreCatalog, to model: ManagedObjectModel, by mapping: MappingModel? = nil,
    through versions: [ManagedObjectModel] = []
  ) throws(StoreError) {
    matching =
      mapping == nil
      ? ModelMatching(from: old.model, to: model, through: versions)
      : ModelMatching(unrelated: old.model, to: model)
    self.old = old
    self.mapping = mapping
    new = try old.migrated(matching)
  }

  /// Codes of the concrete entities that the destination has not.
  var removedEntities: Set<UInt16> {
    Set(
      old.model.entities.filter { !$0.isAbstract && matching.laterEntities[$0.name] == nil }
        .compactMap { old.codes.entities[$0.name] })
  }

  /// Root codes of tables whose entities are all gone: they are kept for snapshots as they are. Where one of them goes on, under
  /// another root or as one, others may be linked to those that go.
  func isRetired(rootCode: UInt16) -> Bool {
    !new.rootCodes.contains(rootCode)
      && old.model.entities.allSatisfy { entity in
        matching.laterEntities[entity.name] == nil
          || old.model.rootEntity(of: entity.name).flatMap { old.codes.entities[$0] } != rootCode
      }
  }

  /// Concrete entities that come under another root: their code, and the old and the new root's.
  var moves: [(entity: UInt16, from: UInt16, to: UInt16)] {
    matching.entities.compactMap { later, earlier in
      guard let code = old.codes.entities[earlier], old.model.entity(named: earlier)?.isAbstract == false,
        let from = old.model.rootEntity(of: earlier).flatMap({ old.codes.entities[$0] }),
        let to = matching.destination.rootEntity(of: later).flatMap({ new.codes.entities[$0] }), from != to
      else { return nil }
      return (code, from, to)
    }.sorted { $0.entity < $1.entity }
  }
}

/// What a step did.
struct MigrationTally: Equatable {
  var deletedCount = 0
  var movedCount = 0
  var rewrittenCount = 0
  /// Objects that mapping models have made.
  var createdCount = 0
  /// Bytes of keys and values that were written, those kept for snapshots included.
  var byteCount: UInt64 = 0
  /// The snapshot that was made first.
  var snapshot: String?
}

/// Steps that are done together: each but the first deletes and moves no objects, and each but the last asks for nothing but that
/// records have other values. So a record is rewritten once, whatever the number of versions.
struct MigrationStride {
  /// The number of the first step.
  let first: Int
  private(set) var steps: [MigrationStep]
  /// The stages whose handlers come before the first step and after the last.
  let stageBefore: CustomMigrationStage?
  private(set) var stageAfter: CustomMigrationStage?

  init(_ first: Int, _ step: MigrationStep, _ stage: CustomMigrationStage?) {
    self.first = first
    steps = [step]
    (stageBefore, stageAfter) = (stage, stage)
  }

  mutating func add(_ step: MigrationStep, _ stage: CustomMigrationStage?) {
    steps.append(step)
    stageAfter = stage
  }

  /// What makes the objects of the destination; steps that have one are alone.
  var mapping: MappingModel? { steps[0].mapping }
}

extension Session {
  /// Does some steps; the session that goes on by the last version of the model.
  consuming func migrating(
    by stride: MigrationStride, _ policies: [String: any EntityMigrationPolicy], _ run: MigrationRun,
    _ tally: inout MigrationTally
  ) throws(StoreError) -> Session {
    let source = schema
    let before = tally
    let first = stride.steps[0]
    if stride.mapping == nil { tally.deletedCount += try deleteObjects(removedBy: first, run) }
    tally.movedCount += try moveObjects(by: first, run)
    forgetChanges()
    var session = self
    var previous = source
    var standing = first.old.codes.indexIDs
    var chains: [UInt16: [RecordMigration]] = [:]
    for (index, step) in stride.steps.enumerated() {
      run.begin(step: stride.first + index)
      previous = session.schema
      session = try session.advanced(to: step)
      standing.formIntersection(step.new.codes.indexIDs)
      for entity in session.schema.entities where !entity.isAbstract && step.matching.entities[entity.name] != nil {
        let migration = RecordMigration(entity, step.matching, old: step.old.codes)
        if !migration.isNothing { chains[entity.code, default: []].append(migration) }
      }
    }
    let roots = Set(chains.values.compactMap { $0.last?.entity.rootCode }).sorted()
    let rewritten = chains.filter { $0.value.contains { !$0.steps.isEmpty } }.mapValues { RecordChain($0) }
    if !rewritten.isEmpty {
      try run.begin(.rewrite)
      for root in roots { tally.rewrittenCount += try session.migrateRecords(rootCode: root, rewritten, run) }
    }
    // Only the last has any.
    let oneSided = chains.compactMapValues { $0.last?.oneSided }.filter { !$0.value.isEmpty }
    if !oneSided.isEmpty {
      try run.begin(.link)
      for root in roots { try session.buildOtherSides(rootCode: root, oneSided, run) }
    }
    if stride.mapping == nil { try session.sweepLists(LostLists(from: previous, to: session.schema), run) }
    let made = (stride.steps.last?.new.codes.indexIDs ?? []).subtracting(standing)
    if !made.isEmpty {
      try run.begin(.index)
      try session.buildIndexes(made) { (count) throws(StoreError) in try run.advance(by: count) }
    }
    if let mapping = stride.mapping {
      session = try session.mapped(by: mapping, from: source, policies, run, &tally)
    }
    // What they are made of may be gone, or have other values, with the same expressions.
    let isOther = !oneSided.isEmpty || tally != before || !session.schema.derivations.isSame(as: source.derivations)
    let isRebuilt = try session.rebuildDerived(sourcesHaveChanged: isOther)
    session.forgetChanges()
    try session.requireUnique(made, withDerived: isRebuilt, run)
    return session
  }

  /// Goes on by the version that a step leads to: it is written down, and the indexes that it has not are dropped.
  private consuming func advanced(to step: MigrationStep) throws(StoreError) -> Session {
    guard let number = UInt16(exactly: step.new.number) else {
      throw StoreError(.limitExceeded, "a store can record at most 65,535 versions of its model")
    }
    var session = try reopened(by: step)
    try session.writeCatalog(step.new, number, after: step.old)
    try session.keepOldNames()
    try session.resumeRecording()
    let dropped = step.old.codes.indexIDs.subtracting(step.new.codes.indexIDs)
    session.storage.recorder?.drop(indexes: dropped)
    for id in dropped.sorted() { try session.dropIndex(id) }
    return session
  }

  /// The same transaction by the schema of the new version, with tables for entities that are new at the top.
  private consuming func reopened(by step: MigrationStep) throws(StoreError) -> Session {
    let old = schema
    let missing = step.new.allRootCodes.filter { old.tables.objects[$0] == nil }
    let made = missing.isEmpty ? [] : try storage.makeTables(missing.map { TableCode.objects(rootCode: $0) })
    var tables = old.tables
    for (root, table) in zip(missing, made) { tables.objects[root] = table }
    let schema = try Schema(
      step.new, tables: tables, transformers: old.transformers, formerCatalogs: old.formerCatalogs)
    let (serials, blob) = (changes.nextSerials, changes.nextBlobSerial)
    let (commit, context) = (commit, context)
    var session = context.session(takeStorage(), schema, commit: commit)
    session.changes.nextSerials = serials
    session.changes.nextBlobSerial = blob
    session.changes.isEmpty = false
    return session
  }

  /// Has new objects of entities whose names others had before, under another root, get serials that those never had: so an old
  /// name is never another object's.
  private mutating func keepOldNames() throws(StoreError) {
    for number in 1..<schema.catalogNumber {
      let then = try schema.formerCatalogs.catalog(number, storage, schema.tables.metadata)
      for entity in schema.entities {
        guard let root = then.model.rootEntity(of: entity.name).flatMap({ then.codes.entities[$0] }),
          root != entity.rootCode
        else { continue }
        let first = try nextSerial(rootCode: root)
        if first > (try nextSerial(rootCode: entity.rootCode)) { changes.nextSerials[entity.rootCode] = first }
      }
    }
  }

  /// What is saved for snapshots from here on knows of the lists that the new version has.
  private mutating func resumeRecording() throws(StoreError) {
    guard storage.recorder != nil else { return }
    try beginEpoch(try Snapshots.youngest(storage, schema.tables))
  }

  // MARK: Deleting

  /// Deletes the objects of entities that are gone; how many there were.
  ///
  /// Those of a root entity are in tables that nobody reads any more. They are left where they are for as long as a snapshot
  /// shows them; the others are in tables that go on, and others may be linked to them.
  private mutating func deleteObjects(removedBy step: MigrationStep, _ run: MigrationRun) throws(StoreError) -> Int {
    let removed = step.removedEntities
    if removed.isEmpty { return 0 }
    try run.begin(.delete)
    var count = 0
    for rootCode in schema.rootCodes {
      let isRetired = step.isRetired(rootCode: rootCode)
      try forEachBatch(rootCode: rootCode, { removed.contains($0) }) { (session, batch) throws(StoreError) in
        count += batch.count
        if !isRetired {
          _ = try session.deleteAll(ObjectSet(batch.map(\.id)))
          session.forgetChanges()
        }
        try run.advance(by: batch.count)
      }
    }
    return count
  }

  // MARK: Constraints

  /// Looks for objects with the same values in indexes of constraints that were just made.
  ///
  /// - Parameter withDerived: also in those of derived attributes, which were computed anew.
  private borrowing func requireUnique(_ made: Set<UInt16>, withDerived: Bool, _ run: MigrationRun)
    throws(StoreError)
  {
    var done: Set<UInt16> = []
    for entity in schema.entities {
      for constraint in entity.constraints {
        let isNew =
          made.contains(constraint.indexID)
          || withDerived && constraint.columns.contains { entity.isDerived($0) }
        if isNew, done.insert(constraint.indexID).inserted { try requireUnique(constraint, run) }
      }
    }
  }

  private borrowing func requireUnique(_ constraint: CompiledConstraint, _ run: MigrationRun) throws(StoreError) {
    let prefix = IndexKey.prefix(indexID: constraint.indexID)
    var last: [UInt8] = []
    var suspects: [ObjectID] = []
    var next: [UInt8]? = prefix
    // Some at a time: long texts are cut off in an index, so the same key need not be the same value.
    while let start = next {
      suspects.removeAll(keepingCapacity: true)
      next = nil
      try storage.scan(schema.tables.indexes, from: start.span.bytes, within: prefix.span.bytes) {
        (key, _) throws(StoreError) in
        guard key.withUnsafeBytes({ $0.starts(with: prefix) }) else { return false }
        if suspects.count == 100 {
          next = key.withUnsafeBytes { Array($0) }
          return false
        }
        do throws(RecordError) {
          let values = try IndexKey.values(of: copy key)
          if values.isEqual(to: last) {
            suspects.append(try IndexKey.objectID(of: copy key))
          } else {
            last = values.withUnsafeBytes { Array($0) }
          }
        } catch {
          throw StoreError(.corrupted, "an index has a malformed key; run `check` to see the extent")
        }
        return true
      }
      for id in suspects { try requireUnique(constraint, id, run) }
    }
  }

  private borrowing func requireUnique(_ constraint: CompiledConstraint, _ id: ObjectID, _ run: MigrationRun)
    throws(StoreError)
  {
    let view = try existingRecord(id)
    let entity = try schema.entity(of: view, id: id)
    guard let other = try conflict(constraint, entity, view, id) else { return }
    try run.refuse(
      StoreError(
        .notUnique,
        "\(constraint.name) of \(entity.name)/\(id.serial) must be unique in the new version of the model, and "
          + "\(try name(of: other)) has the same values; change one of them first",
        entity: entity.name, property: constraint.name, object: "\(entity.name)/\(id.serial)"))
  }

  // MARK: Derived attributes

  /// Computes the derived attributes, if they are not what they were, or are made of what has changed; whether it did.
  private mutating func rebuildDerived(sourcesHaveChanged: Bool) throws(StoreError) -> Bool {
    let table = schema.tables.metadata
    guard let fingerprint = schema.derivations.fingerprint else {
      try storage.delete(table, MetadataKey.bytes(MetadataKey.derivations).span.bytes)
      return false
    }
    let isSame = hasDerivedValues()
    if isSame, !sourcesHaveChanged { return false }
    // Nobody has changed the objects: when that was last is what it was.
    try noteAllDerived(includesTimes: !isSame)
    try refreshDerived()
    if isSame { return true }
    try Metadata.put(&storage, table, MetadataKey.derivations, Metadata.derivations(fingerprint))
    return true
  }
}

extension CompiledEntity {
  fileprivate func isDerived(_ column: CompiledConstraint.Column) -> Bool {
    guard case .attribute(let index) = column else { return false }
    return attributes[index].isDerived
  }
}
