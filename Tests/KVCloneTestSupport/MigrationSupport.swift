import Foundation
package import KVClone
package import KVCloneCore
package import KVCloneModel
import KVCloneOperations
package import Testing

/// A store that is migrated from version to version, and compared with ``MigrationOracle`` each time.
package final class MigratedStore {
  package let test: TestStore
  /// The expected contents of the automatic snapshots, by name: the lines of the objects.
  package private(set) var snapshots: [String: [Substring]] = [:]

  package var store: ObjectStore { test.store }
  package var model: ManagedObjectModel { test.store.model }

  package init(_ model: ManagedObjectModel, options: StoreOptions = StoreOptions()) throws {
    test = try TestStore(model, options: options)
  }

  /// Wraps an existing store.
  package init(_ test: TestStore) { self.test = test }

  /// Creates a store with random objects of a model.
  package convenience init(_ model: ManagedObjectModel, seed: UInt64, size: Int) throws {
    try self.init(model)
    try load(GraphGenerator.generate(ModelView(model), seed: seed, size: size))
  }

  @discardableResult
  package func load(_ made: GeneratedGraph) throws -> Int {
    var text = Array(try made.ndjson(model: ModelView(model)).utf8)[...]
    return try store.load { buffer in
      defer { text = text.dropFirst(10_000) }
      buffer.append(contentsOf: text.prefix(10_000))
      return !text.isEmpty
    }.objectCount
  }

  // MARK: Reading the whole store

  package func lines(snapshot: String? = nil) throws -> [Substring] {
    var bytes: [UInt8] = []
    let sink = { (span: RawSpan) in span.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    if let snapshot {
      _ = try store.snapshot(named: snapshot).dump(to: sink)
    } else {
      _ = try store.dump(to: sink)
    }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix(#"{"kvclone""#) }
  }

  package func graph() throws -> ReferenceGraph {
    try ReferenceGraph(ndjson: lines().joined(separator: "\n"), model: ModelView(model))
  }

  // MARK: Migrating

  /// Migrates, if the oracle finds the migration possible, and compares the whole store. Returns whether it migrated.
  ///
  /// - Parameters:
  ///   - versions: the versions to pass through, from the store's version to the target.
  ///   - others: other versions of the model, used to follow renaming identifiers.
  @discardableResult
  package func migrate(
    to model: ManagedObjectModel, versions: [ManagedObjectModel] = [], through others: [ManagedObjectModel] = [],
    _ what: String = "",
    takesSnapshot: Bool = true, _ location: SourceLocation = #_sourceLocation
  ) throws -> Bool {
    let source = self.model
    let before = try lines()
    let path = versions.isEmpty ? [source, model] : versions
    let old = try graph()
    let expectation = try Self.expectation(old, path, through: others)
    let stages = versions.isEmpty ? [] : [LightweightMigrationStage(versions.map { ManagedObjectModelReference($0) })]
    let options = MigrationOptions(versions: versions + others, stages: stages, takesSnapshot: takesSnapshot)
    store.close()
    defer { if (try? store.info()) == nil { try? test.reopen() } }
    let plan = try test.planMigration(to: model, migration: options)
    let refused = Self.refused(plan, path, old, through: others)
    guard let expectation else {
      let error = expectError(.mappingRequired, sourceLocation: location) {
        try test.migrate(to: model, migration: options)
      }
      #expect(error?.property != nil || error?.entity != nil, "\(what)", sourceLocation: location)
      try test.reopen()
      #expect(try lines() == before, "\(what): refused, and changed", sourceLocation: location)
      if versions.isEmpty {
        let wanted = MigrationOracle(from: source, to: model, through: others).refusals(old)
        #expect(refused == wanted, "\(what)", sourceLocation: location)
      }
      return false
    }
    #expect(refused.isEmpty, "\(what): refused without need", sourceLocation: location)
    let report: MigrationReport
    do {
      report = try test.migrate(to: model, migration: options)
    } catch {
      // Generated values need not be unique, nor have a single owner, where the source does not require it.
      let isCrowded =
        path.count == 2 && MigrationOracle(from: source, to: model, through: others).hasCrowdedInverse(old)
      #expect(
        error.kind == .notUnique || error.kind == .mappingRequired && isCrowded, "\(what): \(error.message)",
        sourceLocation: location)
      #expect(!plan.isPossible, "\(what): the plan succeeds", sourceLocation: location)
      try test.reopen()
      #expect(try lines() == before, "\(what): refused, and changed", sourceLocation: location)
      return false
    }
    try test.reopen()
    #expect(store.model.modelHash == model.modelHash, "\(what)", sourceLocation: location)
    try compare(expectation, old, source, what, location)
    try check(what, location)
    if let name = report.snapshot {
      snapshots[name] = before
      try compareSnapshots(what, location)
    }
    return true
  }

  /// Migrates with code of the test, which the oracle does not cover; the snapshot must show the state before.
  package func migrate(
    to model: ManagedObjectModel, options: MigrationOptions, _ what: String,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let before = try lines()
    store.close()
    let report = try test.migrate(to: model, migration: options)
    try test.reopen()
    try check(what, location)
    if let name = report.snapshot { snapshots[name] = before }
    try compareSnapshots(what, location)
  }

  private struct Expectation {
    var graph: ReferenceGraph
    var unordered: [Label: Set<String>] = [:]
    /// Label before → label with the later entity's name.
    var labels: [Label: Label]
    /// Objects with new ids, by later label, each with its name before the first move: the earlier entity with the
    /// earlier serial. Later names of that entity never named the object with that serial.
    var moved: [Label: Label] = [:]
  }

  /// Returns nil if one of the steps is impossible.
  private static func expectation(
    _ old: ReferenceGraph, _ path: [ManagedObjectModel], through others: [ManagedObjectModel]
  ) throws -> Expectation? {
    var result = Expectation(graph: old, labels: Dictionary(uniqueKeysWithValues: old.objects.keys.map { ($0, $0) }))
    for (source, destination) in zip(path, path.dropFirst()) {
      let oracle = MigrationOracle(from: source, to: destination, through: others)
      if !oracle.refusals(result.graph).isEmpty { return nil }
      (result.graph, result.unordered) = try oracle.migrate(result.graph, unordered: result.unordered)
      var moved: [Label: Label] = [:]
      for (label, name) in result.moved {
        if let later = oracle.laterEntities[label.entity] { moved[Label(later, label.serial)] = name }
      }
      for label in result.graph.objects.keys where !oracle.keepsIDs(label.entity) && moved[label] == nil {
        moved[label] = Label(oracle.entities[label.entity] ?? label.entity, label.serial)
      }
      result.moved = moved
      result.labels = result.labels.compactMapValues { label in
        oracle.laterEntities[label.entity].map { Label($0, label.serial) }
      }
    }
    return result
  }

  /// Returns `Entity.property` of concrete entities with objects.
  private static func refused(
    _ plan: MigrationPlan, _ path: [ManagedObjectModel], _ old: ReferenceGraph, through others: [ManagedObjectModel]
  ) -> Set<String> {
    guard path.count == 2 else { return plan.isPossible ? [] : ["something"] }
    let oracle = MigrationOracle(from: path[0], to: path[1], through: others)
    let wanted = oracle.refusals(old)
    var refused: Set<String> = []
    for refusal in plan.steps.flatMap(\.refusals) {
      for entity in [refusal.entity] + path[1].subentities(of: refusal.entity) {
        guard let earlier = oracle.entities[entity], old.counts[earlier] ?? 0 > 0 else { continue }
        let top = refusal.property?.split(separator: ".").first.map { ".\($0)" } ?? ""
        // The rejection is reported once, for the ancestor, and some objects of descendants may have values.
        if refusal.aspect == "optional", !wanted.contains(entity + top), wanted.contains(where: { $0.hasSuffix(top) }) {
          continue
        }
        refused.insert(entity + top)
      }
    }
    return refused
  }

  private func compare(
    _ expectation: Expectation, _ old: ReferenceGraph, _ source: ManagedObjectModel, _ what: String,
    _ location: SourceLocation
  ) throws {
    var expected = expectation.graph
    var ids: [Label: Label] = [:]
    var problems: [String] = []
    try store.read { tx in
      for label in expected.labels {
        guard let name = expectation.moved[label] else {
          ids[label] = label
          continue
        }
        do { ids[label] = Label(try tx.name(of: try tx.objectID(named: name.description))) } catch {
          problems.append("\(name) leads nowhere: \(error)")
        }
      }
      // Earlier names lead to the same objects, unless another object has the name now.
      for (label, later) in expectation.labels where label != later && self.model.entity(named: label.entity) == nil {
        let id = try? tx.objectID(named: label.description)
        let name = try id.map { try tx.name(of: $0) }
        if name != ids[later]?.description { problems.append("\(label) leads to \(name ?? "nobody")") }
      }
      // The name of a deleted object leads to the object that has it now, because its entity was renamed to it.
      let names = Set(expectation.labels.values)
      for label in old.objects.keys where expectation.labels[label] == nil && !names.contains(label) {
        if let id = try? tx.objectID(named: label.description) {
          problems.append("\(label) is gone, and leads to \(try tx.name(of: id))")
        }
      }
    }
    #expect(problems.isEmpty, "\(what): \(problems.prefix(5))", sourceLocation: location)
    if !problems.isEmpty { return }
    let actual = try graph()
    for (label, object) in expected.objects {
      for (name, members) in object.relationships where expectation.unordered[label]?.contains(name) == true {
        let given = ids[label].flatMap { actual[$0]?.targets(name) } ?? []
        let wanted = Dictionary(uniqueKeysWithValues: members.compactMap { member in ids[member].map { ($0, member) } })
        if Set(given) == Set(wanted.keys) {
          expected.objects[label]?.relationships[name] = given.compactMap { wanted[$0] }
        }
      }
    }
    let differences = GraphComparison.compare(expected: expected, actual: actual, ids: ids, model: ModelView(model))
    #expect(differences.isEmpty, "\(what): \(differences.prefix(5))", sourceLocation: location)
  }

  // MARK: Afterwards

  package func check(_ what: String, _ location: SourceLocation = #_sourceLocation) throws {
    let damages = try store.check(CheckOptions(readData: true)).issues
    #expect(damages.isEmpty, "\(what): \(damages.prefix(5).map(\.message))", sourceLocation: location)
    try checked(store, sourceLocation: location)
  }

  package func compareSnapshots(_ what: String, _ location: SourceLocation = #_sourceLocation) throws {
    for (name, lines) in snapshots {
      let given = try self.lines(snapshot: name)
      let first = zip(given, lines).first { $0 != $1 }
      #expect(
        given == lines, "\(what), \(name): \(first?.0.prefix(200) ?? "") instead of \(first?.1.prefix(200) ?? "")",
        sourceLocation: location)
    }
  }

  /// Inserts, changes, clones and finally deletes objects; the snapshots stay unchanged.
  package func workOn(seed: UInt64, _ what: String, _ location: SourceLocation = #_sourceLocation) throws {
    let ids = try allObjects()
    // Constraints and rules of the model may reject any of these.
    _ = try? load(GraphGenerator.generate(ModelView(model), seed: seed, size: 2))
    try touch(ids)
    try check("\(what), touched", location)
    for id in ids.prefix(3) { _ = try? store.clone([id], options: CloneOptions()) }
    try check("\(what), cloned", location)
    try deleteEverything()
    try check("\(what), deleted", location)
    try compareSnapshots("\(what), deleted", location)
  }

  /// Sets values and members of objects to their current values, or to others.
  package func touch(_ ids: [ObjectID]) throws {
    let model = self.model
    for (index, id) in ids.enumerated() {
      _ = try? store.write { tx in
        let entity = try tx.entityName(of: id)
        for attribute in model.attributes(of: entity)
        where !attribute.isTransient && !attribute.isDerived && attribute.type != .composite {
          if let data = try? tx.data(id, attribute.name) {
            try tx.set(id, attribute.name, attribute.type == .binary ? .binary(data) : .transformable(data))
          } else {
            let value = try tx.value(id, attribute.name)
            if attribute.isOptional && index % 3 == 0 { try tx.set(id, attribute.name, nil) }
            try tx.set(id, attribute.name, value)
          }
        }
        for relationship in model.relationships(of: entity) where !relationship.isTransient {
          let members = try tx.members(id, relationship.name)
          if relationship.isToMany {
            try tx.setMembers(id, relationship.name, Array(members.dropFirst(relationship.minCount > 0 ? 0 : 1)))
            try tx.setMembers(id, relationship.name, members)
          } else {
            if relationship.isOptional { try tx.setToOne(id, relationship.name, nil) }
            try tx.setToOne(id, relationship.name, members.first)
          }
        }
      }
    }
  }

  package func allObjects() throws -> [ObjectID] {
    try model.entities.filter { $0.superentityName == nil }.flatMap { try store.objects($0.name) }
  }

  package func deleteEverything() throws {
    var left = try allObjects()
    // All objects at once, or one by one where a rule denies that.
    _ = try? store.delete(left)
    while !left.isEmpty {
      let count = left.count
      for id in left { _ = try? store.delete([id]) }
      left = try allObjects()
      if left.count == count { break }
    }
  }

  /// Deletes all snapshots, and checks that the preimages that only they need are deleted with them.
  package func deleteSnapshots(_ what: String, _ location: SourceLocation = #_sourceLocation) throws {
    let names = try store.snapshots().map(\.name)
    try store.deleteSnapshots(named: names)
    snapshots = [:]
    try store.expectNoPreviousStates(sourceLocation: location)
    try check("\(what), without snapshots", location)
    if try allObjects().isEmpty {
      let count = try store.blobCount()
      #expect(count == 0, "\(what): blobs of nobody", sourceLocation: location)
    }
  }
}
