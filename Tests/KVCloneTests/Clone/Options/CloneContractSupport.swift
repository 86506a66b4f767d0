import Foundation
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// `KVCLONE_SEEDS=7,8` repeats failures, and uses every model of the corpus. By default each run has a random seed, and
/// uses a different quarter of the models.
enum CloneContractSeeds {
  static let given = (ProcessInfo.processInfo.environment["KVCLONE_SEEDS"] ?? "").split(separator: ",").compactMap {
    UInt64($0)
  }
  static let some: [UInt64] = given.isEmpty ? [.random(in: 0 ... .max)] : given
}

/// A store that compares its clones with the rules, and with the reference cloner.
final class ContractStore {
  let test: TestStore
  let view: ModelView
  var store: ObjectStore { test.store }

  init(_ model: ManagedObjectModel) throws {
    test = try TestStore(model)
    view = ModelView(model)
  }

  func commit() throws -> UInt64 { try store.info().commit }

  func dump() throws -> String {
    var bytes: [UInt8] = []
    _ = try store.dump { piece in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    return String(decoding: bytes, as: UTF8.self)
  }

  func graph() throws -> ReferenceGraph { try ReferenceGraph(ndjson: dump(), model: view) }

  func label(_ id: ObjectID) throws -> Label { try #require(Label(try store.read { try $0.name(of: id) })) }

  func id(_ label: Label) throws -> ObjectID { try store.read { try $0.objectID(named: "\(label)") } }

  /// - Returns: The ids of the graph's labels.
  @discardableResult
  func load(_ graph: GeneratedGraph) throws -> [String: String] {
    var rest = Array(try graph.ndjson(model: view).utf8)[...]
    var options = LoadOptions()
    options.idLimit = .max
    return try store.load(options) { buffer in
      buffer.append(contentsOf: rest)
      defer { rest = [] }
      return !rest.isEmpty
    }.ids
  }

  /// R1: expects that `body` throws, and that neither the objects nor the commit number have changed.
  @discardableResult
  func expectNothingDone(
    _ place: String = "", sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) throws -> (any Error)? {
    let (before, commit) = (try dump(), try commit())
    var failure: (any Error)?
    do {
      try body()
      Issue.record("nothing was thrown \(place)", sourceLocation: sourceLocation)
    } catch {
      failure = error
    }
    #expect(try dump() == before, "the store has changed \(place)", sourceLocation: sourceLocation)
    #expect(try self.commit() == commit, "the commit counter has changed \(place)", sourceLocation: sourceLocation)
    try expectClean(place, sourceLocation)
    return failure
  }

  func expectClean(_ place: String = "", _ sourceLocation: SourceLocation = #_sourceLocation) throws {
    let damages = try store.check(CheckOptions(readData: true)).issues
    #expect(damages.isEmpty, "\(damages.prefix(5).map(\.message)) \(place)", sourceLocation: sourceLocation)
  }

  /// R1, R36: expects that the plan reports `kind`, that the clone throws one of the plan's errors, and that nothing is
  /// written. Inside a caller's transaction, the caller's earlier changes are rolled back as well.
  @discardableResult
  func expectRefusal(
    _ kind: CloneError.Kind, _ roots: [ObjectID], _ options: CloneOptions = CloneOptions(),
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> CloneError? {
    let (before, commit) = (try dump(), try commit())
    var found: CloneError?
    do {
      let errors = try store.planClone(roots, options: options).errors
      found = errors.first { $0.kind == kind }
      #expect(found != nil, "the plan says \(errors)", sourceLocation: sourceLocation)
    } catch let error as CloneError {
      #expect(error.kind == kind, "the plan throws \(error)", sourceLocation: sourceLocation)
      found = error
    }
    #expect(try dump() == before && self.commit() == commit, "the plan wrote", sourceLocation: sourceLocation)
    let thrown = try expectNothingDone("clone", sourceLocation: sourceLocation) {
      _ = try store.clone(roots, options: options)
    }
    #expect((thrown as? CloneError)?.kind == kind, "\(String(describing: thrown))", sourceLocation: sourceLocation)
    // A failed clone makes the caller's transaction abort-only, even if the caller ignores the error.
    try expectNothingDone("inside a transaction", sourceLocation: sourceLocation) {
      try store.write { tx in
        let entity = try tx.entityName(of: roots[0])
        _ = try tx.insert(entity)
        do {
          _ = try tx.clone(roots, options: options)
          Issue.record("no error inside a transaction", sourceLocation: sourceLocation)
        } catch let error as CloneError {
          #expect(error.kind == kind, "\(error)", sourceLocation: sourceLocation)
        }
      }
    }
    return found
  }

  /// R36: expects that the clone did what was planned.
  func expectEqual(
    _ plan: ClonePlan, _ result: CloneResult, _ place: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(plan.errors.isEmpty, "\(plan.errors.prefix(3)) \(place)", sourceLocation: sourceLocation)
    #expect(plan.objectCount == result.objectCount, "objectCount \(place)", sourceLocation: sourceLocation)
    #expect(plan.counts == result.counts, "counts \(place)", sourceLocation: sourceLocation)
    #expect(
      plan.affectedObjectCount == result.affectedObjectCount, "touchedCount \(place)", sourceLocation: sourceLocation)
    #expect(plan.affectedObjectIDs == result.affectedObjectIDs, "touched \(place)", sourceLocation: sourceLocation)
    #expect(plan.blobsShared == result.blobsShared, "blobsShared \(place)", sourceLocation: sourceLocation)
    #expect(plan.bytesShared == result.bytesShared, "bytesShared \(place)", sourceLocation: sourceLocation)
    #expect(plan.bytesCopied == result.bytesCopied, "bytesCopied \(place)", sourceLocation: sourceLocation)
    #expect(plan.bytesWritten == result.bytesWritten, "bytesWritten \(place)", sourceLocation: sourceLocation)
  }

  /// Plans, clones, and compares with the independent reference cloner.
  ///
  /// - Returns: The result, or nil if the rules reject the clone, which is then checked, too.
  @discardableResult
  func cloneAsReference(
    _ roots: [ObjectID], _ options: CloneOptions = CloneOptions(), _ place: String = "",
    hook: (@Sendable (Label, String, Label) -> ReferenceCloneOptions.EdgeRule?)? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> CloneResult? {
    let (before, commit) = (try graph(), try commit())
    var options = options
    let wanted = reference(options, hook)
    if let hook { options.willClone = Self.willClone(hook) }
    let plan = try store.planClone(roots, options: options)
    #expect(try self.commit() == commit, "the plan committed \(place)", sourceLocation: sourceLocation)
    let labels = try roots.map(label)
    let expected: ReferenceClone
    do {
      expected = try ReferenceCloner.clone(labels, in: before, model: view, options: wanted)
    } catch {
      let kinds = Set(plan.errors.map(\.kind.rawValue))
      #expect(
        plan.errors.count >= 100 ? kinds.isSubset(of: error.kinds) : kinds == error.kinds,
        "planned \(plan.errors.prefix(5)), reference \(error.errors.prefix(5)) \(place)", sourceLocation: sourceLocation
      )
      let thrown = try expectNothingDone(place, sourceLocation: sourceLocation) {
        _ = try store.clone(roots, options: options)
      }
      let kind = (thrown as? CloneError)?.kind.rawValue ?? "\(String(describing: thrown))"
      #expect(error.kinds.contains(kind), "\(kind) \(place)", sourceLocation: sourceLocation)
      return nil
    }
    let result = try store.clone(roots, options: options)
    expectEqual(plan, result, place, sourceLocation: sourceLocation)
    #expect(
      result.affectedObjectCount == expected.affectedObjectIDs.count, "touched \(place)", sourceLocation: sourceLocation
    )
    let width = result.roots.count / options.count
    let copies = try (0..<options.count).map { copy in
      try result.roots[copy * width..<(copy + 1) * width].map(label)
    }
    let differences = GraphComparison.compare(expected: expected, actual: try graph(), roots: copies, model: view)
    #expect(differences.isEmpty, "\(differences.prefix(5)) \(place)", sourceLocation: sourceLocation)
    try expectClean(place, sourceLocation)
    return result
  }

  private func reference(
    _ options: CloneOptions, _ hook: (@Sendable (Label, String, Label) -> ReferenceCloneOptions.EdgeRule?)?
  ) -> ReferenceCloneOptions {
    var result = ReferenceCloneOptions()
    result.excludedRelationshipNames = options.excludedRelationshipNames
    result.passingExclusionList = options.passingExclusionList
    result.references = options.references == .remap ? .remap : .keepOriginal
    result.count = options.count
    result.maxObjects = options.maxObjects
    result.maxDepth = options.maxDepth
    for (name, rule) in options.rules {
      result.rules[name] = rule == .follow ? .follow : rule == .reference ? .reference : .skip
    }
    if let hook { result.willClone = { owner, name, target, rule in hook(owner, name, target) ?? rule } }
    return result
  }

  private static func willClone(
    _ hook: @escaping @Sendable (Label, String, Label) -> ReferenceCloneOptions.EdgeRule?
  ) -> @Sendable (CloneEdge, borrowing CloneSource) throws -> CloneRule {
    { edge, source in
      guard let owner = Label(try source.name(of: edge.parent)), let target = Label(try source.name(of: edge.source))
      else { return .skip }
      return switch hook(owner, edge.relationship, target) {
      case nil: edge.rule
      case .follow: .follow
      case .reference: .reference
      case .skip: .skip
      }
    }
  }
}

extension CloneOptions {
  /// Returns options with changes.
  static func contract(count: Int = 1, _ change: (inout CloneOptions) -> Void = { _ in }) -> CloneOptions {
    var options = CloneOptions()
    options.count = count
    change(&options)
    return options
  }
}

/// Returns bytes above the inline size that depend on `seed`.
func contractData(_ seed: Int, count: Int = 2000) -> AttributeValue {
  .binary(Data(repeating: UInt8(truncatingIfNeeded: seed &+ 1), count: count))
}

/// A document owns pages, a page owns notes; shelves, tags and boxes are shared, the first two in an order of their
/// own.
let contractModel = ManagedObjectModel("Contract") {
  EntityDescription("Doc") {
    AttributeDescription("id", .uuid, userInfo: ["rebuild": "uuid"])
    AttributeDescription("made", .date, userInfo: ["rebuild": "now"])
    AttributeDescription("title", .string)
    AttributeDescription("cover", .binary)
    RelationshipDescription("pages", toMany: "Page", inverse: "doc", ordered: true, deleteRule: .cascade)
    RelationshipDescription("box", toOne: "Box", inverse: "docs")
  }
  EntityDescription("Page") {
    AttributeDescription("docID", .uuid, userInfo: ["followParent": "id", "withoutParent": "blank"])
    AttributeDescription("number", .integer32)
    AttributeDescription("image", .binary)
    RelationshipDescription("doc", toOne: "Doc", inverse: "pages")
    RelationshipDescription("notes", toMany: "Note", inverse: "page", deleteRule: .cascade)
    RelationshipDescription("shelf", toOne: "Shelf", inverse: "pages")
    RelationshipDescription("tags", toMany: "Tag", inverse: "pages", ordered: true)
  }
  EntityDescription("Note") {
    AttributeDescription("docID", .uuid, userInfo: ["followParent": "docID", "withoutParent": "keep"])
    AttributeDescription("text", .string)
    RelationshipDescription("page", toOne: "Page", inverse: "notes")
  }
  EntityDescription("Shelf") {
    AttributeDescription("name", .string)
    RelationshipDescription("pages", toMany: "Page", inverse: "shelf", ordered: true)
  }
  EntityDescription("Tag") { RelationshipDescription("pages", toMany: "Page", inverse: "tags", ordered: true) }
  EntityDescription("Box") { RelationshipDescription("docs", toMany: "Doc", inverse: "box") }
}

/// A document with three pages and three notes, and objects that it shares with another document.
struct ContractLibrary {
  let doc: ObjectID
  let pages: [ObjectID]
  let notes: [ObjectID]
  let stranger: ObjectID
  let shelves: [ObjectID]
  let tags: [ObjectID]
  let box: ObjectID

