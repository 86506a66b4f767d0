import Foundation
package import KVClone
import KVCloneBranches
package import KVCloneCore
package import KVCloneRecords

/// The content of stores with branches, and changes of their entries that bypass the library.
extension BranchFixture {
  /// Inserts a book with pages, tags and a cover.
  @discardableResult
  package static func fill(_ store: ObjectStore, _ title: String, cover: Int = 5_000) throws -> ObjectID {
    try store.write { tx in
      let tag = try tx.insert("Tag", ["name": .string("of \(title)")])
      let book = try tx.insert(
        "Book", ["title": .string(title), "cover": .binary(Data(repeating: 7, count: cover))],
        relationships: ["tags": [tag]])
      for number in 0..<40 {
        try tx.insert("Page", ["text": .string("\(title) \(number)")], relationships: ["book": [book]])
      }
      return book
    }
  }

  /// Makes changes of each kind: inserted, changed and deleted objects, with links, index entries and blobs.
  package static func change(_ store: ObjectStore, _ book: ObjectID) throws {
    let added = try fill(store, "added")
    try store.write { tx in
      try tx.set(book, "number", .integer(Int64(added.serial)))
      try tx.set(book, "cover", .binary(Data(repeating: 8, count: 3_000)))
      try tx.delete([try tx.members(book, "pages")[3]])
      try tx.setMembers(book, "tags", try tx.members(added, "tags"))
    }
  }

  /// Returns the content as text.
  package static func text(_ store: ObjectStore) throws -> String {
    var bytes: [UInt8] = []
    _ = try store.dump { piece in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The description of a branch.
  package static func record(_ store: ObjectStore, _ name: String) throws -> BranchValue {
    guard let tables = try BranchTables(store.engine, store.schema.tables) else { throw CheckFixture.TestFailure() }
    return try BranchRecords.existing(try store.readSession().storage, tables, name)
  }

  /// The entries of `overlays`, by their keys.
  package static func overlays(_ store: ObjectStore) throws -> [[UInt8]: [UInt8]] {
    guard let tables = try BranchTables(store.engine, store.schema.tables) else { return [:] }
    var entries: [[UInt8]: [UInt8]] = [:]
    try store.readSession().forEachEntry(tables.overlays) { (key, value) throws(StoreError) in
      entries[key.withUnsafeBytes { Array($0) }] = value.withUnsafeBytes { Array($0) }
      return true
    }
    return entries
  }

  /// Puts an entry into a table of the file, or deletes it.
  package static func plant(_ store: ObjectStore, _ table: TableCode, _ key: [UInt8], _ value: [UInt8]?) throws {
    var storage = StorageTransaction(try store.engine.beginWrite(label: "test", timeout: .seconds(5)))
    let opened = try storage.makeTables([table])[0]
    if let value {
      try storage.put(opened, key.span.bytes, value.span.bytes)
    } else {
      try storage.delete(opened, key.span.bytes)
    }
    try storage.commit()
  }

  /// Puts an entry into a layer.
  package static func plant(
    _ store: ObjectStore, layer: UInt32, _ table: TableCode, _ key: [UInt8], _ value: [UInt8]
  ) throws {
    let place = OverlayKey.encode(layer: layer, table: table, key: key.span.bytes)
    let stored = PreimageView.encode(
      value.span.bytes, seed: ValueEnvelope.seed(tableCode: .overlays, key: place))
    try plant(store, .overlays, place, stored)
  }
}
