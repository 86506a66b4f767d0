import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport

/// Random changes of stores with the model `snapshotModel`, from few values, so that both sides often change the same.
struct LibraryEdits {
  var random: SeededGenerator
  private var lastNumber: Int64 = 0

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// Makes a few changes in one transaction.
  mutating func edit(_ store: ObjectStore) throws {
    var edits = self
    try store.write { tx in
      for _ in 0...edits.random.below(6) { try edits.change(&tx) }
    }
    self = edits
  }

  private mutating func text() -> AttributeValue { .string(["a", "b", "c", "d"][random.below(4)]) }

  private mutating func pick(_ entity: String, _ tx: borrowing WriteTransaction) throws -> ObjectID? {
    let ids = try tx.fetchIDs(FetchRequest(entity)).sorted()
    return ids.isEmpty ? nil : ids[random.below(ids.count)]
  }

  private mutating func change(_ tx: inout WriteTransaction) throws {
    let book = try pick("Book", tx)
    switch random.below(10) {
    case 0:
      try tx.insert("Page", ["text": text()], relationships: ["book": [book].compactMap(\.self)])
    case 1:
      try tx.insert("Tag", ["name": text()], relationships: ["books": [book].compactMap(\.self)])
    case 2:
      lastNumber += 1
      try tx.insert("Book", ["number": .integer(lastNumber), "title": text()])
    case 3: if let page = try pick("Page", tx) { try tx.set(page, "text", text()) }
    case 4: if let tag = try pick("Tag", tx) { try tx.set(tag, "name", text()) }
    case 5: if let book { try tx.set(book, "title", text()) }
    case 6: if let page = try pick("Page", tx) { try tx.setMembers(page, "book", [book].compactMap(\.self)) }
    case 7:
      guard let book, let tag = try pick("Tag", tx) else { return }
      if try tx.members(book, "tags").contains(tag) {
        try tx.unlink(book, "tags", [tag])
      } else {
        try tx.link(book, "tags", [tag])
      }
    case 8:
      if let doomed = try pick(random.chance(in: 2) ? "Page" : "Tag", tx) { _ = try tx.delete([doomed]) }
    default:
      let byte = UInt8(random.below(3))
      if let book { try tx.set(book, "cover", .binary(Data(repeating: byte, count: 10 + 5_000 * Int(byte)))) }
    }
  }
}