  init(_ store: ObjectStore) throws {
    self = try store.write { tx in try ContractLibrary(&tx) }
  }

  init(_ tx: inout WriteTransaction) throws {
    let id = UUID()
    box = try tx.insert("Box")
    doc = try tx.insert(
      "Doc", ["id": .uuid(id), "title": "Source", "cover": contractData(0)], relationships: ["box": [box]])
    var pages: [ObjectID] = []
    for number in 0..<3 {
      let values: [String: AttributeValue?] = ["number": .integer(Int64(number)), "docID": .uuid(id)]
      pages.append(try tx.insert("Page", values))
    }
    self.pages = pages
    try tx.set(pages[1], "image", try tx.value(doc, "cover"))
    // In another order than that of the ids.
    try tx.setMembers(doc, "pages", [pages[2], pages[0], pages[1]])
    var notes: [ObjectID] = []
    for (number, page) in [pages[0], pages[0], pages[2]].enumerated() {
      let values: [String: AttributeValue?] = ["text": .string("note \(number)"), "docID": .uuid(id)]
      notes.append(try tx.insert("Note", values, relationships: ["page": [page]]))
    }
    self.notes = notes
    stranger = try tx.insert("Page", ["number": 99])
    shelves = [try tx.insert("Shelf", ["name": "A"]), try tx.insert("Shelf", ["name": "B"])]
    try tx.setMembers(shelves[0], "pages", [pages[1], stranger, pages[0]])
    try tx.setMembers(shelves[1], "pages", [pages[2]])
    tags = [try tx.insert("Tag"), try tx.insert("Tag")]
    try tx.setMembers(tags[0], "pages", [pages[2], pages[0], stranger, pages[1]])
    try tx.setMembers(tags[1], "pages", [pages[1], pages[2]])
    try tx.setMembers(pages[2], "tags", [tags[1], tags[0]])
  }
}
