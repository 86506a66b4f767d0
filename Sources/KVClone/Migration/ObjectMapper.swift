import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Creates the objects of a new version by a mapping model.
struct ObjectMapper: ~Copyable {
  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  /// Creates and links all objects from the old ones, which are still in separate tables; returns the session.
  ///
  /// - Parameter source: the schema of the old objects' version.
  consuming func map(
    by model: MappingModel, from source: Schema, _ policies: [String: any EntityMigrationPolicy], _ run: MigrationRun,
    _ tally: inout MigrationTally
  ) throws(StoreError) -> Session {
    let look = session.context.session(StorageTransaction(lookingInto: session.storage), source, commit: session.commit)
    // Serials that no object of any entity had before, so that no old name ever refers to another object.
    var next: UInt64 = 1
    for rootCode in source.rootCodes { next = max(next, try session.nextSerial(rootCode: rootCode)) }
    for rootCode in session.schema.rootCodes {
      session.changes.nextSerials[rootCode] = max(next, try session.nextSerial(rootCode: rootCode))
    }
    // Existing indexes are the new version's.
    look.trustFetchIndexes(false)
    let expressions = MappingExpressions(from: source, to: session.schema)
    var manager = MigrationManager(
      source: ReadTransaction(look), destination: WriteTransaction(session), model.entityMappings, expressions, policies
    )
    do {
      try Self.map(&manager, model.entityMappings, source, expressions, run, &tally)
    } catch let error as StoreError {
      throw error
    } catch {
      let reason = (error as? any KVCloneError)?.message ?? "\(type(of: error))"
      throw StoreError(.hookFailed, "a migration policy failed: \(reason)")
    }
    var transaction = manager.finish()
    try transaction.settle()
    var session = transaction.takeSession()
    try DerivedRefresh.refreshAll(in: &session)
    if let dryRun = run.dryRun {
      try ObjectValidation.validateChanges(in: session) { issues in
        dryRun.reasons.note(issues)
        return true
      }
      return session
    }
    let issues = try ObjectValidation.issues(in: session)
    if let issue = issues.first {
      let more = issues.count > 1 ? " (and \(issues.count - 1) more)" : ""
      throw StoreError(
        .invalidObject, "an object that the mapping created is invalid: \(issue.message)\(more)",
        entity: issue.entity, property: issue.property, object: issue.object)
    }
    return session
  }

  private static func map(
    _ manager: inout MigrationManager, _ mappings: [EntityMapping], _ source: Schema, _ expressions: MappingExpressions,
    _ run: MigrationRun, _ tally: inout MigrationTally
  ) throws {
    for mapping in mappings { _ = try manager.policy(of: mapping) }
    try run.begin(.rewrite)
    for mapping in mappings {
      let policy = try manager.policy(of: mapping)
      try policy.begin(mapping, with: &manager)
      if let name = mapping.sourceEntityName {
        try create(&manager, mapping, policy, try source.entity(name), run)
      }
      try policy.endInstanceCreation(mapping, with: &manager)
      tally.createdCount += manager.pairCount(mapping)
    }
    try run.begin(.link)
    for mapping in mappings {
      let policy = try manager.policy(of: mapping)
      for index in 0..<manager.pairCount(mapping) {
        guard let pair = manager.pair(mapping, index) else { continue }
        try policy.createRelationships(for: pair.destination, in: mapping, with: &manager)
        if index % 1024 == 1023 { try run.advance(by: 1024) }
      }
      try policy.endRelationshipCreation(mapping, with: &manager)
    }
    for mapping in mappings {
      let policy = try manager.policy(of: mapping)
      try policy.performCustomValidation(mapping, with: &manager)
      try policy.end(mapping, with: &manager)
    }
    tally.deletedCount += try manager.lostCount(source, run)
    try manager.leaveRedirects(mappings)
  }

  /// Creates the destination objects of one entity mapping.
  private static func create(
    _ manager: inout MigrationManager, _ mapping: EntityMapping, _ policy: any EntityMigrationPolicy,
    _ entity: CompiledEntity, _ run: MigrationRun
  ) throws {
    var condition: QueryPredicate?
    switch mapping.sourceObjects {
    case .all: break
    case .matching(let predicate): condition = predicate
    case .unsupported(let text):
      throw StoreError(
        .invalidMapping, "entity mapping \(mapping.name) fetches its objects with an unsupported expression: \(text)",
        entity: entity.name)
    }
    guard mapping.destinationEntityName != nil || mapping.entityMigrationPolicyClassName != nil else { return }
    var start: UInt64 = 0
    while true {
      let ids = try manager.reader._withSession { (session) throws(StoreError) in
        try ObjectSearch.ids(session, of: entity, where: condition, from: start, limit: 1024)
      }
      for id in ids {
        do {
          try policy.createDestinationInstances(for: id, in: mapping, with: &manager)
        } catch let error as StoreError where error.kind == .notConvertible {
          try run.refuse(error)
        }
      }
      try run.advance(by: ids.count)
      guard let last = ids.last, ids.count == 1024 else { return }
      start = last.serial + 1
    }
  }
}

extension MigrationManager {
  /// Returns the number of source objects from which no entity mapping has created an object.
  fileprivate borrowing func lostCount(_ source: Schema, _ run: MigrationRun) throws -> Int {
    var count = 0
    for entity in source.entities where !entity.isAbstract {
      var start: UInt64 = 0
      while true {
        let ids = try reader._withSession { (session) throws(StoreError) in
          try ObjectSearch.ids(session, of: entity, where: nil, from: start, limit: 1024)
        }
        for id in ids where !hasDestination(id) { count += 1 }
        try run.advance(by: 0)
        guard let last = ids.last, ids.count == 1024 else { break }
        start = last.serial + 1
      }
    }
    return count
  }

  /// Redirects each old id to the first object created from it.
  fileprivate mutating func leaveRedirects(_ mappings: [EntityMapping]) throws {
    for mapping in mappings {
      for index in 0..<pairCount(mapping) {
        guard let pair = pair(mapping, index) else { continue }
        try destination { tx in try RedirectValue.leave(at: pair.source, to: pair.destination, &tx.session) }
      }
    }
  }
}
