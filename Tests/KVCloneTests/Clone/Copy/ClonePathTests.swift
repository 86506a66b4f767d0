import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Small clones use a separate code path. Its result must be identical to that of the other one, byte for byte.
@Suite("Clone paths, by size")
struct ClonePathTests {
  // MARK: Random graphs

  static let models = [contractModel, CloneContractTangleTests.model, MOClonerModel.model]

  @Test("random graphs, rules, hooks and limits: both paths, and a change of path half way", arguments: 0..<3)
  func randomGraphs(_ model: Int) throws {
    for seed in CloneContractSeeds.some {
      var done = 0
      for step in 0..<4 {
        done += try compareRounds(Self.models[model], seed: seed &+ UInt64(step), size: 3 + 3 * step)
      }
      #expect(done > 0, "every clone was refused, seed \(seed)")
    }
  }

  @Test(
    "models of the corpus",
    .enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
  func corpus() throws {
    for seed in CloneContractSeeds.some {
      var random = SeededGenerator(seed: seed)
      for file in CloneCorpusTests.files.shuffled(using: &random).prefix(6) {
        let model = try ManagedObjectModel.load(contentsOf: file.bundle, version: file.version).model
        _ = try compareRounds(model, seed: seed, size: 4)
      }
    }
  }

  /// Clones several times in stores with the same graph, and returns how many clones succeeded.
  private func compareRounds(_ model: ManagedObjectModel, seed: UInt64, size: Int) throws -> Int {
    var random = SeededGenerator(seed: seed)
    let paths = try ClonePaths(model, smallLimits: [0, CloneSet.smallLimit, 1 + random.below(3 * size)])
    let made = GraphGenerator.generate(ModelView(model), seed: seed, size: size)
    for store in paths.stores { try store.load(made) }
    if random.below(2) == 0 { for store in paths.stores { try store.store.setTracksHistory(true) } }
    var done = 0
    for round in 0..<3 {
      let labels = try paths.stores[0].graph().labels.shuffled(using: &random).prefix(1 + random.below(3))
      let roots = try labels.map(paths.stores[0].id)
      var options = randomOptions(ModelView(model), &random)
      if random.below(3) == 0 { options.willClone = Self.answers(seed: random.next()) }
      if random.below(4) == 0 {
        options.didClone = { tx, source, _ in if source.serial % 3 == 0 { _ = try tx.clone([source]) } }
      }
      let isInside = random.below(3) == 0
      let place: Comment = "seed \(seed), size \(size), round \(round), \(roots)"
      done += try paths.compare(place) { store, smallLimit in
        var options = options
        options.smallLimit = smallLimit
        if isInside { return try store.write { try $0.clone(roots, options: options) } }
        return try store.clone(roots, options: options)
      }
    }
    return done
  }

  private func randomOptions(_ view: ModelView, _ random: inout SeededGenerator) -> CloneOptions {
    var options = CloneOptions()
    options.count = [1, 1, 1, 2, 3][random.below(5)]
    options.references = random.below(4) == 0 ? .keepOriginal : .remap
    options.blobs = random.below(3) == 0 ? .copy : .share
    options.recordsProvenance = random.below(2) == 0
    options.passingExclusionList = random.below(3) == 0
    if random.below(5) == 0 { options.maxObjects = 1 + random.below(60) }
    if random.below(5) == 0 { options.maxDepth = random.below(4) }
    if random.below(6) == 0 { options.maxBytes = UInt64(random.below(20_000)) }
    let names = Set(view.entities.values.flatMap { $0.relationships.map(\.name) }).sorted()
    if random.below(3) == 0, let name = names.randomElement(using: &random) {
      options.excludedRelationshipNames = [name]
    }
    if random.below(3) == 0,
      let entity = view.entities.values.sorted(by: { $0.name < $1.name }).randomElement(using: &random),
      let relationship = entity.relationships.randomElement(using: &random)
    {
      options.rules["\(entity.name).\(relationship.name)"] =
        CloneRule.allCases.randomElement(using: &random)
    }
    return options
  }

  /// Returns a hook with rules that depend only on the edge.
  private static func answers(seed: UInt64)
    -> @Sendable (CloneEdge, borrowing CloneSource) throws
    -> CloneRule
  {
    { edge, _ in
      var hash = SeededGenerator(seed: seed ^ edge.source.rawValue &* 31 ^ edge.parent.rawValue)
      return [edge.rule, edge.rule, .follow, .reference, .skip][hash.below(5)]
    }
  }

  // MARK: The limit

  /// A root, a ring closed by its last objects, hidden lists (links without an inverse), ordered and long lists, blobs.
  static let model = ManagedObjectModel("Paths") {
    EntityDescription("Root") {
      AttributeDescription("name", .string)
      AttributeDescription("image", .binary)
      RelationshipDescription("items", toMany: "Item", inverse: "root", ordered: true, deleteRule: .cascade)
    }
    EntityDescription("Item") {
      AttributeDescription("name", .string)
      RelationshipDescription("root", toOne: "Root", inverse: "items")
      RelationshipDescription("next", toOne: "Item")
      RelationshipDescription("tags", toMany: "Tag", inverse: "items")
      RelationshipDescription("shelf", toOne: "Shelf", inverse: "items")
    }
    EntityDescription("Tag") { RelationshipDescription("items", toMany: "Item", inverse: "tags") }
    EntityDescription("Shelf") { RelationshipDescription("items", toMany: "Item", inverse: "shelf", ordered: true) }
  }

  /// Inserts roots with the given total number of objects.
  private static func fill(_ tx: inout WriteTransaction, objects: Int, roots: Int) throws -> [ObjectID] {
    let tags = try (0..<20).map { _ in try tx.insert("Tag") }
    let shelves = try (0..<3).map { _ in try tx.insert("Shelf") }
    var ids: [ObjectID] = []
    for number in 0..<roots {
      ids.append(try tx.insert("Root", ["name": .string("\(number)"), "image": contractData(number, count: 5_000)]))
    }
    var last: ObjectID?
    for number in 0..<objects - roots {
      var links = [
        "root": [ids[number % roots]], "tags": [tags[number % 20], tags[number * 7 % 20]],
        "shelf": [shelves[number % 3]],
      ]
      if let last, number % 5 == 0 { links["next"] = [last] }
      last = try tx.insert("Item", ["name": .string("\(number)")], relationships: links)
    }
    return ids
  }

  @Test(
    "around the bound the mark is of the right kind, and the clones are the same",
    arguments: zip([999, 1_000, 1_001], [3, 1, 3]))
  func bound(_ count: Int, _ roots: Int) throws {
    let paths = try ClonePaths(Self.model, smallLimits: [0, CloneSet.smallLimit, 500])
    var ids: [ObjectID] = []
    for store in paths.stores {
      ids = try store.store.write { try Self.fill(&$0, objects: count, roots: roots) }
      try store.store.setTracksHistory(true)
    }
    let session = try paths.stores[0].store.readSession()
    let book = try CloneRuleBook.book(ids, CloneOptions(), in: session)
    let mark = try CloneMarker.mark(
      ids, book, CloneMonitor(), smallLimit: CloneSet.smallLimit, in: session)
    #expect(mark.set.isSmall == (count <= CloneSet.smallLimit) && mark.set.count == count && mark.count == count)
    for (copies, blobs) in [(1, CloneOptions.Blobs.share), (2, .copy)] {
      let done = try paths.compare("\(count) objects, \(copies) copies") { store, smallLimit in
        var options = CloneOptions.contract(count: copies) { $0.recordsProvenance = true }
        options.blobs = blobs
        options.smallLimit = smallLimit
        return try store.clone(ids, options: options)
      }
      #expect(done == 1)
    }
  }

  @Test("objects of the same transaction, and a key that is repeated")
  func pending() throws {
    let paths = try ClonePaths(contractModel, smallLimits: [0, CloneSet.smallLimit, 3])
    for isRepeated in [false, false, true] {
      let done = try paths.compare("repeated: \(isRepeated)") { store, smallLimit in
        var options = CloneOptions()
        options.smallLimit = smallLimit
        if isRepeated {
          options.idempotencyKey = "once"
          let doc = try store.objects("Doc")[0]
          let first = try store.clone([doc], options: options)
          let second = try store.clone([doc], options: options)
          #expect(!first.isRepeated && second.isRepeated && first.roots == second.roots)
          return second
        }
        return try store.write { tx in
          let source = try ContractLibrary(&tx)
          try tx.set(source.pages[0], "number", 7)
          let first = try tx.clone([source.doc], options: options)
          return try tx.clone([first.root, source.doc], options: options)
        }
      }
      #expect(done == 1)
    }
  }

  @Test("cancelled: nothing is written", arguments: [0, 2, CloneSet.smallLimit])
  func cancelled(_ smallLimit: Int) throws {
    let test = try ContractStore(contractModel)
    let source = try ContractLibrary(test.store)
    let cancellation = CloneMonitor()
    cancellation.cancel()
    let options = CloneOptions.contract { $0.smallLimit = smallLimit }
    let error = try test.expectNothingDone {
      _ = try CloneCall([source.doc], options, to: test.store).run(cancellation)
    }
    #expect((error as? CloneError)?.kind == .cancelled)
  }

  @Test(
    "a writer who gave up between plan and lock leaves serials that are not used again",
    arguments: [0, CloneSet.smallLimit])
  func gaveUp(_ smallLimit: Int) throws {
    struct GivenUp: Error {}
    let test = try ContractStore(contractModel)
    let source = try ContractLibrary(test.store)
    let seen = ContractBox<[ObjectID]>([])
    let store = test.store
    var options = CloneOptions.contract { $0.smallLimit = smallLimit }
    // The hook runs during planning, without the lock; on its first call, another writer tries to write.
    options.willClone = { edge, _ in
      if seen.value.isEmpty {
        do {
          try store.write { tx in
            let id = try tx.insert("Page")
            seen.change { $0.append(id) }
            throw GivenUp()
          }
        } catch is GivenUp {}
      }
      return edge.rule
    }
    let result = try store.clone([source.doc], options: options)
    let pages = try store.members(result.root, "pages")
    #expect(pages.count == 3 && !pages.contains(seen.value[0]))
    try test.expectClean()
  }

  // MARK: Rule books

  @Test("a call with other options does not get the last one's rules")
  func rules() throws {
    let test = try ContractStore(contractModel)
    let source = try ContractLibrary(test.store)
    for _ in 0..<2 {
      #expect(try test.store.clone([source.doc]).objectCount == 7)
      #expect(try test.store.clone([source.doc], options: .contract(count: 2)).objectCount == 14)
      let excluding = CloneOptions.contract { $0.excludedRelationshipNames = ["pages"] }
      #expect(try test.store.clone([source.doc], options: excluding).objectCount == 1)
      // Otherwise the document would be cloned with the page.
      let alone = CloneOptions.contract { $0.excludedRelationshipNames = ["doc"] }
      #expect(try test.store.clone([source.pages[0]], options: alone).objectCount == 3)
      #expect(
        try test.store.clone([source.notes[0]], options: .contract { $0.rules["Note.page"] = .skip }).objectCount == 1)
      let limited = CloneOptions.contract { $0.maxObjects = 6 }
      #expect(throws: CloneError.self) { try test.store.clone([source.doc], options: limited) }
      let remembering = CloneOptions.contract { $0.recordsProvenance = true }
      let copy = try test.store.clone([source.doc], options: remembering).root
      #expect(try test.store.read { try $0.provenance(of: copy)?.source } == source.doc)
    }
    try test.expectClean()
  }
}
