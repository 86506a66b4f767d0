import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// Documents that own sections, notes and a summary, and share tags, readers and shelves. The delete rules of what they
/// share would take it along, or refuse the deletion.
let draftModel = ManagedObjectModel("Documents") {
  EntityDescription("Document", unique: [["slug"]]) {
    AttributeDescription("uid", .uuid, userInfo: ["rebuild": "uuid"])
    AttributeDescription("slug", .string, userInfo: ["exclude": "value"])
    AttributeDescription("title", .string)
    AttributeDescription("views", .integer64, userInfo: ["merge": "sum"])
    AttributeDescription("picture", .binary)
    AttributeDescription("sectionCount", .integer64, derivation: "sections.@count")
    RelationshipDescription("sections", toMany: "Section", inverse: "document", ordered: true, deleteRule: .cascade)
    RelationshipDescription("lead", toOne: "Section", userInfo: ["clone": "reference"])
    RelationshipDescription("related", toMany: "Section", userInfo: ["clone": "reference"])
    RelationshipDescription("summary", toOne: "Summary", inverse: "document")
    RelationshipDescription("tags", toMany: "Tag", inverse: "documents", deleteRule: .cascade)
    RelationshipDescription("readers", toMany: "Reader", inverse: "documents", deleteRule: .deny)
    RelationshipDescription("shelf", toOne: "Shelf", inverse: "documents")
  }
  EntityDescription("Section") {
    AttributeDescription("text", .string)
    AttributeDescription("documentUID", .uuid, userInfo: ["followParent": "uid", "withoutParent": "keep"])
    AttributeDescription(
      "documentViews", .integer64, max: .integer(100), userInfo: ["followParent": "views", "withoutParent": "keep"])
    RelationshipDescription("document", toOne: "Document", inverse: "sections")
    RelationshipDescription("notes", toMany: "Note", inverse: "section", deleteRule: .cascade)
  }
  EntityDescription("Note") {
    AttributeDescription("text", .string)
    AttributeDescription("sectionUID", .uuid, userInfo: ["followParent": "documentUID", "withoutParent": "keep"])
    RelationshipDescription("section", toOne: "Section", inverse: "notes", optional: false)
  }
  EntityDescription("Summary") {
    AttributeDescription("text", .string)
    RelationshipDescription("document", toOne: "Document", inverse: "summary")
  }
  EntityDescription("Tag", unique: [["name"]]) {
    AttributeDescription("name", .string)
    RelationshipDescription("documents", toMany: "Document", inverse: "tags", ordered: true)
  }
  EntityDescription("Reader") {
    AttributeDescription("name", .string)
    RelationshipDescription("documents", toMany: "Document", inverse: "readers")
  }
  EntityDescription("Shelf") {
    AttributeDescription("name", .string)
    RelationshipDescription("documents", toMany: "Document", inverse: "shelf", ordered: true, min: 2)
  }
  EntityDescription("Bookmark") {
    AttributeDescription("name", .string)
    RelationshipDescription("document", toOne: "Document", optional: false)
    RelationshipDescription("sections", toMany: "Section")
  }
}

/// A store with a document that has three sections with a note each, a summary, a tag, a reader and a shelf; and another
/// document on the shelf.
final class DraftFixture {
  /// The number of objects that a clone of the document copies.
  static let ownedCount = 8

  let store: ObjectStore
  let document, summary, other, tag, reader, shelf: ObjectID
  let sections: [ObjectID]
  let notes: [ObjectID]
  private let storage: BranchFixture

  init(_ kind: StorageKind = .lmdb) throws {
    storage = try BranchFixture(kind, model: draftModel)
    store = storage.store
    (document, other) = try store.write { tx in
      let uid = UUID()
      let document = try tx.insert(
        "Document",
        [
          "uid": .uuid(uid), "slug": "first", "title": "A", "views": 10,
          "picture": .binary(Data(repeating: 7, count: 5_000)),
        ])
      for name in ["1", "2", "3"] {
        let section = try tx.insert(
          "Section", ["text": .string(name), "documentUID": .uuid(uid)], relationships: ["document": [document]])
        try tx.insert("Note", ["text": .string("of \(name)")], relationships: ["section": [section]])
      }
      try tx.insert("Summary", ["text": "short"], relationships: ["document": [document]])
      try tx.insert("Tag", ["name": "red"], relationships: ["documents": [document]])
      try tx.insert("Reader", ["name": "Eve"], relationships: ["documents": [document]])
      let other = try tx.insert("Document", ["uid": .uuid(UUID()), "slug": "second", "title": "B"])
      try tx.insert("Shelf", ["name": "top"], relationships: ["documents": [document, other]])
      return (document, other)
    }
    sections = try store.objects("Section")
    notes = try store.objects("Note")
    summary = try #require(store.objects("Summary").first)
    tag = try #require(store.objects("Tag").first)
    reader = try #require(store.objects("Reader").first)
    shelf = try #require(store.objects("Shelf").first)
  }

