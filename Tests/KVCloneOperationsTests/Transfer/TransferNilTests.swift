import Foundation
import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

/// A dump contains the value of every attribute, including nil for attributes with a default value, and a load restores
/// it.
@Suite("Dump and load: nil and defaults")
struct TransferNilTests {
  private static let model = ManagedObjectModel("Defaults") {
    EntityDescription("P") {
      AttributeDescription("title", .string, default: "untitled")
      AttributeDescription("count", .integer32, default: 3)
      AttributeDescription("isOpen", .boolean, default: true)
      AttributeDescription("when", .date, default: .date(Date(timeIntervalSinceReferenceDate: 7)))
      AttributeDescription("plain", .string)
      AttributeDescription("place", .composite, composite: "Place")
    }
    EntityDescription("Q", parent: "P") { AttributeDescription("more", .double, default: 0.5) }
    CompositeAttributeDescription("Place") {
      AttributeDescription("x", .double, default: 0.5)
      AttributeDescription("y", .double)
      AttributeDescription("inner", .composite, composite: "Inner")
    }
    CompositeAttributeDescription("Inner") {
      AttributeDescription("a", .integer16, default: 1)
      AttributeDescription("b", .integer16)
    }
  }

  private static let names = ["title", "count", "isOpen", "when", "plain", "place"]

  /// The values of each object; missing names get their defaults.
  private static let objects: [(entity: String, values: [String: AttributeValue?])] = [
    ("P", [:]),
    ("P", ["title": nil, "count": nil, "isOpen": nil, "when": nil, "place": nil]),
    ("P", ["title": "", "count": 0, "isOpen": false, "plain": "x"]),
    ("P", ["place": .composite(["y": .double(1)])]),
    ("P", ["place": .composite(["x": .double(2)])]),
    ("P", ["place": .composite(["inner": .composite(["b": .integer(4)])])]),
    ("P", ["place": .composite(["x": .double(2), "inner": .composite(["a": .integer(4)])])]),
    ("Q", ["title": nil, "more": nil]),
    ("Q", [:]),
  ]

  private func values(_ store: ObjectStore) throws -> [[AttributeValue?]] {
    try store.read { tx in
      var rows: [[AttributeValue?]] = []
      for id in try store.objects("P") {
        let names = Self.names + (try tx.object(id).entityName == "Q" ? ["more"] : [])
        rows.append(try names.map { try tx.value(id, $0) })
      }
      return rows
    }
  }

  private func dump(_ store: ObjectStore) throws -> [Substring] {
    var bytes: [UInt8] = []
    _ = try store.dump { piece in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
  }

  @Test("a dump and a load preserve every value")
  func exact() throws {
    let test = try TestStore(Self.model)
    try test.store.write { tx in
      for object in Self.objects { try tx.insert(object.entity, object.values) }
    }
    let lines = try dump(test.store)
    #expect(lines[2].contains(#""title":null"#) && lines[2].contains(#""place":null"#), "\(lines[2])")
    let copy = try TestStore(Self.model)
    var rest = [lines.joined(separator: "\n")]
    _ = try copy.store.load { buffer in
      guard let text = rest.popLast() else { return false }
      buffer += Array(text.utf8)
      return true
    }
    let (before, after) = (try values(test.store), try values(copy.store))
    #expect(before.count == Self.objects.count)
    for (index, row) in before.enumerated() { #expect(after[index] == row, "\(Self.objects[index])") }
    // The second object has only nil values, whatever the defaults are.
    #expect(after[1].allSatisfy { $0 == nil }, "\(after[1])")
    #expect(try dump(copy.store).dropFirst() == lines.dropFirst())
    try checked(copy.store)
  }
}
