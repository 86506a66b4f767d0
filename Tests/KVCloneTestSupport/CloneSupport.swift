import Foundation
package import KVClone
import KVCloneOperations
package import Testing

/// A store, removed with this value, and shorthands for clone tests.
package final class CloneStore {
  package var store: ObjectStore { test.store }
  package let view: ModelView
  private let test: TestStore

  package init(_ model: ManagedObjectModel) throws {
    test = try TestStore(model)
    view = ModelView(model)
  }

  // MARK: Creating and reading objects

  @discardableResult
  package func insert(
    _ entity: String, _ attributes: [String: AttributeValue?] = [:], _ links: [String: [ObjectID]] = [:]
  ) throws -> ObjectID {
    try store.write { try $0.insert(entity, attributes, relationships: links) }
  }

  /// Inserts `count` objects in one transaction; the `name` of each is its position.
  package func insertMany(
    _ count: Int, _ entity: String, _ links: [String: [ObjectID]] = [:]
  ) throws -> [ObjectID] {
    try store.write { tx in
      try (0..<count).map { try tx.insert(entity, ["name": .string("\($0)")], relationships: links) }
    }
  }

  package func set(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID]) throws {
    try store.write { try $0.setMembers(id, relationship, targets) }
  }

  package func value(_ id: ObjectID, _ attribute: String) throws -> AttributeValue? {
    try store.read { try $0.value(id, attribute) }
  }

  package func members(_ id: ObjectID, _ relationship: String) throws -> [ObjectID] {
    try store.read { try $0.members(id, relationship) }
  }

  package func toOne(_ id: ObjectID, _ relationship: String) throws -> ObjectID? {
    try store.read { try $0.toOne(id, relationship) }
  }

  package func name(_ id: ObjectID) throws -> String { try store.read { try $0.name(of: id) } }

  /// The `name` attributes of the members, in stored order.
  package func names(_ id: ObjectID, _ relationship: String) throws -> [String] {
    try store.read { tx in
      try tx.members(id, relationship).map { member in
        if case .string(let text)? = try tx.value(member, "name") { text } else { "nil" }
      }
    }
  }

  package func count(_ entity: String) throws -> Int { try store.read { try $0.count(entity: entity) } }

  // MARK: The whole store

  package func dump() throws -> String {
    var bytes: [UInt8] = []
    _ = try store.dump { span in span.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The objects' lines of a dump, without the header, which contains the commit.
  package func lines() throws -> [Substring] {
    try dump().split(separator: "\n").filter { !$0.hasPrefix(#"{"kvclone""#) }
  }

  package func graph() throws -> ReferenceGraph { try ReferenceGraph(ndjson: dump(), model: view) }

  package func label(_ id: ObjectID) throws -> Label { try #require(Label(name(id))) }

  package var commit: UInt64 { get throws { try store.info().commit } }

  package func expectClean(_ location: SourceLocation = #_sourceLocation) throws {
    try checked(store, sourceLocation: location)
  }

  // MARK: Cloning

  /// Clones in one commit and checks the store.
  @discardableResult
  package func clone(
    _ roots: [ObjectID], _ options: CloneOptions = CloneOptions(), _ location: SourceLocation = #_sourceLocation
  ) throws -> CloneResult {
    let commit = try self.commit
    let result = try store.clone(roots, options: options)
    #expect(try self.commit == commit + 1, sourceLocation: location)
    try expectClean(location)
    return result
  }

  /// Expects that the plan is rejected with this kind (R1), outside and inside a caller's transaction, without changes.
  package func expectRefusal(
    _ kind: CloneError.Kind, _ roots: [ObjectID], _ options: CloneOptions = CloneOptions(), entity: String? = nil,
    property: String? = nil, object: ObjectID? = nil, isPlanned: Bool = true,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let (lines, commit) = (try self.lines(), try self.commit)
    func expectSame(_ when: Comment) throws {
      #expect(try self.lines() == lines, when, sourceLocation: location)
      #expect(try self.commit == commit, when, sourceLocation: location)
    }
    func expectReason(_ error: CloneError, _ when: Comment) throws {
      #expect(error.kind == kind, when, sourceLocation: location)
      if let entity { #expect(error.entity == entity, when, sourceLocation: location) }
      if let property { #expect(error.property == property, when, sourceLocation: location) }
      if let object { #expect(error.object == (try name(object)), when, sourceLocation: location) }
    }
    let outside = #expect(throws: CloneError.self, "alone", sourceLocation: location) {
      try store.clone(roots, options: options)
    }
    if let outside { try expectReason(outside, "alone") }
    try expectSame("alone")

    var inside: CloneError?
    let aborted = #expect(throws: StoreError.self, "abort-only", sourceLocation: location) {
      try store.write { tx in
        do {
          _ = try tx.clone(roots, options: options)
        } catch let error as CloneError {
          inside = error
        }
      }
    }
    #expect(aborted?.kind == .transactionAborted, "abort-only", sourceLocation: location)
    try expectReason(try #require(inside, "inside", sourceLocation: location), "inside")
    try expectSame("inside")

    guard isPlanned else { return }
    let plan = Result { try store.planClone(roots, options: options) }
    switch plan {
    case .success(let plan): #expect(plan.errors.contains { $0.kind == kind }, "plan", sourceLocation: location)
    case .failure(let error): try expectReason(try #require(error as? CloneError), "plan")
    }
    try expectSame("plan")
    try expectClean(location)
  }
}

extension CloneOptions {
  /// Returns options with changes: `.with { $0.maxObjects = 3 }`.
  package static func with(_ change: (inout CloneOptions) -> Void) -> CloneOptions {
    var options = CloneOptions()
    change(&options)
    return options
  }

  /// Returns options that exclude names.
  package static func excluding(_ names: String..., passing: Bool = false) -> CloneOptions {
    .with {
      $0.excludedRelationshipNames = names
      $0.passingExclusionList = passing
    }
  }

  /// Returns options with rules by `Entity.relationship`.
  package static func rules(_ rules: [String: CloneRule]) -> CloneOptions { .with { $0.rules = rules } }
}

/// MOCloner's own model, written in Swift; a test compares it with the file in the corpus.
package enum MOClonerModel {
  package static let model = ManagedObjectModel("Model") {
    EntityDescription("Item", className: "Item") {
      AttributeDescription("index", .integer32, default: 0, userInfo: ["exclude": "value"])
      AttributeDescription("name", .string)
      AttributeDescription("noteIDBlank", .uuid, userInfo: ["followParent": "id", "withoutParent": "blank"])
      AttributeDescription("noteIDKeep", .uuid, userInfo: ["followParent": "id", "withoutParent": "keep"])
      RelationshipDescription("note", toOne: "Note", inverse: "items", inverseEntity: "Note")
      RelationshipDescription("toManyTags", toMany: "ToManyTag", inverse: "items", inverseEntity: "ToManyTag")
      RelationshipDescription("toOneTag", toOne: "ToOneTag", inverse: "items", inverseEntity: "ToOneTag")
    }
    EntityDescription("Memo", className: "Memo") {
      AttributeDescription("text", .string)
      RelationshipDescription("note", toOne: "Note", inverse: "memos", inverseEntity: "Note")
    }
    EntityDescription("Note", className: "Note") {
      AttributeDescription("createDate", .date, userInfo: ["rebuild": "now"])
      AttributeDescription("data", .binary)
      AttributeDescription("derived", .integer32)
      AttributeDescription("id", .uuid, userInfo: ["rebuild": "uuid"])
      AttributeDescription("index", .integer32, default: 0)
      AttributeDescription("name", .string)
      AttributeDescription("transient", .boolean, optional: false, default: true, transient: true)
      RelationshipDescription(
        "items", toMany: "Item", inverse: "note", inverseEntity: "Item", deleteRule: .cascade)
      RelationshipDescription("memos", toMany: "Memo", inverse: "note", inverseEntity: "Memo", ordered: true)
      RelationshipDescription(
        "noteDescription", toOne: "NoteDescription", inverse: "note", inverseEntity: "NoteDescription")
    }
    EntityDescription("NoteDescription", className: "NoteDescription") {
      AttributeDescription("content", .string)
      RelationshipDescription("note", toOne: "Note", inverse: "noteDescription", inverseEntity: "Note")
    }
    EntityDescription("ToManyTag", className: "ToManyTag") {
      AttributeDescription("name", .string)
      RelationshipDescription("items", toMany: "Item", inverse: "toManyTags", inverseEntity: "Item")
    }
    EntityDescription("ToOneTag", className: "ToOneTag") {
      AttributeDescription("name", .string)
      RelationshipDescription("items", toMany: "Item", inverse: "toOneTag", inverseEntity: "Item")
    }
  }
}
