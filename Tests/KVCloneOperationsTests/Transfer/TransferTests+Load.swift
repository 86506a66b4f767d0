import Foundation
import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

/// Loads and dumps of whole graphs, compared with a reader and writer of NDJSON that shares no code with the library.
@Suite("Load and dump")
struct TransferTests {
  @Test(
    "graphs for every model come back equal from a store",
    .enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
  func everyModel() throws {
    for (bundle, version) in Corpus.allContents() {
      let model = try ManagedObjectModel.load(contentsOf: bundle, version: version).model
      for seed in UInt64(1)...2 {
        try check(model, seed: seed, size: seed == 1 ? 4 : 12, "\(bundle) \(version)")
      }
    }
  }

  @Test("graphs of a model with every kind of relationship come back equal, with long lists too")
  func longLists() throws {
    for seed in UInt64(1)...3 { try check(Self.model, seed: seed, size: 320, "links") }
  }

  private func check(_ model: ManagedObjectModel, seed: UInt64, size: Int, _ place: String) throws {
    let view = ModelView(model)
    let made = GraphGenerator.generate(view, seed: seed, size: size)
    guard made.problems.isEmpty else { return }
    let scratch = try TransferScratch()
    let store = try ObjectStore.create(at: scratch.store, model: model)
    defer { store.close() }
    var options = LoadOptions()
    options.idLimit = .max
    let result = try load(try made.ndjson(model: view), into: store, options)
    #expect(result.objectCount == made.graph.objects.count, "\(place), seed \(seed)")
    let dumped = try dump(store)
    let read = try ReferenceGraph(ndjson: dumped, model: view)
    let expected = renamed(made.graph, result.ids)
    let differences = GraphComparison.compareExactly(expected: expected, actual: read, model: view)
    #expect(differences.isEmpty, "\(place), seed \(seed): \(differences.prefix(5))")
    // The lines of a dump are in the order of the store's serials, so a second store assigns the same ones.
    let second = try ObjectStore.create(at: scratch.path + "/second", model: model)
    defer { second.close() }
    _ = try load(dumped, into: second, LoadOptions())
    let again = try dump(second)
    let (lines, copies) = (try renumbered(dumped, model), try renumbered(again, model))
    let different = zip(lines, copies).first { $0 != $1 }
    #expect(lines.count == copies.count && different == nil, "\(place), seed \(seed)")
  }

  /// Returns the text without its header, with ids numbered in the order of the lines.
  private func renumbered(_ text: String, _ model: ManagedObjectModel) throws -> [String] {
    let lines = text.split(separator: "\n").dropFirst()
    var numbers: [String: String] = [:]
    for line in lines {
      guard case .object(let object) = try JSONParser.parse(String(line)), case .string(let id)? = object["id"] else {
        continue
      }
      numbers[id] = "#\(numbers.count)"
    }
    return try lines.map { line in
      var writer = JSONWriter()
      writer.value(replaced(try JSONParser.parse(String(line)), numbers, model))
      return writer.text
    }
  }

  /// Sorts unordered members by their new numbers: the store sorts them by id, and assigns ids in the order of the
  /// lines, which a dump groups by entity.
  private func replaced(_ value: JSONValue, _ numbers: [String: String], _ model: ManagedObjectModel) -> JSONValue {
    guard case .object(let line) = value, case .string(let id)? = line["id"] else { return value }
    let entity = String(id.prefix { $0 != "/" })
    var result = JSONObject()
    for member in line.members {
      switch (member.name, member.value) {
      case ("id", .string(let id)): result.append("id", .string(numbers[id] ?? id))
      case ("relationships", .object(let relationships)):
        var changed = JSONObject()
        for relationship in relationships.members {
          switch relationship.value {
          case .string(let id): changed.append(relationship.name, .string(numbers[id] ?? id))
          case .array(let ids):
            let isOrdered = model.relationship(relationship.name, of: entity)?.isOrdered ?? false
            let names = ids.map { id in
              guard case .string(let text) = id else { return "?" }
              return numbers[text] ?? text
            }
            changed.append(relationship.name, .array((isOrdered ? names : names.sorted()).map { .string($0) }))
          default: changed.append(relationship.name, relationship.value)
          }
        }
        result.append("relationships", .object(changed))
      default: result.append(member.name, member.value)
      }
    }
    return .object(result)
  }

  private func renamed(_ graph: ReferenceGraph, _ ids: [String: String]) -> ReferenceGraph {
    func name(_ label: Label) -> Label {
      guard let id = ids["\(label)"], let slash = id.lastIndex(of: "/"),
        let serial = Int(id[id.index(after: slash)...])
      else { return label }
      return Label(label.entity, serial)
    }
    var result = ReferenceGraph()
    for (label, object) in graph.objects {
      var copy = object
      copy.label = name(label)
      copy.relationships = object.relationships.mapValues { $0.map(name) }
      result.objects[copy.label] = copy
    }
    return result
  }

  private func load(_ text: String, into store: ObjectStore, _ options: LoadOptions) throws -> LoadResult {
    var rest = Array(text.utf8)[...]
    return try store.load(options) { buffer in
      // Small parts of odd sizes: lines may be split anywhere.
      let piece = rest.prefix(777)
      buffer.append(contentsOf: piece)
      rest = rest.dropFirst(piece.count)
      return !piece.isEmpty
    }
  }

  private func dump(_ store: ObjectStore) throws -> String {
    var bytes: [UInt8] = []
    _ = try store.dump { piece in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// One-to-one, one-to-many, many-to-many; ordered on neither, one and both sides; self-inverse; no inverse.
  static let model = ManagedObjectModel("Links") {
    EntityDescription("A") {
      AttributeDescription("name", .string)
      RelationshipDescription("one", toOne: "B", inverse: "one")
      RelationshipDescription("many", toMany: "B", inverse: "owner")
      RelationshipDescription("list", toMany: "B", inverse: "listOwner", ordered: true)
      RelationshipDescription("shared", toMany: "B", inverse: "sharers")
      RelationshipDescription("ranked", toMany: "B", inverse: "rankers", ordered: true)
      RelationshipDescription("both", toMany: "B", inverse: "both", ordered: true)
      RelationshipDescription("friends", toMany: "A", inverse: "friends")
      RelationshipDescription("spouse", toOne: "A", inverse: "spouse")
      RelationshipDescription("next", toOne: "A", inverse: "previous")
      RelationshipDescription("previous", toOne: "A", inverse: "next")
      RelationshipDescription("loose", toOne: "B")
      RelationshipDescription("looseMany", toMany: "B")
    }
    EntityDescription("B") {
      AttributeDescription("number", .integer64)
      RelationshipDescription("one", toOne: "A", inverse: "one")
      RelationshipDescription("owner", toOne: "A", inverse: "many")
      RelationshipDescription("listOwner", toOne: "A", inverse: "list")
      RelationshipDescription("sharers", toMany: "A", inverse: "shared")
      RelationshipDescription("rankers", toMany: "A", inverse: "ranked")
      RelationshipDescription("both", toMany: "A", inverse: "both", ordered: true)
    }
  }

  @Test("own inverses agree, and no object has two spouses")
  func ownInverses() throws {
    for (lines, kind) in [
      ([#"{"id":"A/1","relationships":{"friends":["A/2"]}}"#, #"{"id":"A/2"}"#], nil),
      (
        [#"{"id":"A/1","relationships":{"friends":["A/2"]}}"#, #"{"id":"A/2","relationships":{"friends":[]}}"#],
        TransferError.Kind.inverseMismatch
      ),
      ([#"{"id":"A/1","relationships":{"spouse":"A/1"}}"#], nil),
      (
        [
          #"{"id":"A/1","relationships":{"spouse":"A/3"}}"#, #"{"id":"A/2","relationships":{"spouse":"A/3"}}"#,
          #"{"id":"A/3"}"#,
        ], .inverseMismatch
      ),
      (
        [
          #"{"id":"A/1","relationships":{"next":"A/3"}}"#, #"{"id":"A/2","relationships":{"next":"A/3"}}"#,
          #"{"id":"A/3"}"#,
        ], .inverseMismatch
      ),
      ([#"{"id":"A/1","relationships":{"next":"A/1","previous":"A/1"}}"#], nil),
    ] as [([String], TransferError.Kind?)] {
      let scratch = try TransferScratch()
      let store = try ObjectStore.create(at: scratch.store, model: Self.model)
      defer { store.close() }
      let text = lines.joined(separator: "\n")
      if let kind {
        let error = #expect(throws: TransferError.self, "\(lines)") { try load(text, into: store, LoadOptions()) }
        #expect(error?.kind == kind, "\(lines)")
        #expect(try store.info().objectCount == 0)
      } else {
        #expect(try load(text, into: store, LoadOptions()).objectCount == lines.count, "\(lines)")
      }
    }
  }

  @Test("a composite that is absent gets its elements' defaults, and null makes them nil")
  func compositeDefaults() throws {
    let elements = [AttributeDescription("x", .double, default: 0.5), AttributeDescription("y", .double)]
    let model = ManagedObjectModel("Places") {
      EntityDescription("P") { AttributeDescription("place", .composite, composite: "Place", elements: elements) }
      CompositeAttributeDescription("Place", elements: elements)
    }
    let scratch = try TransferScratch()
    let store = try ObjectStore.create(at: scratch.store, model: model)
    defer { store.close() }
    let lines = [#"{"id":"P/1"}"#, #"{"id":"P/2","attributes":{"place":null}}"#]
    _ = try load(lines.joined(separator: "\n"), into: store, LoadOptions())
    let values = try store.read { transaction in
      let (first, second) = (try transaction.objectID(named: "P/1"), try transaction.objectID(named: "P/2"))
      return (try transaction.value(first, "place"), try transaction.value(second, "place"))
    }
    #expect(values.0 == .composite(["x": .double(0.5)]))
    #expect(values.1 == nil)
  }

  @Test("an error of the source ends the load, and nothing is loaded")
  func sourceFails() throws {
    struct Broken: Error {}
    let scratch = try TransferScratch()
    let store = try ObjectStore.create(at: scratch.store, model: Self.model)
    defer { store.close() }
    var calls = 0
    #expect(throws: Broken.self) {
      try store.load { buffer in
        calls += 1
        if calls > 1 { throw Broken() }
        buffer.append(contentsOf: Array("{\"id\":\"A/1\"}\n".utf8))
        return true
      }
    }
    #expect(try store.info().objectCount == 0)
  }
}

/// A temporary directory of one test, removed after it.
final class TransferScratch {
  let path = NSTemporaryDirectory() + "/kvclone-transfer-\(UUID().uuidString)"
  var store: String { path + "/store" }

  init() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
