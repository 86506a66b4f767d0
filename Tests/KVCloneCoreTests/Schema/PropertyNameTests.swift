import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

/// The search for properties by name, as in every read of an attribute.
@Suite("Object properties by name")
struct PropertyNameTests {
  @Test("names of all lengths are distinguished, whatever they have in common")
  func table() {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<50 {
      var names: [String] = []
      for length in 1...40 {
        let name = String((0..<length).map { _ in "ab".randomElement(using: &random) ?? "a" })
        names.append(name)
        // The same beginning and end, with another byte between them.
        if length > 17 {
          var bytes = Array(name.utf8)
          bytes[8 + random.below(length - 16)] = UInt8(ascii: "c")
          names.append(String(decoding: bytes, as: UTF8.self))
        }
      }
      let unique = Array(Set(names))
      let known = unique.prefix(unique.count / 2)
      let table = NameTable(known.enumerated().map { (name: $0.element, number: $0.offset) })
      for (number, name) in unique.enumerated() {
        #expect(table[name] == (number < known.count ? number : nil), "\(name)")
      }
    }
  }

  @Test func emptyTablesAndNames() {
    let none = NameTable([(name: String, number: Int)]())
    #expect(none["a"] == nil && none[""] == nil)
    let twice = NameTable([(name: "a", number: 1), (name: "a", number: 2), (name: "", number: 3)])
    #expect(twice["a"] == 1 && twice[""] == nil)
  }

  @Test("a name may be written with other code points that mean the same")
  func equivalentNames() throws {
    let model = ManagedObjectModel("Names") {
      EntityDescription("Café") {
        AttributeDescription("pr\u{E9}nom", .string)
        AttributeDescription("hidden", .string, transient: true)
        RelationshipDescription("\u{E9}l\u{E8}ves", toMany: "Café")
      }
    }
    let test = try TestStore(model)
    try test.store.write { tx in
      let first = try tx.insert("Café", ["pr\u{E9}nom": "Zo\u{EB}"])
      let second = try tx.insert("Café", ["hidden": "h"], relationships: ["\u{E9}l\u{E8}ves": [first]])
      let object = try tx.object(first)
      #expect(try object.value("pre\u{301}nom") == "Zo\u{EB}" && object.value("hidden") == nil)
      #expect(try tx.members(second, "e\u{301}le\u{300}ves") == [first])
      var other = try tx.object(second)
      #expect(try other.value("hidden") == "h" && other.value("pr\u{E9}nom") == nil)
      other["hidden"] = "set"
      other["pr\u{E9}nom"] = "Ada"
      #expect(try other.value("hidden") == "set" && other.hasChanges && other.value("pr\u{E9}nom") == "Ada")
      #expect(try other.withoutChanges.value("hidden") == "h" && !other.withoutChanges.hasChanges)
      #expect(throws: StoreError.self) { try other.value("nobody") }
    }
  }
}
