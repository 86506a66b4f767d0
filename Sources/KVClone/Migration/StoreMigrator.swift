import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Migrates a store in one write transaction, from one version of the model to the next.
struct StoreMigrator: ~Copyable {
  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  /// Migrates and commits; a dry run ends with the first step that fails, and commits nothing.
  consuming func migrate(
    by planner: MigrationPlanner, _ migration: MigrationOptions, _ options: StoreOptions, _ run: MigrationRun
  ) throws(StoreError) -> MigrationTally {
    var tally = MigrationTally()
    if migration.takesSnapshot {
      tally.snapshot = try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
        try snapshots.createAutomatic("migration", userInfo: ["migration": planner.versions.last ?? ""]).info.name
      }
    }
    // Neither the snapshot's name nor snapshots deleted for it count: both depend on the time.
    let first = session.storage.writtenByteCount
    self = try migrating(by: planner, migration.policies, author: options.author, run, &tally)
    if run.hasFailed { return tally }
    try session.storage.recorder?.flush()
    tally.byteCount = session.storage.writtenByteCount &- first &+ (session.storage.recorder?.savedByteCount ?? 0)
    if migration.takesSnapshot {
      try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
        try snapshots.deleteSuperfluous(options.snapshotRetention, sparing: tally.snapshot)
      }
    }
    let shown = try Snapshots.all(session.storage, session.schema.tables).map(\.value.modelNumber)
    try RetiredObjectPurge.own(&session) { (purge) throws(StoreError) in try purge.purge(shownBy: shown) }
    try session.writeCounters()
    if run.dryRun != nil {
      try session.storage.space()?.checkCommitRoom()
    } else {
      try session.commitStorage()
    }
    return tally
  }

  /// Performs all steps, with their handlers; returns the migrator with the last version.
  ///
  /// - Parameter author: the author of the handlers' changes in the history.
  private consuming func migrating(
    by planner: MigrationPlanner, _ policies: [String: any EntityMigrationPolicy], author: String, _ run: MigrationRun,
    _ tally: inout MigrationTally
  ) throws(StoreError) -> StoreMigrator {
    // Changes of objects by steps are not recorded in the history; those by handlers are.
    var history = try HistoryWriter.start(in: session) == nil ? nil : HistoryRecorder()
    for stride in planner.strides {
      let before = tally
      run.begin(step: stride.first)
      if let stage = stride.stageBefore, let handler = stage.willMigrateHandler {
        self = try running(handler, of: stage, in: .willMigrate, run, &history)
      }
      try planner.requirePossible(stride.first, session)
      self = try migrating(by: stride, policies, run, &tally)
      run.dryRun?.note(stride, from: before, to: tally)
      // Later steps depend on the failed one.
      if run.hasFailed { break }
      if let stage = stride.stageAfter, let handler = stage.didMigrateHandler {
        self = try running(handler, of: stage, in: .didMigrate, run, &history)
      }
    }
    session.state.history = history
    session.state.author = author
    session.state.operation = "migration"
    try HistoryWriter.finish(in: &session)
    return self
  }

  /// Performs some steps; returns the migrator with the last version of the model.
  private consuming func migrating(
    by stride: MigrationStride, _ policies: [String: any EntityMigrationPolicy], _ run: MigrationRun,
    _ tally: inout MigrationTally
  ) throws(StoreError) -> StoreMigrator {
    let source = session.schema
    let before = tally
    let first = stride.steps[0]
    if stride.mapping == nil { tally.deletedCount += try deleteObjects(removedBy: first, run) }
    tally.movedCount += try ObjectMover.own(&session) { (mover) throws(StoreError) in try mover.move(by: first, run) }
    session.state.forget()
    var previous = source
    var standing = first.old.codes.indexIDs
    var chains: [UInt16: [RecordMigration]] = [:]
    for (index, step) in stride.steps.enumerated() {
      run.begin(step: stride.first + index)
      previous = session.schema
      self = try advanced(to: step)
      standing.formIntersection(step.new.codes.indexIDs)
      for entity in session.schema.entities where !entity.isAbstract && step.matching.entities[entity.name] != nil {
        let migration = RecordMigration(entity, step.matching, old: step.old.codes)
        if !migration.isNothing { chains[entity.code, default: []].append(migration) }
      }
    }
    tally.rewrittenCount += try rewriteRecords(chains, run)
    // Only the last has any.
    let oneSided = chains.compactMapValues { $0.last?.oneSided }.filter { !$0.value.isEmpty }
    if !oneSided.isEmpty {
      try run.begin(.link)
      try InverseBuilder.own(&session) { (builder) throws(StoreError) in
        for root in Self.roots(chains) { try builder.build(rootCode: root, oneSided, run) }
      }
    }
    if stride.mapping == nil {
      let lost = LostLists(from: previous, to: session.schema)
      try ListSweeper.own(&session) { (sweeper) throws(StoreError) in try sweeper.sweep(lost, run) }
    }
    let made = (stride.steps.last?.new.codes.indexIDs ?? []).subtracting(standing)
    if !made.isEmpty {
      try run.begin(.index)
      try IndexBuilder.build(made, in: &session) { (count) throws(StoreError) in try run.advance(by: count) }
    }
    if let mapping = stride.mapping {
      self = StoreMigrator(try ObjectMapper(session).map(by: mapping, from: source, policies, run, &tally))
    }
    // Their sources may be removed, or have other values, with equal expressions.
    let isOther = !oneSided.isEmpty || tally != before || !session.schema.derivations.isSame(as: source.derivations)
    let isRebuilt = try rebuildDerived(sourcesHaveChanged: isOther)
    session.state.forget()
    try requireUnique(made, withDerived: isRebuilt, run)
    return self
  }

  /// The root entities of the entities with records that some steps change.
  private static func roots(_ chains: [UInt16: [RecordMigration]]) -> [UInt16] {
    Set(chains.values.compactMap { $0.last?.entity.rootCode }).sorted()
  }

  /// Rewrites the records that some steps change; returns the number of records read.
  ///
  /// - Parameter chains: by entity code.
  private mutating func rewriteRecords(
    _ chains: [UInt16: [RecordMigration]], _ run: MigrationRun
  ) throws(StoreError) -> Int {
    let rewritten = chains.filter { $0.value.contains { !$0.steps.isEmpty } }.mapValues { RecordChain($0) }
    if rewritten.isEmpty { return 0 }
    try run.begin(.rewrite)
    return try RecordMigrator.own(&session) { (migrator) throws(StoreError) in
      var count = 0
      for root in Self.roots(chains) { count += try migrator.migrate(rootCode: root, rewritten, run) }
      return count
    }
  }

  // MARK: Handlers

  /// Runs a handler, and validates its changes like a commit; returns the migrator.
  ///
  /// - Parameter history: records the handlers' changes; nil if the store keeps no history.
  private consuming func running(
    _ handler: CustomMigrationStage.Handler, of stage: CustomMigrationStage, in phase: OperationProgress.Phase,
    _ run: MigrationRun, _ history: inout HistoryRecorder?
  ) throws(StoreError) -> StoreMigrator {
    try run.begin(phase)
    session.state.history = history
    history = nil
    var manager = StagedMigrationManager(WriteTransaction(session), stage, run)
    do { try handler(&manager) } catch { throw stage.failure(error, in: phase) }
    var transaction = manager.finish()
    // A handler may have caught the error of a failed change.
    if let failure = transaction.session.changes.failure { throw stage.failure(failure, in: phase) }
    do { try transaction.prepareToSave() } catch { throw stage.failure(error, in: phase) }
    var session = transaction.takeSession()
    if let failure = session.changes.failure { throw stage.failure(failure, in: phase) }
    let issues = try ObjectValidation.issues(in: session)
    guard issues.isEmpty else { throw stage.invalid(issues, in: phase) }
    history = session.state.history
    session.state.forget()
    return StoreMigrator(session)
  }

  // MARK: Versions

  /// Switches to the version after a step: stores it, and drops the indexes that it lacks.
  private consuming func advanced(to step: MigrationStep) throws(StoreError) -> StoreMigrator {
    guard let number = UInt16(exactly: step.new.number) else {
      throw StoreError(.limitExceeded, "a store can record at most 65,535 versions of its model")
    }
    self = try reopened(by: step)
    try IndexBuilder.writeCatalog(step.new, number, after: step.old, in: &session)
    try keepOldNames()
    try resumeRecording()
    let dropped = step.old.codes.indexIDs.subtracting(step.new.codes.indexIDs)
    session.storage.recorder?.drop(indexes: dropped)
    for id in dropped.sorted() { try IndexBuilder.drop(id, in: &session) }
    try BranchIndexes.drop(dropped, in: &session)
    return self
  }

  /// The same transaction with the schema of the new version, and tables for new root entities.
  private consuming func reopened(by step: MigrationStep) throws(StoreError) -> StoreMigrator {
    let old = session.schema
    let missing = step.new.allRootCodes.filter { old.tables.objects[$0] == nil }
    let made = missing.isEmpty ? [] : try session.storage.makeTables(missing.map { TableCode.objects(rootCode: $0) })
    var tables = old.tables
    for (root, table) in zip(missing, made) { tables.objects[root] = table }
    let schema = try Schema(
      step.new, tables: tables, transformers: old.transformers, formerCatalogs: old.formerCatalogs)
    let (serials, blob) = (session.changes.nextSerials, session.changes.nextBlobSerial)
    let (commit, context) = (session.commit, session.context)
    var session = context.session(session.takeStorage(), schema, commit: commit)
    session.changes.nextSerials = serials
    session.changes.nextBlobSerial = blob
    session.changes.isEmpty = false
    return StoreMigrator(session)
  }

  /// Makes new objects use serials that were never used under their entity's name, if objects of another root had that
  /// name before. An old name then never refers to another object.
  private mutating func keepOldNames() throws(StoreError) {
    for number in 1..<session.schema.catalogNumber {
      let then = try session.schema.formerCatalogs.catalog(number, session.storage, session.schema.tables.metadata)
      for entity in session.schema.entities {
        guard let root = then.model.rootEntity(of: entity.name).flatMap({ then.codes.entities[$0] }),
          root != entity.rootCode
        else { continue }
        let first = try session.nextSerial(rootCode: root)
        if first > (try session.nextSerial(rootCode: entity.rootCode)) {
          session.changes.nextSerials[entity.rootCode] = first
        }
      }
    }
  }

  /// Makes preimages from here on include the lists of the new version.
  private mutating func resumeRecording() throws(StoreError) {
    guard session.storage.recorder != nil else { return }
    let youngest = try Snapshots.youngest(session.storage, session.schema.tables)
    try SnapshotManager.beginEpoch(youngest, &session)
  }

  // MARK: Deleting

  /// Deletes the objects of removed entities; returns their number.
  ///
  /// Those of a removed root entity are in tables that are no longer read, and stay for as long as a snapshot needs
  /// them; the others are in tables that remain, and other objects may be linked to them.
  private mutating func deleteObjects(removedBy step: MigrationStep, _ run: MigrationRun) throws(StoreError) -> Int {
    let removed = step.removedEntities
    if removed.isEmpty { return 0 }
    try run.begin(.delete)
    var count = 0
    for rootCode in session.schema.rootCodes {
      let isRetired = step.isRetired(rootCode: rootCode)
      var batches = ObjectBatches(session, rootCode: rootCode)
      while let batch = try batches.next(session, where: { removed.contains($0) }) {
        count += batch.count
        if !isRetired {
          _ = try ObjectDeletion.deleteAll(ObjectSet(batch.map(\.id)), in: &session)
          session.state.forget()
        }
        try run.advance(by: batch.count)
      }
    }
    return count
  }

  // MARK: Constraints

  /// Checks for objects with equal values in newly created indexes of constraints.
  ///
  /// - Parameter withDerived: also in those of derived attributes, which were recomputed.
  private borrowing func requireUnique(_ made: Set<UInt16>, withDerived: Bool, _ run: MigrationRun)
    throws(StoreError)
  {
    var done: Set<UInt16> = []
    for entity in session.schema.entities {
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
    // In batches: an index truncates long texts, so equal keys need not mean equal values.
    while let start = next {
      suspects.removeAll(keepingCapacity: true)
      next = nil
      try session.storage.scan(session.schema.tables.indexes, from: start.span.bytes, within: prefix.span.bytes) {
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
      try session.readScope { () throws(StoreError) in
        for id in suspects { try requireUnique(constraint, id, run) }
      }
    }
  }

  private borrowing func requireUnique(_ constraint: CompiledConstraint, _ id: ObjectID, _ run: MigrationRun)
    throws(StoreError)
  {
    let view = try session.existingRecord(id)
    let entity = try session.schema.entity(of: view, id: id)
    guard let other = try IndexEntries.conflict(constraint, entity, view, id, in: session) else { return }
    try run.refuse(
      StoreError(
        .notUnique,
        "\(constraint.name) of \(entity.name)/\(id.serial) must be unique in the new version of the model, and "
          + "\(try session.name(of: other)) has the same values; change one of them first",
        entity: entity.name, property: constraint.name, object: "\(entity.name)/\(id.serial)"))
  }

  // MARK: Derived attributes

  /// Recomputes the derived attributes if their expressions or their sources have changed; returns whether it did.
  private mutating func rebuildDerived(sourcesHaveChanged: Bool) throws(StoreError) -> Bool {
    let table = session.schema.tables.metadata
    guard let fingerprint = session.schema.derivations.fingerprint else {
      try session.storage.delete(table, MetadataKey.bytes(MetadataKey.derivations).span.bytes)
      return false
    }
    let isSame = DerivedRefresh.hasValues(in: session)
    if isSame, !sourcesHaveChanged { return false }
    // No user changed the objects: their times stay.
    try DerivedRefresh.noteAll(includesTimes: !isSame, in: &session)
    try DerivedRefresh.refreshAll(in: &session)
    if isSame { return true }
    try Metadata.put(&session.storage, table, MetadataKey.derivations, Metadata.derivations(fingerprint))
    return true
  }
}

extension CompiledEntity {
  fileprivate func isDerived(_ column: CompiledConstraint.Column) -> Bool {
    guard case .attribute(let index) = column else { return false }
    return attributes[index].isDerived
  }
}

extension TransactionState {
  /// Discards the transaction's recorded changes, except for the allocated serials: a migration's changes of objects
  /// are neither validated nor recorded in the history.
  mutating func forget() {
    var fresh = TransactionState()
    fresh.changes.nextSerials = changes.nextSerials
    fresh.changes.nextBlobSerial = changes.nextBlobSerial
    fresh.changes.isEmpty = false
    self = fresh
  }
}
