import Foundation
import KVClone
import KVCloneTestSupport

/// Values that collide: numbers of all types that are equal or nearly so, strings that differ in case and accents only.
enum FetchPool {
  static let integers: [Int64] = [-2, -1, 0, 1, 2, 3, 3, 5]
  static let big: [Int64] = [.max, .min, 9_007_199_254_740_993, 9_007_199_254_740_992, 0, 1, 3, -1]
  static let finite: [Double] = [-2.5, -1, 0, -0.0, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 3]
  static let doubles = finite + [9_007_199_254_740_992, 1e300, .infinity, -.infinity, .nan, 0.1 + 0.2]
  static let floats: [Float] = [-1.5, -0.0, 0, 0.5, 1, 2, 3, 3]
  static let decimals = [
    "-2.5", "0", "0.1", "0.25", "0.3", "1", "1.50", "3", "9007199254740993", "100000000000000000000",
  ]
  static let letters = ["a", "a", "A", "b", "B", "c", "e", "E", "é", "É", "e\u{301}", "ä", "Ä", "1"]
  static let signs = ["*", "?", "'", "\"", "%", "$", " ", "\\"]
  static let uris = ["x:a", "x:b", "X:A", "https://example.org/é"]

  static func text(_ random: inout SeededGenerator, signs: Bool = true) -> String {
    let letters = signs && random.chance(in: 6) ? letters + Self.signs : letters
    return (0..<[0, 1, 1, 2, 2, 3, 4][random.below(7)]).map { _ in letters[random.below(letters.count)] }.joined()
  }

  static func uuid(_ random: inout SeededGenerator) -> UUID {
    let byte = UInt8(random.below(4))
    return UUID(uuid: (byte & 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, byte))
  }

  static func data(_ random: inout SeededGenerator) -> Data {
    Data(repeating: UInt8(random.below(3)), count: [0, 1, 1, 2, 1024, 1500][random.below(6)])
  }

  static func value(_ attribute: AttributeDescription, _ random: inout SeededGenerator) -> AttributeValue? {
    if random.chance(in: 4) { return nil }
    switch attribute.type {
    case .integer16, .integer32: return .integer(integers[random.below(integers.count)])
    case .integer64:
      let numbers = random.chance(in: 2) ? integers : big
      return .integer(numbers[random.below(numbers.count)])
    case .double:
      let numbers = attribute.name == "ratio" && random.chance(in: 2) ? doubles : finite
      return .double(numbers[random.below(numbers.count)])
    case .float: return .float(floats[random.below(floats.count)])
    case .decimal: return decimalValue(decimals[random.below(decimals.count)])
    case .string: return .string(text(&random))
    case .boolean: return .boolean(random.chance(in: 2))
    case .date: return day(Double(random.below(6)) - 1.5)
    case .uuid: return .uuid(uuid(&random))
    case .uri: return .uri(uris[random.below(uris.count)])
    case .binary: return .binary(data(&random))
    case .transformable: return .transformable(data(&random))
    case .composite:
      var elements: [String: AttributeValue] = [:]
      for element in attribute.elements where !random.chance(in: 3) { elements[element.name] = value(element, &random) }
      return .composite(elements)
    case .undefined: return nil
    }
  }
}

/// A random graph in a store and in plain dictionaries.
final class FetchGraph {
  private let test: TestStore
  var store: ObjectStore { test.store }
  private(set) var objects = StoreOracle(fetchModel)
  var oracle: FetchOracle { FetchOracle(graph: objects, model: fetchModel) }

  init(_ random: inout SeededGenerator) throws {
    test = try TestStore(fetchModel)
    var objects = objects
    try store.write { tx in
      for _ in 0..<(30 + random.below(31)) { try Self.insert(&tx, &objects, &random) }
      for id in objects.objects.keys.sorted() { try Self.link(id, &tx, &objects, &random) }
      for _ in 0..<3 { try Self.delete(&tx, &objects, &random) }
    }
    self.objects = objects
  }

  private struct Undo: Error {}

  /// Changes objects, calls `body` within the same transaction, and rolls back.
  func withChanges(
    _ random: inout SeededGenerator, _ body: (borrowing WriteTransaction, FetchOracle) throws -> Void
  ) throws {
    do {
      try store.write { tx in
        var objects = objects
        for _ in 0..<8 {
          switch random.below(4) {
          case 0: try Self.insert(&tx, &objects, &random)
          case 1: try Self.delete(&tx, &objects, &random)
          case 2: try Self.change(&tx, &objects, &random)
          default:
            guard let id = objects.objects.keys.sorted().randomElement(using: &random) else { continue }
            try Self.link(id, &tx, &objects, &random)
          }
        }
        try body(tx, FetchOracle(graph: objects, model: fetchModel))
        throw Undo()
      }
    } catch is Undo {}
  }

  // MARK: Changes

  private static func insert(
    _ tx: inout WriteTransaction, _ objects: inout StoreOracle, _ random: inout SeededGenerator
  ) throws {
    let entities = ["Item", "Item", "Special", "Box", "Tag", "Tag", "Group"]
    let entity = entities[random.below(entities.count)]
    var values: [String: AttributeValue?] = [:]
    // Every eighth object has only nil values.
    if !random.chance(in: 8) {
      for attribute in fetchModel.attributes(of: entity) {
        values[attribute.name] = FetchPool.value(attribute, &random)
      }
    }
    objects.insert(try tx.insert(entity, values), entity, values)
  }

  private static func change(
    _ tx: inout WriteTransaction, _ objects: inout StoreOracle, _ random: inout SeededGenerator
  ) throws {
    guard let id = objects.objects.keys.sorted().randomElement(using: &random),
      let entity = objects.objects[id]?.entity,
      let attribute = fetchModel.attributes(of: entity).randomElement(using: &random)
    else { return }
    let value = FetchPool.value(attribute, &random)
    try tx.set(id, attribute.name, value)
    objects.set(id, attribute.name, value)
  }

  private static func link(
    _ id: ObjectID, _ tx: inout WriteTransaction, _ objects: inout StoreOracle, _ random: inout SeededGenerator
  ) throws {
    guard let entity = objects.objects[id]?.entity else { return }
    for relationship in fetchModel.relationships(of: entity) where !random.chance(in: 3) {
      let count = relationship.isToMany ? [0, 1, 2, 3, 5][random.below(5)] : 1
      let targets = objects.ids(relationship.destinationEntityName).shuffled(using: &random).prefix(count)
      try tx.setMembers(id, relationship.name, Array(targets))
      objects.setMembers(id, relationship.name, Array(targets))
    }
  }

  private static func delete(
    _ tx: inout WriteTransaction, _ objects: inout StoreOracle, _ random: inout SeededGenerator
  ) throws {
    guard let id = objects.objects.keys.sorted().randomElement(using: &random) else { return }
    try tx.delete([id])
    _ = try objects.delete([id])
  }
}
