import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// R36, R29 and R1: the clone does what the plan reports, and a clone that cannot succeed is rejected with all its
/// errors and writes nothing.
@Suite("Clone contract: plans and limits")
struct CloneContractPlanTests {
  @Test(
    "R36: for every model of the corpus a plan says what the clone does, within 5 % of the bytes", .tags(.r36),
    .enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)), arguments: CloneContractSeeds.some)
  func corpus(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var done = 0
    for (index, (bundle, version)) in Corpus.allContents().enumerated() {
      guard !CloneContractSeeds.given.isEmpty || index % 4 == Int(seed % 4) else { continue }
      let model = try ManagedObjectModel.load(contentsOf: bundle, version: version).model
      let place = "\(bundle.split(separator: "/").suffix(2).joined(separator: "/")) \(version), seed \(seed)"
      let made = GraphGenerator.generate(ModelView(model), seed: seed, size: 2)
      guard made.problems.isEmpty, let chosen = made.graph.labels.randomElement(using: &random) else { continue }
      let test = try ContractStore(model)
      let names = try test.load(made)
      let root = try test.store.read { try $0.objectID(named: #require(names["\(chosen)"])) }
      let options = CloneOptions.contract(count: random.chance(in: 2) ? 1 : 3) {
        $0.blobs = random.chance(in: 3) ? .copy : .share
      }
      let (before, commit) = (try test.store.info(), try test.commit())
      let plan = try test.store.planClone([root], options: options)
      #expect(try test.commit() == commit, "\(place)")
      do {
        let result = try test.store.clone([root], options: options)
        test.expectEqual(plan, result, place)
        let after = try test.store.info()
        let gained = after.counts.compactMapValues { $0 > 0 ? $0 : nil }
          .reduce(into: [String: Int]()) { $0[$1.key] = $1.value - (before.counts[$1.key] ?? 0) }
        #expect(gained.filter { $0.value > 0 } == result.counts, "\(place)")
        done += 1
      } catch let error as CloneError {
        #expect(plan.errors.contains { $0.kind == error.kind }, "\(error), planned \(plan.errors), \(place)")
        #expect(try test.commit() == commit, "\(place)")
      }
      let damages = try test.store.check().issues
      #expect(damages.isEmpty, "\(damages.prefix(3)) \(place)")
    }
    #expect(done > 8, "\(done) clones, seed \(seed)")
  }

  @Test(
    "R36: the bytes are right within 5 % for lists and links of every kind too", .tags(.r36),
    arguments: CloneContractSeeds.some)
  func bytes(_ seed: UInt64) throws {
    for (step, size) in [4, 12].enumerated() {
      let test = try ContractStore(CloneContractShapeTests.model)
      try test.load(GraphGenerator.generate(test.view, seed: seed &+ UInt64(step), size: size))
      for entity in ["Group", "Leaf", "Node", "Top"] {
        let root = try #require(try test.store.objects(entity).first)
        // Links without an inverse are tested below.
        let options = CloneOptions.contract { $0.rules = entity == "Leaf" ? [:] : ["Node.free": .skip] }
        let plan = try test.store.planClone([root], options: options)
        let result = try test.store.clone([root], options: options)
        test.expectEqual(plan, result, "\(entity), seed \(seed), size \(size)")
      }
    }
  }

  @Test("R36: links without an inverse to an object that several name", .tags(.r36), arguments: [1, 2, 17])
  func referrers(_ count: Int) throws {
    let test = try ContractStore(CloneContractShapeTests.model)
    let top = try test.store.insert("Top")
    let nodes = try test.store.insert("Node", count: count)
    let leaf = try test.store.insert("Leaf")
    try test.store.setMembers(top, "first", nodes)
    try test.store.write { tx in for node in nodes { try tx.setMembers(node, "free", [leaf]) } }
    test.expectEqual(try test.store.planClone([top]), try test.store.clone([top]))
    try test.expectClean()
  }

  /// Every possible error, each in a separate entity, all of them reached from one root.
  static let faulty = ManagedObjectModel("Faulty") {
    EntityDescription("Root") {
      RelationshipDescription("unique", toMany: "Unique", inverse: "root")
      RelationshipDescription("blank", toMany: "Blank", inverse: "root")
      RelationshipDescription("lost", toMany: "Lost", inverse: "root")
      RelationshipDescription("bound", toMany: "Bound", inverse: "root")
      RelationshipDescription("full", toMany: "Full", inverse: "root")
      RelationshipDescription("pair", toMany: "Pair", inverse: "root")
    }
    EntityDescription("Unique", unique: [["key"]]) {
      AttributeDescription("key", .string)
      RelationshipDescription("root", toOne: "Root", inverse: "unique")
    }
    EntityDescription("Blank") {
      AttributeDescription("text", .string, optional: false, userInfo: ["exclude": ""])
      RelationshipDescription("root", toOne: "Root", inverse: "blank")
    }
    EntityDescription("Lost") {
      AttributeDescription("value", .string, userInfo: ["followParent": "missing"])
      RelationshipDescription("root", toOne: "Root", inverse: "lost")
    }
    EntityDescription("Bound") {
      RelationshipDescription("root", toOne: "Root", inverse: "bound")
      RelationshipDescription("need", toOne: "Need", inverse: "bounds", optional: false, userInfo: ["exclude": ""])
    }
    EntityDescription("Need") { RelationshipDescription("bounds", toMany: "Bound", inverse: "need") }
    EntityDescription("Full") {
      RelationshipDescription("root", toOne: "Root", inverse: "full")
      RelationshipDescription("club", toOne: "Club", inverse: "members")
    }
    EntityDescription("Club") { RelationshipDescription("members", toMany: "Full", inverse: "club", max: 2) }
    EntityDescription("Pair") {
      RelationshipDescription("root", toOne: "Root", inverse: "pair")
      RelationshipDescription("spouse", toOne: "Spouse", inverse: "pair", userInfo: ["clone": "reference"])
    }
    EntityDescription("Spouse") { RelationshipDescription("pair", toOne: "Pair", inverse: "spouse") }
  }

  @Test("R36: every error is reported at once", .tags(.r36), arguments: [1, 3])
  func errors(_ count: Int) throws {
    let test = try ContractStore(Self.faulty)
    let store = test.store
    let root = try store.write { tx in
      let root = try tx.insert("Root")
      let (club, need, spouse) = (try tx.insert("Club"), try tx.insert("Need"), try tx.insert("Spouse"))
      for index in 0..<2 {
        let links = ["root": [root]]
        try tx.insert("Unique", ["key": .string("k\(index)")], relationships: links)
        try tx.insert("Blank", ["text": "t"], relationships: links)
        try tx.insert("Lost", ["value": "v"], relationships: links)
        try tx.insert("Bound", relationships: links.merging(["need": [need]]) { $1 })
        try tx.insert("Full", relationships: links.merging(["club": [club]]) { $1 })
      }
      try tx.insert("Pair", relationships: ["root": [root], "spouse": [spouse]])
      return root
    }
    let commit = try test.commit()
    let errors = try store.planClone([root], options: .contract(count: count)).errors
    let found = Set(errors.map { "\($0.kind.rawValue) \($0.entity ?? "").\($0.property ?? "")" })
    let wanted: Set = [
      "uniquenessConflict Unique.key", "excludedAttributeIsRequired Blank.text", "parentUnavailable Lost.value",
      "requiredRelationshipExcluded Bound.need", "maxCountExceeded Club.members", "inverseTaken Spouse.pair",
    ]
    #expect(found == wanted, "missing \(wanted.subtracting(found)), surplus \(found.subtracting(wanted))")
    #expect(errors.filter { $0.kind == .uniquenessConflict }.compactMap(\.object).sorted() == ["Unique/1", "Unique/2"])
    #expect(errors.allSatisfy { !$0.message.isEmpty && $0.object != nil }, "\(errors)")
    #expect(try test.commit() == commit)
    let kinds = Set(errors.map(\.kind))
    let thrown = try test.expectNothingDone { _ = try store.clone([root], options: .contract(count: count)) }
    #expect((thrown as? CloneError).map { kinds.contains($0.kind) } == true, "\(String(describing: thrown))")
    // Each error is removed in turn, and the others remain.
    let names = ["unique", "blank", "lost", "bound", "full", "pair"]
    for number in names.indices {
      let options = CloneOptions.contract(count: count) { $0.excludedRelationshipNames = Array(names[...number]) }
      let rest = try store.planClone([root], options: options).errors
      #expect(Set(rest.map(\.kind)).count == names.count - 1 - number, "\(names[...number]): \(rest)")
    }
    let options = CloneOptions.contract(count: count) { $0.excludedRelationshipNames = names }
    #expect(try test.cloneAsReference([root], options)?.objectCount == count)
  }

  @Test("R1, R5, R7, R28: mistakes in the call are errors with nothing written", .tags(.r1, .r5, .r7, .r28))
  func mistakes() throws {
    let test = try ContractStore(contractModel)
    let source = try ContractLibrary(test.store)
    let doc = [source.doc]
    func options(_ change: (inout CloneOptions) -> Void) -> CloneOptions { .contract(count: 3, change) }
    let unknown = try test.expectRefusal(
      .unknownRelationship, doc, options { $0.excludedRelationshipNames = ["pagse"] })
    #expect(unknown?.message.contains("pagse") == true)
    try test.expectRefusal(.unknownRelationship, doc, options { $0.rules = ["Page.docs": .follow] })
    try test.expectRefusal(.unknownRelationship, doc, options { $0.excludedRelationshipNames = ["Doc.notes"] })
    try test.expectRefusal(
      .invalidConfiguration, doc, options { $0.userInfoKeys = CloneUserInfoKeys(exclude: "same", rebuild: "same") })
    try test.expectRefusal(
      .objectNotFound, doc + [ObjectID(rootCode: source.doc.rootCode, serial: 999)], options { _ in })
  }

  @Test("R29: limits count all copies; the limit itself is allowed", .tags(.r29))
  func limits() throws {
    for count in [1, 3] {
      let test = try ContractStore(contractModel)
      let store = test.store
      let source = try ContractLibrary(store)
      func options(_ change: (inout CloneOptions) -> Void) -> CloneOptions { .contract(count: count, change) }
      try test.expectRefusal(.limitExceeded, [source.doc], options { $0.maxObjects = 7 * count - 1 })
      #expect(try test.cloneAsReference([source.doc], options { $0.maxObjects = 7 * count }) != nil)
      try test.expectRefusal(.limitExceeded, [source.doc], options { $0.maxDepth = 1 })
      #expect(try test.cloneAsReference([source.doc], options { $0.maxDepth = 2 }) != nil)
      let bytes = try store.planClone([source.doc], options: options { _ in }).bytesWritten
      try test.expectRefusal(.limitExceeded, [source.doc], options { $0.maxBytes = bytes / 2 })
      #expect(try store.clone([source.doc], options: options { $0.maxBytes = bytes * 2 }).objectCount == 7 * count)
      // Shared bytes are not written; copied ones are.
      try test.expectRefusal(
        .limitExceeded, [source.doc],
        options {
          $0.maxBytes = bytes * 2
          $0.blobs = .copy
        })
      #expect(try test.cloneAsReference([source.notes[0]], options { $0.maxDepth = 0 }) != nil)
    }
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let one = try store.planClone([source.doc]).bytesWritten
    try test.expectRefusal(.limitExceeded, [source.doc], .contract(count: 1000) { $0.maxBytes = one * 100 })
    try test.expectRefusal(.limitExceeded, [source.doc], .contract(count: .max) { $0.maxObjects = 1_000_000 })
    try test.expectClean()
  }

  @Test("R36: a plan does not wait for writers, and sees what is committed", .tags(.r36))
  func whileWriting() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let counted = ContractBox(0)
    try store.write { tx in
      try tx.delete([source.notes[0]])
      let ended = DispatchSemaphore(value: 0)
      let thread = Thread {
        let count = (try? store.planClone([source.doc], options: .contract(count: 1000)).objectCount) ?? -1
        counted.change { $0 = count }
        ended.signal()
      }
      thread.start()
      #expect(ended.wait(timeout: .now() + 600) == .success)
    }
    #expect(counted.value == 7000)
    #expect(try store.planClone([source.doc]).objectCount == 6)
    #expect(try store.planClone([source.doc]).estimatedLockDuration > .zero)
  }

  @Test("R36: a plan names the rule that decided about each relationship", .tags(.r36))
  func rules() throws {
    let test = try ContractStore(contractModel)
    let source = try ContractLibrary(test.store)
    let options = CloneOptions.contract(count: 3) { $0.excludedRelationshipNames = ["box"] }
    let rules = try test.store.planClone([source.doc], options: options).rules
    let named = Set(rules.map { "\($0.entity).\($0.property)" })
    for name in ["Doc.pages", "Doc.box", "Page.doc", "Page.notes", "Page.shelf", "Page.tags", "Note.page", "Doc.id"] {
      #expect(named.contains(name), "\(name) is not in \(named.sorted())")
    }
  }
}
