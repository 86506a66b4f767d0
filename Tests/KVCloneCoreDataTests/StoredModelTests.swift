import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVCloneCoreData

/// The archives and compression that Core Data stores its model in.
@Suite("models in stores")
struct StoredModelTests {
  @Test("stored blocks and the fixed code")
  func inflate() throws {
    // Stored: final, type 0, length 3.
    #expect(try Inflate.bytes(of: [1, 3, 0, 0xFC, 0xFF, 7, 8, 9], limit: 10) == [7, 8, 9])
    // zlib's fixed code for "aaaaaaaaaa".
    #expect(try Inflate.bytes(of: [0x4B, 0x4C, 0x84, 0x01, 0x00], limit: 10) == [UInt8](repeating: 0x61, count: 10))
    #expect(throws: Inflate.Malformed.self) { try Inflate.bytes(of: [0x4B, 0x4C, 0x84, 0x01, 0x00], limit: 9) }
    #expect(throws: Inflate.Malformed.self) { try Inflate.bytes(of: [0x4B, 0x4C], limit: 10) }
    #expect(throws: Inflate.Malformed.self) { try Inflate.bytes(of: [], limit: 10) }
    #expect(throws: Inflate.Malformed.self) { try Inflate.bytes(of: [7], limit: 10) }
    // A distance before the beginning.
    #expect(throws: Inflate.Malformed.self) { try Inflate.bytes(of: [0x03, 0x02], limit: 10) }
  }

  /// Four words in a random order, compressed by zlib with dynamic codes.
  private static let packed =
    "jVVbDsMwCLtKr1ZpXTVpW6Up99ce6ZJgG8jHuhSIA46hZd2X8vndHuu+Ldfjftley/MoW32chuotZ+xptH9/5xDQYb7G36ICDUuJxcjD"
    + "vgZIbpOsxTA2AOzFDcb+ikdbYKxqOMKtsmMxxz0ZRIbHwECwE10Rz5yvQy3xYrw5DYyiiRERWA+uJqDVNruiLQ6LUB3dSPO750oVilKV"
    + "il1lQUMK0aI5kx4X4g0KUSm5ZdOxBk3+DdfH1giMzmIVNerC9EhMZppuRM5LcpXPEbd5g/kq2ETlaIl7ne9kQqS5H4hgaOTTMrxEEIv4"
    + "TE32W8AQd1fegxBhNe/oZFpzCU6Yc3ivqq4ofTEi9bRTrVeD3g=="

  @Test("codes of a block's own")
  func ownCodes() throws {
    let bytes = [UInt8](try #require(Data(base64Encoded: Self.packed)))
    let text = String(decoding: try Inflate.bytes(of: bytes, limit: 10_000), as: UTF8.self)
    let words = text.split(separator: " ")
    #expect(text.utf8.count == 2210 && words.count == 400)
    #expect(
      Set(words) == ["note", "tag", "image", "folder"] && text.hasPrefix("tag tag image folder note note")
        && text.hasSuffix("der note note note note image "))
  }

  @Test("random bytes end in bytes or an error", arguments: SQLiteSeeds.seeds)
  func random(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<3_000 {
      var bytes = (0..<generator.below(60)).map { _ in UInt8.random(in: 0...255, using: &generator) }
      // Blocks with dynamic codes are rare otherwise.
      if !bytes.isEmpty, generator.chance(in: 2) { bytes[0] = bytes[0] & ~7 | 5 }
      let output = try? Inflate.bytes(of: bytes, limit: 10_000)
      #expect((output?.count ?? 0) <= 10_000, "seed \(seed)")
    }
  }

  // MARK: Archives

  /// Writes an archive: objects refer to each other by name.
  private struct Archive {
    private var objects: [TestValue] = [.string("$null")]
    private var classes: [String: Int] = [:]

    mutating func reserve() -> Int {
      objects.append(.null)
      return objects.count - 1
    }

    mutating func add(_ value: TestValue) -> TestValue {
      objects.append(value)
      return .reference(objects.count - 1)
    }

    mutating func text(_ text: String) -> TestValue { add(.string(text)) }