  // MARK: Cloning

  /// Clones the document, or other roots, with a base.
  @discardableResult
  func draft(
    _ roots: [ObjectID]? = nil, in branch: ObjectStore? = nil, _ change: (inout CloneOptions) -> Void = { _ in }
  ) throws -> ObjectID {
    var options = CloneOptions()
    options.keepsBase = true
    change(&options)
    return try (branch ?? store).clone(roots ?? [document], options: options).root
  }

  /// Clones the document with a base, and inserts a bookmark of the clone in the same transaction.
  func bookmarkedDraft() throws -> (draft: ObjectID, bookmark: ObjectID) {
    var options = CloneOptions()
    options.keepsBase = true
    return try store.write { tx in
      let draft = try tx.clone([document], options: options).root
      return (draft, try tx.insert("Bookmark", ["name": "here"], relationships: ["document": [draft]]))
    }
  }

  /// The clones of a source in the order of their creation.
  func clones(of source: ObjectID, in branch: ObjectStore? = nil) throws -> [ObjectID] {
    try (branch ?? store).read { tx in
      var clones: [ObjectID] = []
      try tx.forEachObject(of: try tx.entityName(of: source)) { object in
        if try tx.provenance(of: object.id)?.source == source { clones.append(object.id) }
        return true
      }
      return clones
    }
  }

  /// The youngest clone of a source.
  func clone(of source: ObjectID, in branch: ObjectStore? = nil) throws -> ObjectID {
    try #require(try clones(of: source, in: branch).last)
  }

  // MARK: Reading

  func text(_ document: ObjectID, in branch: ObjectStore? = nil) throws -> [String] {
    try (branch ?? store).read { tx in try DraftText.of(document, tx) }
  }

  /// All objects with all values, without the number of the commit.
  func lines() throws -> [Substring] {
    try BranchFixture.text(store).split(separator: "\n").filter { !$0.hasPrefix(#"{"kvclone""#) }
  }

  func value(_ id: ObjectID, _ attribute: String) throws -> AttributeValue? { try store.value(id, attribute) }

  // MARK: Expecting

  func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
    #expect(try CheckedStore.issues(store) == [], sourceLocation: sourceLocation)
    try checked(store, sourceLocation: sourceLocation)
  }

  /// Deletes all snapshots, and expects that nothing of drafts is left: no base, preimage or blob.
  func expectNothingLeft(blobs: UInt64, sourceLocation: SourceLocation = #_sourceLocation) throws {
    for snapshot in try store.snapshots() { try store.deleteSnapshot(named: snapshot.name) }
    _ = try store.deleteExpiredSnapshots()
    #expect(try store.branches.bases().isEmpty, sourceLocation: sourceLocation)
    #expect(try store.drafts.list().isEmpty, sourceLocation: sourceLocation)
    let remains = try storage.remains()
    for table in ["preimages", "snapshots", "overlays", "branches"] {
      #expect(remains[table] == nil, "\(table)", sourceLocation: sourceLocation)
    }
    #expect(remains["blobinfo"] ?? 0 == blobs, sourceLocation: sourceLocation)
    try check(sourceLocation: sourceLocation)
  }
}

/// The graph of a document as text without ids, for comparing a clone with its source.
enum DraftText {
  static func of(_ document: ObjectID, _ tx: borrowing ReadTransaction) throws -> [String] {
    func texts(_ ids: [ObjectID], _ attribute: String) throws -> [String] {
      try ids.map { id in text(try tx.value(id, attribute)) }
    }
    let lead = try tx.toOne(document, "lead").map { [$0] } ?? []
    let summary = try tx.toOne(document, "summary").map { [$0] } ?? []
    let data = try tx.data(document, "picture")
    var lines = [
      "title \(text(try tx.value(document, "title")))", "views \(text(try tx.value(document, "views")))",
      "picture \(data?.count ?? 0) \(data?.first ?? 0)", "lead \(try texts(lead, "text"))",
      "summary \(try texts(summary, "text"))", "tags \(try texts(tx.members(document, "tags"), "name").sorted())",
      "readers \(try texts(tx.members(document, "readers"), "name").sorted())",
      "count \(text(try tx.value(document, "sectionCount")))",
    ]
    for section in try tx.members(document, "sections") {
      let isOwn = try tx.value(section, "documentUID") == tx.value(document, "uid")
      let notes = try texts(tx.members(section, "notes"), "text").sorted()
      lines.append("section \(text(try tx.value(section, "text"))) \(isOwn ? "own" : "foreign") \(notes)")
    }
    return lines
  }

  private static func text(_ value: AttributeValue?) -> String { value.map { "\($0)" } ?? "nil" }
}
