import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// A store with a tagged book that has a cover and 40 pages, and another book.
struct Library {
  let fixture: BranchFixture
  let store: ObjectStore
  let book: ObjectID
  let other: ObjectID
  let tag: ObjectID
  let pages: [ObjectID]

  init(_ kind: StorageKind) throws {
    fixture = try BranchFixture(kind)
    store = fixture.store
    (book, other, tag, pages) = try store.write { tx in
      let tag = try tx.insert("Tag", ["name": .string("old")])
      let book = try tx.insert(
        "Book", ["number": .integer(1), "title": .string("A"), "cover": .binary(Data(repeating: 7, count: 5_000))],
        relationships: ["tags": [tag]])
      let other = try tx.insert("Book", ["number": .integer(2), "title": .string("B")])
      let pages = try (0..<40).map {
        try tx.insert("Page", ["text": .string("\($0)")], relationships: ["book": [book]])
      }
      return (book, other, tag, pages)
    }
  }

  func text(_ store: ObjectStore) throws -> [String] { try store.read { tx in try LibraryText.of(tx) } }

  func text(_ store: ObjectStore, snapshot name: String) throws -> [String] {
    try store.snapshot(named: name).read { tx in try LibraryText.of(tx) }
  }

  func title(_ store: ObjectStore) throws -> AttributeValue? { try store.read { tx in try tx.object(book)["title"] } }

  func setTitle(_ title: String, in store: ObjectStore, author: String = "") throws {
    try store.write { tx in
      tx.author = author
      try tx.set(book, "title", .string(title))
    }
  }

  func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
    #expect(try CheckedStore.issues(store) == [], sourceLocation: sourceLocation)
  }

  /// Deletes a branch and all snapshots, and expects that nothing of them is left.
  func expectNothingLeft(of branch: String, blobs: UInt64, sourceLocation: SourceLocation = #_sourceLocation) throws {
    try store.branches.delete(branch)
    for snapshot in try store.snapshots() { try store.deleteSnapshot(named: snapshot.name) }
    let remains = try fixture.remains()
    for table in ["overlays", "branches", "preimages", "snapshots"] {
      #expect(remains[table] == nil, "\(table)", sourceLocation: sourceLocation)
    }
    #expect(remains["blobinfo"] ?? 0 == blobs, sourceLocation: sourceLocation)
    #expect(remains["blobs"] ?? 0 == blobs, sourceLocation: sourceLocation)
    try check(sourceLocation: sourceLocation)
  }
}
