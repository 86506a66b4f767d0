import KVClone
import KVCloneOperations
import KVCloneTestSupport

/// The objects of a store with the model `snapshotModel`, as lines of text.
enum LibraryText {
  static func of(_ tx: borrowing ReadTransaction) throws -> [String] {
    var lines: [String] = []
    for entity in ["Book", "Page", "Tag"] {
      for object in try tx.fetch(FetchRequest(entity)) {
        var line = object.name
        for name in ["number", "title", "text", "name"] {
          if let value = try? object.value(name) { line += " \(name)=\(value)" }
        }
        if entity == "Book", let data = try tx.data(object.id, "cover") {
          line += " cover=\(data.count):\(data.first ?? 0)"
        }
        for name in ["tags", "pages", "book", "books"] {
          guard let members = try? tx.members(object.id, name) else { continue }
          line += " \(name)=\(try members.map { try tx.name(of: $0) })"
        }
        lines.append(line)
      }
    }
    return lines
  }
}

/// The issues that a check of the whole store finds.
enum CheckedStore {
  static func issues(_ store: ObjectStore) throws -> [String] {
    try store.check(CheckOptions(readData: true)).issues.map(\.message)
  }
}
