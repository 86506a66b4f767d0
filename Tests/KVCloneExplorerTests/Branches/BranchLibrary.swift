import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// A library with a branch, and changes of both since.
struct BranchLibrary {
  static let name = "spring"

  let files: TestStore
  var store: ObjectStore { files.store }
  let branch: ObjectStore
  /// Both sides changed its title; its cover and its tags were changed on the branch only.
  let shared: ObjectID
  /// Deleted on the branch.
  let deleted: ObjectID
  /// Inserted on the branch.
  let inserted: ObjectID
  /// Changed in the store only.
  let other: ObjectID

  static let baseTitle = "The old title"
  static let storeTitle = "The title of the store"
  static let branchTitle = "<script>alert(\"branch\")</script>"

  /// - Parameter hasConflict: whether the store changed the title, too.
  init(hasConflict: Bool = true) throws {
    files = try TestStore(snapshotModel)
    let store = files.store
    let (shared, deleted, other, tag) = try store.write { tx in
      let tag = try tx.insert("Tag", ["name": .string("red")])
      let shared = try tx.insert(
        "Book",
        [
          "number": .integer(1), "title": .string(Self.baseTitle), "cover": .binary(LibraryHistory.oldCover),
        ])
      for number in 0..<3 {
        try tx.insert("Page", ["text": .string("page \(number)")], relationships: ["book": [shared]])
      }
      let deleted = try tx.insert("Book", ["number": .integer(2), "title": .string("deleted")])
      return (shared, deleted, try tx.insert("Book", ["number": .integer(3), "title": .string("other")]), tag)
    }
    (self.shared, self.deleted, self.other) = (shared, deleted, other)
    try store.createSnapshot(named: "first")
    branch = try store.branches.create(Self.name)
    inserted = try branch.write { tx in
      try tx.set(shared, "title", .string(Self.branchTitle))
      try tx.set(shared, "cover", .binary(LibraryHistory.newCover))
      try tx.setMembers(shared, "tags", [tag])
      try tx.delete(deleted)
      return try tx.insert("Book", ["number": .integer(4), "title": .string("new")])
    }
    try store.write { tx in
      try tx.set(other, "title", .string("changed in the store"))
      if hasConflict { try tx.set(shared, "title", .string(Self.storeTitle)) }
    }
  }

  func object(_ id: ObjectID) -> String { "Book/\(id.serial)" }

  /// The title of the shared book in the store, or on the branch.
  func title(onBranch: Bool = false) throws -> String? {
    let store = onBranch ? try store.branches.open(Self.name) : store
    return try store.read { tx in
      guard case .string(let title)? = try tx.value(shared, "title") else { return nil }
      return title
    }
  }

  func exists(_ id: ObjectID) throws -> Bool { try store.read { try $0.exists(id) } }

  func setTitle(_ title: String) throws { try store.write { tx in try tx.set(shared, "title", .string(title)) } }

  /// The conflicts of publishing the branch.
  func conflicts() throws -> ConflictList<ObjectConflict> { try store.branches.planPublish(Self.name).conflicts }
}

extension String {
  /// A value in a query or a form.
  var encoded: String { PercentEncoding.encode(self) }

  /// A text of a page without escapes.
  var unescaped: String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")].reduce(self) {
      $0.replacingOccurrences(of: $1.0, with: $1.1)
    }
  }
}
