import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// A library with a snapshot before and after each of some changes.
struct LibraryHistory {
  let files: TestStore
  var store: ObjectStore { files.store }
  let kept: ObjectID
  let deleted: ObjectID
  let inserted: ObjectID

  static let oldCover = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + [UInt8](repeating: 1, count: 5000))
  static let newCover = Data([0xFF, 0xD8, 0xFF] + [UInt8](repeating: 2, count: 6000))

  init(options: StoreOptions = StoreOptions()) throws {
    files = try TestStore(snapshotModel, options: options)
    let store = files.store
    let (kept, deleted, pages, tags) = try store.write { tx in
      let tags = [try tx.insert("Tag", ["name": .string("red")]), try tx.insert("Tag", ["name": .string("blue")])]
      let kept = try tx.insert(
        "Book", ["number": .integer(1), "title": .string("The old & quick title"), "cover": .binary(Self.oldCover)],
        relationships: ["tags": [tags[0]]])
      let deleted = try tx.insert("Book", ["number": .integer(2), "title": .string("<script>alert(1)</script>")])
      var pages: [ObjectID] = []
      for number in 0..<3 {
        pages.append(try tx.insert("Page", ["text": .string("page \(number)")], relationships: ["book": [kept]]))
      }
      return (kept, deleted, pages, tags)
    }
    (self.kept, self.deleted) = (kept, deleted)
    try store.createSnapshot(named: "first")
    inserted = try store.write { tx in
      try tx.set(kept, "title", .string("The new & quick title"))
      try tx.set(kept, "cover", .binary(Self.newCover))
      try tx.setMembers(kept, "tags", [tags[1]])
      try tx.setMembers(kept, "pages", pages.reversed())
      try tx.delete(deleted)
      return try tx.insert("Book", ["number": .integer(3), "title": .string("new")])
    }
    try store.createSnapshot(named: "second")
  }

  func name(_ id: ObjectID) -> String { "Book/\(id.serial)" }
}
