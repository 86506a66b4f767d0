import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// R35 on every model of the corpus: the objects in the destination equal those of the reference cloner, without links
/// to objects that were not cloned; if the model does not allow them, nothing is written.
@Suite(
  "Clones of every model into another store",
  .enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
struct CloneIntoCorpusTests {
  static let seeds = ProcessInfo.processInfo.environment["KVCLONE_SEEDS"].flatMap(UInt64.init) ?? 1
  static let rounds = 1

  @Test("clones arrive as the reference makes them", arguments: CloneCorpusTests.files)
  func everyModel(file: CloneCorpusTests.File) throws {
    let model = try ManagedObjectModel.load(contentsOf: file.bundle, version: file.version).model
    for seed in 1...Self.seeds { try run(model, seed: seed) }
  }

  private func run(_ model: ManagedObjectModel, seed: UInt64) throws {
    let source = try CloneStore(model)
    let made = GraphGenerator.generate(source.view, seed: seed &+ 1000, size: 3)
    try source.loadText(made.ndjson(model: source.view))
    let salt = model.modelHash.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    var random = SeededGenerator(seed: seed ^ salt)
    for round in 0..<Self.rounds {
      let place = "seed \(seed), round \(round)"
      try cloneOnce(source, round % 2 == 0 ? model.rearranged : model, &random, place)
    }
  }

  private func cloneOnce(
    _ source: CloneStore, _ model: ManagedObjectModel, _ random: inout SeededGenerator, _ place: String
  ) throws {
    let before = try source.graph()
    let destination = try CloneStore(model)
    var roots: [Label] = []
    while let next = before.labels.randomElement(using: &random), !roots.contains(next) {
      roots.append(next)
      if random.chance(in: 2) { break }
    }
    let (options, wanted) = randomOptions(roots, source.view, &random)
    let what = "\(place): \(roots), \(options.rules), \(options.excludedRelationshipNames), \(options.count) copies"
    let ids = try source.store.read { tx in try roots.map { try tx.objectID(named: $0.description) } }
    var expected: ReferenceClone?
    var isUncertain = false
    do throws(ReferenceCloneFailure) {
      let view = ModelView(source.store.model.unconstrained)
      let reference = try ReferenceCloner.clone(roots, in: before, model: view, options: wanted)
      let arriving = reference.arriving
      if arriving.filled.validate(source.view).isEmpty { expected = arriving }
    } catch {
      // Effects on other objects of the source's store are irrelevant here.
      isUncertain = error.kinds.isSubset(of: ["inverseTaken", "maxCountExceeded"])
    }
    let commit = try source.commit
    do {
      let result = try source.store.clone(ids, into: destination.store, options: options)
      if let expected {
        let labels = try result.roots.map { try destination.label($0) }
        let copies = (0..<options.count).map { Array(labels[$0 * roots.count..<($0 + 1) * roots.count]) }
        let differences = GraphComparison.compare(
          expected: expected, actual: try destination.graph(), roots: copies, model: source.view)
        #expect(differences.isEmpty, "\(what): \(differences.prefix(5))")
        #expect(result.objectCount == expected.after.objects.count && result.affectedObjectCount == 0, "\(what)")
      } else if !isUncertain {
        Issue.record("\(what): the store clones what it should refuse")
      }
    } catch let error as any KVCloneError {
      #expect(expected == nil || isUncertain, "\(what): \(error.message)")
      #expect(try destination.lines().isEmpty, "\(what)")
      if expected != nil { Issue.record("\(what): refused: \(error.message)") }
    }
    #expect(try source.commit == commit && source.graph() == before, "\(what)")
    try destination.expectClean()
  }

  private func randomOptions(
    _ roots: [Label], _ view: ModelView, _ random: inout SeededGenerator
  ) -> (CloneOptions, ReferenceCloneOptions) {
    var options = CloneOptions()
    var reference = ReferenceCloneOptions()
    options.outsideObjects = .leaveEmpty
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
    return (options, reference)
  }
}

extension ReferenceClone {
  /// The clone's objects in an empty store: the clones alone, linked among themselves.
  fileprivate var arriving: ReferenceClone {
    var other = self
    let clones = self.clones
    other.before = ReferenceGraph()
    other.after = ReferenceGraph(
      clones.compactMap { after[$0] }.map { object in
        ReferenceObject(
          object.label, object.attributes, object.relationships.mapValues { $0.filter(clones.contains) })
      })
    return other
  }

  /// The graph with values in place of symbolic ones.
  var filled: ReferenceGraph {
    var graph = after
    for (label, values) in symbols {
      for (path, symbol) in values where symbol != .computed {
        var value = AttributeValue.date(Date())
        if case .fresh = symbol { value = .uuid(UUID()) }
        let parts = path.split(separator: ".").map(String.init)
        if parts.count == 1 {
          graph.objects[label]?.attributes[path] = value
        } else if case .composite(var elements)? = graph.objects[label]?.attributes[parts[0]] {
          elements[parts[1]] = value
          graph.objects[label]?.attributes[parts[0]] = .composite(elements)
        }
      }
    }
    return graph
  }
}
