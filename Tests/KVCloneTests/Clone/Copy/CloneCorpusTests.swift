import Foundation
import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

/// Every model of the corpus: a generated graph is loaded and dumped unchanged, and the store's clones equal those of
/// the reference cloner for the dump before.
///
/// `KVCLONE_SEEDS` is the number of seeds, 1 by default; a failure prints its seed.
@Suite("Clones of every model of the corpus", .enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
struct CloneCorpusTests {
  /// One version in one model's file.
  struct File: Sendable, CustomTestStringConvertible {
    let bundle: String
    let version: String
    var testDescription: String {
      bundle.split(separator: "/").suffix(2).joined(separator: "/") + " " + version
    }
  }

  static let files = Corpus.allContents().map { File(bundle: $0.bundle, version: $0.version) }
  static let seeds = ProcessInfo.processInfo.environment["KVCLONE_SEEDS"].flatMap(UInt64.init) ?? 1
  /// The number of clones per store.
  static let rounds = 1

  @Test("dump, load, dump, and clones as the reference makes them", arguments: files)
  func everyModel(file: File) throws {
    let model = try ManagedObjectModel.load(contentsOf: file.bundle, version: file.version).model
    for seed in 1...Self.seeds {
      // One seed in four creates larger graphs; other tests cover lists of every length.
      try run(model, seed: seed, size: seed % 4 == 0 ? 10 : 4)
    }
  }

  private func run(_ model: ManagedObjectModel, seed: UInt64, size: Int) throws {
    let fixture = try CloneStore(model)
    let made = GraphGenerator.generate(fixture.view, seed: seed, size: size)
    #expect(made.problems.isEmpty, "seed \(seed)")
    try loadTwice(made, fixture, seed: seed)
    // Combined with the model's hash, so that one seed gives different values for each model.
    let salt = model.modelHash.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    var random = SeededGenerator(seed: seed ^ salt)
    for round in 0..<Self.rounds {
      try cloneOnce(fixture, &random, "seed \(seed), round \(round)")
    }
  }

  /// Loads and dumps the text twice: both results are equal up to ids.
  private func loadTwice(_ made: GeneratedGraph, _ fixture: CloneStore, seed: UInt64) throws {
    let ids = try fixture.load(made.ndjson(model: fixture.view))
    let first = try fixture.graph()
    let differences = GraphComparison.compare(expected: made.graph, actual: first, ids: ids, model: fixture.view)
    #expect(differences.isEmpty, "load, seed \(seed): \(differences.prefix(5))")
    let second = try CloneStore(fixture.store.model)
    let moved = try second.load(fixture.dump())
    let again = GraphComparison.compare(expected: first, actual: try second.graph(), ids: moved, model: fixture.view)
    #expect(again.isEmpty, "second load, seed \(seed): \(again.prefix(5))")
    try fixture.expectClean()
    try second.expectClean()
  }

  /// Random roots and options: the store and the reference agree on the result or on the rejection.
  private func cloneOnce(_ fixture: CloneStore, _ random: inout SeededGenerator, _ place: String) throws {
    let (before, commit) = (try fixture.graph(), try fixture.commit)
    let roots = randomRoots(before, &random)
    let (options, reference) = randomOptions(roots, fixture.view, &random)
    let what = "\(place): \(roots), \(options.summary)"
    let ids = try fixture.store.read { tx in try roots.map { try tx.objectID(named: $0.description) } }
    do throws(ReferenceCloneFailure) {
      let expected = try ReferenceCloner.clone(roots, in: before, model: fixture.view, options: reference)
      do {
        let result = try fixture.store.clone(ids, options: options)
        let actual = try fixture.graph()
        let clones = try result.roots.map { try fixture.label($0) }
        let differences = GraphComparison.compare(
          expected: expected, actual: actual, roots: [clones], model: fixture.view)
        #expect(differences.isEmpty, "\(what): \(differences.prefix(5))")
        #expect(result.objectCount == expected.sources.count, "\(what)")
        #expect(
          result.affectedObjectCount == expected.affectedObjectIDs.count, "\(what): \(expected.affectedObjectIDs)")
        #expect(try fixture.commit == commit + 1, "\(what)")
      } catch {
        Issue.record("\(what): the store refuses: \(error)")
      }
    } catch {
      expectRefusal(fixture, ids, options, error, what)
      let same = try fixture.graph() == before && fixture.commit == commit
      #expect(same, "\(what): a refused clone left something")
    }
    try fixture.expectClean()
  }

  /// Expects that the store rejects the clone for one of the reference's reasons.
  private func expectRefusal(
    _ fixture: CloneStore, _ ids: [ObjectID], _ options: CloneOptions, _ expected: ReferenceCloneFailure, _ what: String
  ) {
    do {
      _ = try fixture.store.clone(ids, options: options)
      Issue.record("\(what): the store clones, the reference does not: \(expected.errors.prefix(3))")
    } catch let error as CloneError {
      let isKnown = expected.errors.contains { one in
        // For an unknown name, one error has no property and the other a qualified one.
        if one.kind != error.kind.rawValue { return false }
        if one.kind == "unknownRelationship" || one.kind == "limitExceeded" { return true }
        // A conflict names the object's entity or the entity that declares the constraint.
        let isEntity =
          one.entity == error.entity || one.kind == "uniquenessConflict" && one.object?.entity == error.entity
        return isEntity && one.property == error.property
          && (error.object == nil || one.object?.description == error.object)
      }
      let given = "\(error.kind)(\(error.entity ?? "-").\(error.property ?? "-"), \(error.object ?? "-"))"
      #expect(isKnown, "\(what): \(given) is none of \(expected.errors.prefix(5))")
    } catch {
      Issue.record("\(what): \(error) is no CloneError")
    }
  }

  /// The hook's rule for an edge (R30): deterministic for a seed, or nil for the model's rule.
  private static func answer(_ seed: Int, _ texts: String...) -> ReferenceCloneOptions.EdgeRule? {
    var hash = UInt64(seed) &+ 0xCBF2_9CE4_8422_2325
    for byte in texts.joined(separator: " ").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return [.follow, .reference, .skip, nil, nil, nil][Int((hash >> 20) % 6)]
  }

  private func randomRoots(_ graph: ReferenceGraph, _ random: inout SeededGenerator) -> [Label] {
    let labels = graph.labels
    guard let first = labels.randomElement(using: &random) else { return [] }
    var roots = [first]
    while roots.count < 4 && random.chance(in: 3) {
      if let next = labels.randomElement(using: &random), !roots.contains(next) { roots.append(next) }
    }
    return roots
  }

  /// Returns the same options for both cloners, mostly with names that the model reaches from the roots.
  private func randomOptions(
    _ roots: [Label], _ view: ModelView, _ random: inout SeededGenerator
  ) -> (CloneOptions, ReferenceCloneOptions) {
    var reachable: [String] = []
    var waiting = roots.map(\.entity)
    while let name = waiting.popLast() {
      guard !reachable.contains(name), let entity = view.entities[name] else { continue }
      reachable.append(name)
      for relationship in entity.relationships {
        waiting += view.concreteEntities(of: relationship.destination).map(\.name)
      }
    }
    let all = reachable.sorted().flatMap { view.entities[$0]?.relationships ?? [] }
    let own = (view.entities[roots[0].entity]?.relationships ?? [])
    var options = CloneOptions()
    if !own.isEmpty && random.chance(in: 3) {
      options.excludedRelationshipNames.append(own[random.below(own.count)].name)
    }
    if !all.isEmpty && random.chance(in: 3) {
      let one = all[random.below(all.count)]
      options.excludedRelationshipNames.append("\(one.owner).\(one.name)")
    }
    if random.chance(in: 20) { options.excludedRelationshipNames.append("no such relationship") }
    options.passingExclusionList = random.chance(in: 3)
    while !all.isEmpty && options.rules.count < 3 && random.chance(in: 2) {
      let one = all[random.below(all.count)]
      options.rules["\(one.owner).\(one.name)"] = [.follow, .reference, .skip][random.below(3)]
    }
    if random.chance(in: 4) { options.references = .keepOriginal }
    if random.chance(in: 4) { options.blobs = .copy }
    if random.chance(in: 8) { options.maxObjects = random.below(20) }
    if random.chance(in: 8) { options.maxDepth = random.below(5) }
    var reference = ReferenceCloneOptions()
    reference.excludedRelationshipNames = options.excludedRelationshipNames
    reference.passingExclusionList = options.passingExclusionList
    reference.rules = options.rules.mapValues { rule in
      switch rule {
      case .follow: .follow
      case .reference: .reference
      case .skip: .skip
      }
    }
    reference.references = options.references == .remap ? .remap : .keepOriginal
    reference.maxObjects = options.maxObjects
    reference.maxDepth = options.maxDepth
    if random.chance(in: 3) {
      let seed = random.below(1 << 30)
      options.willClone = { edge, source in
        switch Self.answer(seed, try source.name(of: edge.parent), edge.relationship, try source.name(of: edge.source))
        {
        case .follow?: .follow
        case .reference?: .reference
        case .skip?: .skip
        case nil: edge.rule
        }
      }
      reference.willClone = { owner, relationship, target, rule in
        Self.answer(seed, owner.description, relationship, target.description) ?? rule
      }
    }
    return (options, reference)
  }
}

extension CloneOptions {
  /// A description of the options for failures.
  fileprivate var summary: String {
    "excluded \(excludedRelationshipNames)\(passingExclusionList ? " on every level" : ""), rules \(rules), "
      + "\(willClone == nil ? "" : "hook, ")\(references), \(blobs), at most \(maxObjects ?? -1) objects, depth \(maxDepth ?? -1)"
  }
}

extension CloneStore {
  /// Loads a text, and returns the store's label for each of its ids.
  fileprivate func load(_ text: String) throws -> [Label: Label] {
    var options = LoadOptions()
    options.idLimit = .max
    var isFirst = true
    let result = try store.load(options) { buffer in
      defer { isFirst = false }
      if isFirst { buffer.append(contentsOf: text.utf8) }
      return isFirst
    }
    var ids: [Label: Label] = [:]
    for (id, name) in result.ids {
      if let id = Label(id), let name = Label(name) { ids[id] = name }
    }
    return ids
  }
}
