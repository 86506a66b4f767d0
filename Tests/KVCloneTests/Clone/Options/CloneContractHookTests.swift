import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// R30: the decisions, observations and changes of the caller's closures.
@Suite("Clone contract: hooks")
struct CloneContractHookTests {
  private struct Refusal: Error, Equatable { var number = 0 }

  private typealias Decide = @Sendable (CloneEdge) -> CloneRule?

  /// Returns options with a hook that returns `decide` or else the model's rule, and records every edge.
  private func options(
    count: Int = 1, _ log: ContractBox<[CloneEdge]> = ContractBox([]), _ decide: @escaping Decide = { _ in nil }
  ) -> CloneOptions {
    .contract(count: count) {
      $0.willClone = { edge, _ in
        log.change { $0.append(edge) }
        return decide(edge) ?? edge.rule
      }
    }
  }

  private func names(_ edges: [CloneEdge], _ test: ContractStore) throws -> [String] {
    try edges.map { edge in
      "\(try test.label(edge.parent)).\(edge.relationship)>\(try test.label(edge.source)) \(edge.rule.rawValue)"
    }
  }

  @Test(
    "R30: every edge that is not excluded is asked about once, from both ends, in the order of R3", .tags(.r30),
    arguments: [1, 3])
  func questions(_ count: Int) throws {
    let test = try ContractStore(contractModel)
    let source = try ContractLibrary(test.store)
    let log = ContractBox<[CloneEdge]>([])
    var options = options(count: count, log)
    options.excludedRelationshipNames = ["box"]
    // The expected breadth-first order, computed from the links in the store.
    var wanted: [String] = []
    try test.store.read { tx in
      var found = [source.doc]
      var position = 0
      while position < found.count {
        let object = found[position]
        position += 1
        let rules: [(String, CloneRule)] =
          switch try tx.entityName(of: object) {
          case "Doc": [("pages", .follow)]
          case "Page": [("doc", .reference), ("notes", .follow), ("shelf", .reference), ("tags", .reference)]
          default: [("page", .reference)]
          }
        for (name, rule) in rules {
          for target in try tx.members(object, name) {
            let edge = "\(try tx.name(of: object)).\(name)>\(try tx.name(of: target)) \(rule.rawValue)"
            wanted.append(edge)
            if rule == .follow && !found.contains(target) { found.append(target) }
          }
        }
      }
    }
    _ = try test.store.planClone([source.doc], options: options)
    #expect(try names(log.value, test) == wanted, "a plan asks")
    log.change { $0 = [] }
    _ = try test.store.clone([source.doc], options: options)
    #expect(try names(log.value, test) == wanted, "a clone asks once for all copies")
    log.change { $0 = [] }
    try test.store.write { tx in _ = try tx.clone([source.doc], options: options) }
    #expect(try names(log.value, test) == wanted, "a clone in a transaction asks")
    try test.expectClean()
  }

