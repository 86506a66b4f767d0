import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Random graphs of every model of the corpus, changed randomly after a snapshot: the restored objects equal the
/// reference clone of the former graph, merged into the current graph.
///
/// `KVCLONE_SEEDS` is the number of seeds, 1 by default; a failure prints its seed.
@Suite("Clones from snapshots, of every model", .enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
struct CloneSnapshotPropertyTests {
  static let seeds = ProcessInfo.processInfo.environment["KVCLONE_SEEDS"].flatMap(UInt64.init) ?? 1
  /// The number of clones per store.
  static let rounds = 1

  @Test("a clone from a snapshot equals the reference", arguments: CloneCorpusTests.files)
  func everyModel(file: CloneCorpusTests.File) throws {
    let model = try ManagedObjectModel.load(contentsOf: file.bundle, version: file.version).model
    for seed in 1...Self.seeds { try run(model, seed: seed, size: seed % 4 == 0 ? 10 : 4) }
  }

  private func run(_ model: ManagedObjectModel, seed: UInt64, size: Int) throws {
    let store = try CloneStore(model)
    let made = GraphGenerator.generate(store.view, seed: seed &+ 2000, size: size)
    try store.loadText(made.ndjson(model: store.view))
    let salt = model.modelHash.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    var random = SeededGenerator(seed: seed ^ salt)
    let then = try store.graph()
    let snapshot = try store.snapshot()
    for round in 0..<Self.rounds {
      try change(store, &random, count: 3 + size)
      if random.chance(in: 3) { try store.snapshot("at \(round)".replacingOccurrences(of: " ", with: "-")) }
      try cloneOnce(store, snapshot, then, &random, "seed \(seed), round \(round)")
    }
    let before = try store.graph()
    for name in try store.store.snapshots().map(\.name).shuffled(using: &random) {
      try store.store.deleteSnapshot(named: name)
    }
    try store.expectClean()
    #expect(try store.graph() == before, "seed \(seed): a snapshot took something along")
  }

  /// Deletes, links and clones randomly; changes that the model forbids are skipped.
  private func change(_ store: CloneStore, _ random: inout SeededGenerator, count: Int) throws {
    let graph = try store.graph()
    for _ in 0..<count {
      guard let label = graph.labels.randomElement(using: &random),
        let id = try? store.store.read({ try $0.objectID(named: label.description) })
      else { continue }
      let relationships = store.view.entities[label.entity]?.relationships ?? []
      switch random.below(4) {
      case 0: try? store.delete([id])
      case 1: _ = try? store.store.clone([id], options: .with { $0.maxObjects = 20 })
      default:
        guard let one = relationships.randomElement(using: &random) else { continue }
        let kinds = Set(store.view.concreteEntities(of: one.destination).map(\.name))
        let targets = graph.labels.filter { kinds.contains($0.entity) }.shuffled(using: &random)
          .prefix(one.isToMany ? random.below(5) : random.below(2))
        let members = try store.store.read { tx in targets.compactMap { try? tx.objectID(named: $0.description) } }
        try? store.set(id, one.name, members)
      }
    }
  }

  private func cloneOnce(
    _ store: CloneStore, _ snapshot: Snapshot, _ then: ReferenceGraph, _ random: inout SeededGenerator, _ place: String
  ) throws {
    let (now, lines, commit) = (try store.graph(), try store.lines(), try store.commit)
    var roots: [Label] = []
    while let next = then.labels.randomElement(using: &random), !roots.contains(next) {
      roots.append(next)
      if random.chance(in: 2) { break }
    }
    let (options, wanted) = randomOptions(roots, store.view, &random)
    let what = "\(place): \(roots), \(options.rules), \(options.excludedRelationshipNames), \(options.count) copies"
    let ids = try snapshot.read { tx in try roots.map { try tx.objectID(named: $0.description) } }
    var expected: ReferenceClone?
    var isUncertain = false
    do throws(ReferenceCloneFailure) {
      // Constraints, counts and required values are checked in the current state.
      let view = ModelView(store.store.model.unconstrained)
      let reference = try ReferenceCloner.clone(roots, in: then, model: view, options: wanted)
      let put = reference.put(into: now, store.view)
      if put.filled.validate(store.view).isEmpty { expected = put }
    } catch {
      // Effects on other objects in the former state are irrelevant now.
      isUncertain = error.kinds.isSubset(of: ["inverseTaken", "maxCountExceeded"])
    }
    let plan = try store.store.planClone(ids, from: snapshot, options: options)
    do {
      let result = try store.store.clone(ids, from: snapshot, options: options)
      #expect(plan.errors.isEmpty, "\(what): \(plan.errors.first?.message ?? "")")
      store.expectSame(plan, result, what)
      if let expected {
        let labels = try result.roots.map { try store.label($0) }
        let copies = (0..<options.count).map { Array(labels[$0 * roots.count..<($0 + 1) * roots.count]) }
        let differences = GraphComparison.compare(
          expected: expected, actual: try store.graph(), roots: copies, model: store.view)
        #expect(differences.isEmpty, "\(what): \(differences.prefix(5))")
        #expect(result.objectCount == expected.clones.count, "\(what)")
        #expect(
          result.affectedObjectCount == expected.affectedObjectIDs.count, "\(what): \(expected.affectedObjectIDs)")
      } else if !isUncertain {
        Issue.record("\(what): the store clones what it should refuse")
      }
    } catch let error as any KVCloneError {
      #expect(expected == nil || isUncertain, "\(what): refused: \(error.message)")
      #expect(error is CloneError && !plan.errors.isEmpty, "\(what): the plan does not tell: \(error.message)")
      #expect(try store.lines() == lines && store.commit == commit, "\(what)")
    }
    try store.expectClean()
  }

  private func randomOptions(
    _ roots: [Label], _ view: ModelView, _ random: inout SeededGenerator
  ) -> (CloneOptions, ReferenceCloneOptions) {
    var options = CloneOptions()
    var reference = ReferenceCloneOptions()
    options.count = 1 + random.below(4) / 3
    reference.count = options.count
    let own = view.entities[roots[0].entity]?.relationships ?? []
    if !own.isEmpty && random.chance(in: 4) {
      options.excludedRelationshipNames.append(own[random.below(own.count)].name)
    }
    reference.excludedRelationshipNames = options.excludedRelationshipNames
    if !own.isEmpty && random.chance(in: 2) {
      let one = own[random.below(own.count)]
      let rule = random.below(3)
      options.rules["\(one.owner).\(one.name)"] = [.follow, .reference, .skip][rule]
      reference.rules["\(one.owner).\(one.name)"] = [.follow, .reference, .skip][rule]
    }
    if random.chance(in: 4) {
      options.references = .keepOriginal
      reference.references = .keepOriginal
    }
    if random.chance(in: 3) { options.blobs = .copy }
    options.recordsProvenance = random.chance(in: 3)
    return (options, reference)
  }
}

