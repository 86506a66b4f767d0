import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Random operations on random states, each planned first: a successful plan implies a successful operation with the
/// same counts and bytes, and a failed plan implies an operation that fails without changes.
///
/// `KVCLONE_SEEDS=7,8 KVCLONE_OPERATIONS=20000` repeats a failure, or searches for rarer ones.
@Suite("Plans compared with their execution")
struct PlanPropertyTests {
  static let operationCount = PropertySeeds.count(120)

  @Test("clones, rollbacks and migrations do what their plans say", arguments: PropertySeeds.seeds)
  func random(_ seed: UInt64) throws {
    let run = try PlanRun(seed: seed)
    do {
      while run.count < Self.operationCount { try run.step() }
      try checked(run.test.store)
    } catch {
      Issue.record("\(error), \(run.place)")
    }
    // A summary of a long run.
    if ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] != nil { print(run.summary) }
  }
}

/// Models of which any two may form a migration: attributes differ in type, such as string and number, and in their
/// bounds.
struct PlanModel {
  private var random: SeededGenerator

  init(_ random: inout SeededGenerator) { self.random = SeededGenerator(seed: random.next()) }

  mutating func model(_ version: String) -> ManagedObjectModel {
    var entities = [folder(), doc(), part(), tag()]
    if random.chance(in: 2) {
      entities.append(EntityDescription("Extra") { AttributeDescription("name", .string) })
    }
    return ManagedObjectModel(name: "Plans", versionIdentifier: version, entities: entities)
  }

  private mutating func type(_ types: [AttributeType]) -> AttributeType { types[random.below(types.count)] }

  private mutating func folder() -> EntityDescription {
    EntityDescription("Folder", unique: random.chance(in: 4) ? [["name"]] : []) {
      AttributeDescription("name", .string, max: random.chance(in: 4) ? .integer(6) : nil)
      RelationshipDescription(
        "docs", toMany: "Doc", inverse: "folder", ordered: random.chance(in: 3), max: random.chance(in: 6) ? 5 : 0)
    }
  }

  private mutating func doc() -> EntityDescription {
    var unique: [[String]] = []
    if random.chance(in: 5) { unique.append(["code"]) }
    if random.chance(in: 8) { unique.append(["number", "title"]) }
    if random.chance(in: 6) { unique.append(["stamp"]) }
    let isCounted = random.chance(in: 3)
    let number = type([.string, .string, .integer16, .integer64, .integer64, .decimal])
    return EntityDescription("Doc", unique: unique) {
      AttributeDescription(
        "code", type([.string, .string, .integer64]), optional: !random.chance(in: 5),
        userInfo: random.chance(in: 4) ? ["exclude": "1"] : [:])
      AttributeDescription(
        "number", number, optional: !random.chance(in: 8), default: random.chance(in: 3) ? number.plain : nil)
      AttributeDescription(
        "title", .string, max: random.chance(in: 4) ? .integer(5) : nil,
        regularExpression: random.chance(in: 6) ? "[a-z0-9]*" : nil)
      AttributeDescription("stamp", .uuid, userInfo: random.chance(in: 2) ? ["rebuild": "uuid"] : [:])
      AttributeDescription("data", .binary)
      if isCounted { AttributeDescription("partCount", .integer64, derivation: "parts.@count") }
      RelationshipDescription("folder", toOne: "Folder", inverse: "docs", optional: !random.chance(in: 12))
      RelationshipDescription(
        "parts", toMany: "Part", inverse: "doc", ordered: random.chance(in: 3), max: random.chance(in: 6) ? 3 : 0,
        deleteRule: .cascade)
      RelationshipDescription(
        "tags", toMany: "Tag", inverse: "docs", userInfo: random.chance(in: 6) ? ["clone": "skip"] : [:])
      if random.chance(in: 2) {
        RelationshipDescription("twin", toOne: "Doc", inverse: "twin")
      }
      RelationshipDescription("cover", toOne: "Tag")
    }
  }

  private mutating func part() -> EntityDescription {
    let weight = type([.integer64, .integer64, .integer32, .string])
    let least: AttributeValue? = weight != .string && random.chance(in: 3) ? .integer(2) : nil
    return EntityDescription("Part") {
      AttributeDescription("weight", weight, min: least, userInfo: random.chance(in: 4) ? ["exclude": "1"] : [:])
      AttributeDescription(
        "docCode", .string, userInfo: random.chance(in: 3) ? ["followParent": "title", "withoutParent": "keep"] : [:])
      RelationshipDescription("doc", toOne: "Doc", inverse: "parts", optional: !random.chance(in: 4))
    }
  }

  private mutating func tag() -> EntityDescription {
    EntityDescription("Tag", unique: random.chance(in: 3) ? [["name"]] : []) {
      AttributeDescription("name", .string)
      RelationshipDescription("docs", toMany: "Doc", inverse: "tags", max: random.chance(in: 4) ? 6 : 0)
    }
  }
}

extension AttributeType {
  /// A valid value of the type.
  fileprivate var plain: AttributeValue? {
    switch self {
    case .string: .string("7")
    case .integer16, .integer32, .integer64: .integer(7)
    case .double: .double(7)
    case .decimal: .decimal(7)
    default: nil
    }
  }
}