  @Test("R30: skip leaves one edge out, and the object if nothing else leads to it", .tags(.r30))
  func skip() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let options = options(count: 3) { [pages = source.pages, shelves = source.shelves] edge in
      edge.source == pages[0] || (edge.parent == pages[1] && edge.source == shelves[0]) ? .skip : nil
    }
    let result = try store.clone([source.doc], options: options)
    #expect(result.objectCount == 4 * 3)
    for root in result.roots {
      let pages = try store.members(root, "pages")
      #expect(try pages.map { try store.value($0, "number") } == [2, 1])
      #expect(try store.toOne(pages[1], "shelf") == nil && store.toOne(pages[0], "shelf") == source.shelves[1])
    }
    #expect(try store.members(source.shelves[0], "pages").count == 3, "nothing was added")
    try test.expectClean()
  }

  @Test(
    "R30: reference shares what would be followed: the clone takes its place only where that is possible", .tags(.r30))
  func reference() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    // The page would be taken from its document, because its inverse is to-one (R13).
    let error = try test.expectRefusal(
      .inverseTaken, [source.doc], options { [page = source.pages[0]] in $0.source == page ? .reference : nil })
    #expect(error?.object == "Page/\(source.pages[0].serial)", "\(String(describing: error))")
    // If the page is cloned by another path anyway, the link leads to the clone (R9).
    let both = options(count: 3) { [page = source.pages[0]] in $0.source == page ? .reference : nil }
    let result = try store.clone([source.doc, source.pages[0]], options: both)
    for copy in 0..<3 {
      let (doc, page) = (result.roots[2 * copy], result.roots[2 * copy + 1])
      #expect(try store.members(doc, "pages")[1] == page && store.toOne(page, "doc") == doc)
    }
    try test.expectClean()
  }

  @Test("R30: follow clones what would be shared, for this one edge", .tags(.r30))
  func follow() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let options = options(count: 2) { [page = source.pages[2], shelf = source.shelves[1]] edge in
      edge.parent == page && edge.source == shelf ? .follow : nil
    }
    let result = try store.clone([source.doc], options: options)
    #expect(result.counts["Shelf"] == 2 && result.objectCount == 16)
    for root in result.roots {
      let pages = try store.members(root, "pages")
      let shelf = try #require(try store.toOne(pages[0], "shelf"))
      #expect(shelf != source.shelves[1])
      #expect(try store.value(shelf, "name") == "B" && store.members(shelf, "pages") == [pages[0]])
      #expect(try store.toOne(pages[1], "shelf") == source.shelves[0])
    }
    #expect(try store.members(source.shelves[1], "pages") == [source.pages[2]])
    try test.expectClean()
  }

  @Test("R30: two answers about one link: followed, then excluded, then stopped", .tags(.r30))
  func bothEnds() throws {
    let answers: [CloneRule] = [.follow, .skip, .reference]
    for fromDoc in answers {
      for fromPage in answers {
        let test = try ContractStore(contractModel)
        let store = test.store
        let doc = try store.insert("Doc")
        let page = try store.insert("Page", relationships: ["doc": [doc]])
        let options = options { $0.parent == doc ? fromDoc : fromPage }
        let result = try store.clone([doc, page], options: options)
        let isMade = fromDoc == .follow || fromPage == .follow || (fromDoc != .skip && fromPage != .skip)
        let place = Comment(rawValue: "doc says \(fromDoc), page says \(fromPage)")
        #expect(result.objectCount == 2 && result.affectedObjectCount == 0, place)
        #expect(try store.members(result.roots[0], "pages") == (isMade ? [result.roots[1]] : []), place)
        #expect(try store.toOne(result.roots[1], "doc") == (isMade ? result.roots[0] : nil), place)
        try test.expectClean()
      }
    }
  }

  @Test(
    "R30: random answers are one more rule for the reference too", .tags(.r30), arguments: CloneContractSeeds.some)
  func random(_ seed: UInt64) throws {
    var done = 0
    for step in 0..<4 {
      let seed = seed &+ UInt64(step)
      let model = step % 2 == 0 ? CloneContractShapeTests.model : contractModel
      let test = try ContractStore(model)
      try test.load(GraphGenerator.generate(test.view, seed: seed, size: 6))
      let graph = try test.graph()
      for entity in graph.counts.keys.sorted().prefix(3) {
        let roots = try graph.labels(of: entity).prefix(2).map(test.id)
        let options = CloneOptions.contract(count: 1 + step % 3) { $0.references = step < 2 ? .remap : .keepOriginal }
        let result = try test.cloneAsReference(
          roots, options, "\(entity), seed \(seed), step \(step)"
        ) {
          owner, name, target in
          var hash = SeededGenerator(seed: seed)
          for byte in "\(owner).\(name)>\(target)".utf8 { hash = SeededGenerator(seed: hash.next() ^ UInt64(byte)) }
          return [nil, nil, nil, .follow, .reference, .skip][hash.below(6)]
        }
        if result != nil { done += 1 }
      }
    }
    #expect(done > 0, "every clone was refused, seed \(seed)")
  }

  @Test("R30: the hook reads the state that is cloned, uncommitted changes of its transaction too", .tags(.r30))
  func reading() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let seen = ContractBox<[AttributeValue?]>([])
    var options = CloneOptions()
    options.willClone = { edge, state in
      if edge.relationship == "pages" {
        let value = try state.object(edge.source)["number"]
        seen.change { $0.append(value) }
        return try state.members(edge.source, "notes").isEmpty ? .skip : .follow
      }
      return edge.rule
    }
    let result = try store.clone([source.doc], options: options)
    #expect(seen.value == [2, 0, 1] && result.counts["Page"] == 2)
    seen.change { $0 = [] }
    try store.write { tx in
      try tx.set(source.pages[2], "number", 22)
      try tx.delete([source.notes[0], source.notes[1]])
      let result = try tx.clone([source.doc], options: options)
      #expect(result.counts["Page"] == 1)
    }
    #expect(seen.value == [22, 0, 1])
    try test.expectClean()
  }

  @Test(
    "R1, R30: what a hook throws comes out as it is, and nothing is written", .tags(.r1, .r30), arguments: [0, 1, 5])
  func throwing(_ number: Int) throws {
    let test = try ContractStore(contractModel)
    let source = try ContractLibrary(test.store)
    let calls = ContractBox(0)
    let throwing: @Sendable () throws -> Void = {
      let call = calls.change { calls in
        calls += 1
        return calls
      }
      if call > number { throw Refusal(number: number) }
    }
    var will = CloneOptions.contract(count: 3)
    will.willClone = { edge, _ in
      try throwing()
      return edge.rule
    }
    var did = CloneOptions.contract(count: 3)
    did.didClone = { _, _, _ in try throwing() }
    for options in [will, did] {
      calls.change { $0 = 0 }
      let error = try test.expectNothingDone { _ = try test.store.clone([source.doc], options: options) }
      #expect(error as? Refusal == Refusal(number: number))
      calls.change { $0 = 0 }
      try test.expectNothingDone("in a transaction that looks away") {
        try test.store.write { tx in
          try tx.insert("Box")
          do {
            _ = try tx.clone([source.doc], options: options)
            Issue.record("no error")
          } catch let error as Refusal {
            #expect(error.number == number)
          }
        }
      }
    }
    calls.change { $0 = 0 }
    #expect(throws: Refusal.self) { try test.store.planClone([source.doc], options: will) }
    #expect(try test.store.planClone([source.doc], options: did).errors.isEmpty, "a dry run has no clones")
  }
}