extension ReferenceClone {
  /// Merges the clones of a former graph into the current graph: links lead to objects that still exist, and the
  /// inverses of these are updated.
  fileprivate func put(into now: ReferenceGraph, _ view: ModelView) -> ReferenceClone {
    let clones = self.clones
    // Distinct from labels of later objects.
    func name(_ label: Label) -> Label {
      clones.contains(label) ? Label(label.entity, label.serial + 1_000_000) : label
    }
    func exists(_ label: Label) -> Bool { clones.contains(label) || now.objects[label] != nil }
    var other = self
    other.before = now
    other.after = now
    for object in clones.compactMap({ after[$0] }) {
      other.after.add(
        name(object.label), object.attributes, object.relationships.mapValues { $0.filter(exists).map(name) })
    }
    for label in affectedObjectIDs where exists(label) {
      for relationship in view.entities[label.entity]?.relationships ?? [] {
        let gained = after[label]?.targets(relationship.name).filter(clones.contains) ?? []
        for clone in gained { other.after.append(name(clone), to: relationship.name, of: label) }
      }
    }
    other.affectedObjectIDs = affectedObjectIDs.filter(exists)
    other.copies = copies.map { $0.mapValues(name) }
    other.roots = roots.map { $0.map(name) }
    other.symbols = Dictionary(
      uniqueKeysWithValues: symbols.map { label, values in
        (
          name(label),
          values.mapValues { value in
            if case .fresh(let owner, let path) = value { .fresh(name(owner), path) } else { value }
          }
        )
      })
    return other
  }
}