    mutating func object(_ name: String, _ fields: [(String, TestValue)], at place: Int? = nil) -> TestValue {
      let known: Int
      if let place = classes[name] {
        known = place
      } else {
        objects.append(.dictionary([("$classname", .string(name)), ("$classes", .array([.string(name)]))]))
        known = objects.count - 1
        classes[name] = known
      }
      let value = TestValue.dictionary(fields + [("$class", .reference(known))])
      guard let place else { return add(value) }
      objects[place] = value
      return .reference(place)
    }

    mutating func list(_ items: [TestValue]) -> TestValue { object("NSArray", [("NS.objects", .array(items))]) }

    mutating func dictionary(_ pairs: [(String, TestValue)]) -> TestValue {
      let keys = pairs.map { text($0.0) }
      return object("NSMutableDictionary", [("NS.keys", .array(keys)), ("NS.objects", .array(pairs.map(\.1)))])
    }

    func bytes(root: TestValue) -> [UInt8] {
      PropertyListWriter.bytes(
        .dictionary([
          ("$version", .integer(100_000)), ("$archiver", .string("NSKeyedArchiver")),
          ("$top", .dictionary([("root", root)])), ("$objects", .array(objects)),
        ]))
    }
  }

  /// Note with a name and a to-many relationship to Tag, LinkNote below it, in NSKnownKeysDictionary1 like Core Data's.
  private static func archive() -> [UInt8] {
    var archive = Archive()
    let (note, tag, link) = (archive.reserve(), archive.reserve(), archive.reserve())
    let (tags, notes) = (archive.reserve(), archive.reserve())
    func attribute(_ archive: inout Archive, _ name: String, _ type: Int64, _ more: [(String, TestValue)]) -> TestValue
    {
      let text = archive.text(name)
      return archive.object(
        "NSAttributeDescription", [("NSPropertyName", text), ("NSAttributeType", .integer(type))] + more)
    }
    func relationship(
      _ archive: inout Archive, _ name: String, at place: Int, _ entity: Int, to: String, _ inverse: Int, max: Int64
    ) {
      let (text, destination) = (archive.text(name), archive.text(to))
      _ = archive.object(
        "NSRelationshipDescription",
        [
          ("NSPropertyName", text), ("_NSDestinationEntityName", destination), ("NSMaxCount", .integer(max)),
          ("NSMinCount", .integer(0)), ("NSDeleteRule", .integer(2)), ("NSIsOptional", .boolean(true)),
          ("NSInverseRelationship", .reference(inverse)), ("NSEntity", .reference(entity)),
        ], at: place)
    }
    relationship(&archive, "tags", at: tags, note, to: "Tag", notes, max: 0)
    relationship(&archive, "notes", at: notes, tag, to: "Note", tags, max: 1)
    let text = archive.text("untitled")
    let name = attribute(&archive, "name", 700, [("NSDefaultValue", text), ("NSIsOptional", .boolean(false))])
    let done = attribute(&archive, "done", 800, [("NSDefaultValue", .boolean(true)), ("NSIsOptional", .boolean(true))])
    let uuid = attribute(&archive, "id", 1100, [("NSFlagsKey", .integer(16)), ("NSIsOptional", .boolean(true))])
    func entity(
      _ archive: inout Archive, _ name: String, at place: Int, parent: Int?, _ properties: [(String, TestValue)]
    ) {
      let text = archive.text(name)
      let value = archive.text("v")
      let info = archive.dictionary([("k", value)])
      let list = archive.dictionary(properties)
      let unique = name == "Tag" ? archive.text("id") : nil
      var fields: [(String, TestValue)] = [
        ("NSEntityName", text), ("NSProperties", list), ("NSUserInfo", info), ("NSRenamingIdentifier", text),
        ("NSSuperentity", .reference(parent ?? 0)),
      ]
      if let unique {
        let tuple = archive.list([unique])
        fields.append(("NSUniqueTuples", archive.list([tuple])))
      }
      _ = archive.object("NSEntityDescription", fields, at: place)
    }
    entity(&archive, "Note", at: note, parent: nil, [("name", name), ("tags", .reference(tags))])
    entity(&archive, "LinkNote", at: link, parent: note, [("name", name), ("tags", .reference(tags)), ("done", done)])
    entity(&archive, "Tag", at: tag, parent: nil, [("id", uuid), ("notes", .reference(notes))])
    let names = ["Note", "LinkNote", "Tag"].map { archive.text($0) }
    let keys = archive.list(names)
    let mapping = archive.object("NSKnownKeysMappingStrategy1", [("keys", keys), ("length", .integer(3))])
    let values = archive.list([note, link, tag].map { .reference($0) })
    let entities = archive.object("NSKnownKeysDictionary1", [("searchMapping", mapping), ("values", values)])
    let root = archive.object("NSManagedObjectModel", [("NSEntities", entities)])
    return archive.bytes(root: root)
  }

  @Test("entities, inheritance, inverses and defaults arrive")
  func model() throws {
    let model = try ModelArchive.model(in: Self.archive(), name: "M").model
    #expect(model.entities.map(\.name) == ["LinkNote", "Note", "Tag"])
    let link = try #require(model.entity(named: "LinkNote"))
    #expect(link.superentityName == "Note" && link.attributes.map(\.name) == ["done"] && link.relationships.isEmpty)
    #expect(link.attributes.first?.defaultValue == .boolean(true))
    #expect(model.attribute("name", of: "LinkNote")?.defaultValue == .string("untitled"))
    #expect(model.attribute("name", of: "Note")?.isOptional == false)
    #expect(model.attribute("id", of: "Tag")?.preservesValueInHistoryOnDeletion == true)
    #expect(model.entity(named: "Tag")?.uniquenessConstraints == [["id"]] && model.userInfo(of: "Tag") == ["k": "v"])
    let inverse = try #require(model.inverse(of: "tags", in: "Note"))
    #expect(inverse.entityName == "Tag" && inverse.relationship.name == "notes" && !inverse.relationship.isToMany)
    #expect(model.relationship("tags", of: "Note")?.deleteRule == .cascade)
    _ = try model.validate()
  }

  /// An archive of few bytes may list one object a million times.
  @Test("a model with more than a model may hold is refused, and named")
  func tooLarge() throws {
    func problem(_ build: (inout Archive) -> TestValue) -> ModelArchive.Problem? {
      var archive = Archive()
      let entities = build(&archive)
      let root = archive.object("NSManagedObjectModel", [("NSEntities", entities)])
      let bytes = archive.bytes(root: root)
      do throws(ModelArchive.Problem) {
        _ = try ModelArchive.model(in: bytes, name: "M")
        return nil
      } catch {
        return error
      }
    }
    func repeated(_ archive: inout Archive, _ value: TestValue, _ count: Int) -> TestValue {
      let key = archive.text("key")
      return archive.object(
        "NSDictionary",
        [
          ("NS.keys", .array(Array(repeating: key, count: count))),
          ("NS.objects", .array(Array(repeating: value, count: count))),
        ])
    }
    func entity(_ archive: inout Archive, _ fields: [(String, TestValue)]) -> TestValue {
      let name = archive.text("Note")
      return archive.object("NSEntityDescription", [("NSEntityName", name)] + fields)
    }
    let entities = problem { archive in
      let text = archive.text("x")
      return repeated(&archive, text, ModelLimits.entities + 1)
    }
    #expect(entities == .tooLarge(entity: nil))
    let properties = problem { archive in
      let text = archive.text("x")
      let list = repeated(&archive, text, ModelLimits.properties + 1)
      let note = entity(&archive, [("NSProperties", list)])
      return archive.dictionary([("Note", note)])
    }
    #expect(properties == .tooLarge(entity: "Note"))
    #expect(problem { archive in archive.text("none") } == .corrupted)
  }

  @Test("reading a model ends on cancellation")
  func cancelled() {
    for count in 0..<6 {
      var left = count
      #expect(throws: ModelArchive.Problem.cancelled) {
        try ModelArchive.model(
          in: Self.archive(), name: "M",
          isCancelled: {
            left -= 1
            return left < 0
          })
      }
    }
  }

  @Test("damaged archives end in a model or an error", arguments: SQLiteSeeds.seeds)
  func damagedArchive(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let sound = Self.archive()
    for _ in 0..<300 {
      var bytes = sound
      for _ in 0...generator.below(8) { bytes[generator.below(bytes.count)] = .random(in: 0...255, using: &generator) }
      if let model = try? ModelArchive.model(in: bytes, name: "M").model { _ = try? model.validate() }
    }
  }
}
