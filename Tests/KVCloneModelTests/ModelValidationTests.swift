import Foundation
import Testing

@testable import KVCloneModel

struct ModelValidationTests {
  private func check(_ entities: EntityDescription..., composites: [CompositeAttributeDescription] = []) -> ModelError?
  {
    do {
      _ = try ManagedObjectModel(name: "M", entities: entities, composites: composites).validate()
      return nil
    } catch { return error }
  }

  private func warnings(_ entity: EntityDescription) -> [ModelWarning.Kind]? {
    try? ManagedObjectModel(name: "M", entities: [entity]).validate().map(\.kind)
  }

  @Test func inheritanceIsAForest() {
    #expect(check(.init(name: "A"), .init(name: "A")) == .duplicateEntity("A"))
    #expect(
      check(.init(name: "A", superentityName: "B")) == .unknownSuperentity(entity: "A", superentity: "B"))
    #expect(check(.init(name: "A", superentityName: "A")) == .cyclicInheritance(entity: "A"))
    #expect(
      check(
        .init(name: "A", superentityName: "B"), .init(name: "B", superentityName: "C"),
        .init(name: "C", superentityName: "B")) == .cyclicInheritance(entity: "A"))
    let chain = (0...130).map { EntityDescription(name: "E\($0)", superentityName: $0 == 0 ? nil : "E\($0 - 1)") }
    #expect(throws: ModelError.tooLarge(entity: "E129")) {
      try ManagedObjectModel(name: "M", entities: chain).validate()
    }
  }

  @Test func propertiesHaveOneNameEach() {
    let twice = EntityDescription("A") {
      AttributeDescription("x", .string)
      RelationshipDescription("x", toOne: "A")
    }
    #expect(check(twice) == .duplicateProperty(entity: "A", property: "x"))
    let base = EntityDescription("A") { AttributeDescription("x", .string) }
    let other = EntityDescription("B", parent: "A") { RelationshipDescription("x", toOne: "A") }
    #expect(check(base, other) == .duplicateProperty(entity: "B", property: "x"))
    let retyped = EntityDescription("B", parent: "A") { AttributeDescription("x", .date) }
    #expect(check(base, retyped) == .conflictingRedeclaration(entity: "B", property: "x"))
  }

  @Test(arguments: ["", "a b", "a.b", "a/b", "a\u{0}", "@a", "a=b", String(repeating: "a", count: 256)])
  func namesCanBeWrittenInIdsAndRules(name: String) {
    #expect(check(.init(name: name)) == .invalidName(entity: name, property: nil))
    let entity = EntityDescription("A") { AttributeDescription(name, .string) }
    #expect(check(entity) == .invalidName(entity: "A", property: name))
  }

  @Test func referencesLeadSomewhere() {
    let lost = EntityDescription("A") { RelationshipDescription("r", toOne: "B") }
    #expect(check(lost) == .unknownDestination(entity: "A", property: "r", destination: "B"))
    let made = EntityDescription("A") { AttributeDescription("c", .composite, composite: "P") }
    #expect(check(made) == .unknownComposite(entity: "A", property: "c", composite: "P"))
    let loop = CompositeAttributeDescription("P", elements: [.init("q", .composite, composite: "P")])
    #expect(check(made, composites: [loop]) == .cyclicComposite("P"))
    #expect(check(composites: [.init("P", elements: []), .init("P", elements: [])]) == .duplicateComposite("P"))
  }

  @Test func compositesThatExplodeAreRefused() {
    let levels = (0..<14).map { level in
      CompositeAttributeDescription(
        "P\(level)",
        elements: ["a", "b"].map {
          level == 0 ? AttributeDescription($0, .double) : .init($0, .composite, composite: "P\(level - 1)")
        })
    }
    let entity = EntityDescription("A") { AttributeDescription("c", .composite, composite: "P13") }
    #expect(check(entity, composites: levels) == .tooLarge(entity: "A"))
  }

  @Test func valuesFitTheirTypes() {
    let entity = EntityDescription("A") { AttributeDescription("x", .integer16, default: 70_000) }
    #expect(check(entity) == .defaultTypeMismatch(entity: "A", property: "x"))
    let untyped = EntityDescription("A") { AttributeDescription("x", .undefined) }
    #expect(check(untyped) == .untypedAttribute(entity: "A", property: "x"))
  }

  @Test(arguments: [
    (AttributeType.uuid, "uuid", true), (.uuid, "UUID", true), (.date, "Now", true), (.date, "uuid", false),
    (.uuid, "now", false), (.string, "uuid", false), (.uuid, "", false), (.date, "today", false),
  ])
  func R16_rebuildRulesFitTheirTypes(type: AttributeType, rule: String, isValid: Bool) {
    let entity = EntityDescription("A") { AttributeDescription("x", type, userInfo: ["rebuild": rule]) }
    #expect(check(entity) == (isValid ? nil : .rebuildTypeMismatch(entity: "A", property: "x")))
    // R21: an element of a composite has rules of its own.
    let composite = CompositeAttributeDescription(
      "P", elements: [.init("x", type, userInfo: ["rebuild": rule])])
    #expect(check(composites: [composite]) == (isValid ? nil : .rebuildTypeMismatch(entity: "P", property: "x")))
  }

  @Test func R16_rulesThatClashOnlyByInheritanceAreFound() {
    let base = EntityDescription("A") { AttributeDescription("x", .date) }
    let sub = EntityDescription("B", parent: "A") { AttributeDescription("x", .date, userInfo: ["rebuild": "uuid"]) }
    #expect(check(base, sub) == .rebuildTypeMismatch(entity: "B", property: "x"))
  }

  @Test func R18_otherWithoutParentValuesAreNoErrorAtLoad() {
    let entity = EntityDescription("A") {
      AttributeDescription("x", .string, userInfo: ["followParent": "id", "withoutParent": "none"])
    }
    #expect(warnings(entity) == [.unknownWithoutParentRule])
    #expect(entity.attributes[0].cloneRule().withoutParent == .invalid("none"))
  }

  @Test func R28_keysCanBeRenamedButNotShared() throws {
    let keys = CloneUserInfoKeys(exclude: "sync.skip", rebuild: "fresh")
    let attribute = AttributeDescription("x", .uuid, userInfo: ["sync.skip": "", "fresh": "uuid", "rebuild": "x"])
    #expect(attribute.cloneRule(keys).isExcluded)
    #expect(attribute.cloneRule(keys).rebuild == .uuid)
    let model = ManagedObjectModel(name: "M", entities: [.init(name: "A", attributes: [attribute])])
    #expect(try model.validate(userInfoKeys: keys) == [])
    #expect(throws: ModelError.rebuildTypeMismatch(entity: "A", property: "x")) { try model.validate() }
    #expect(throws: ModelError.duplicateUserInfoKey("exclude")) {
      try model.validate(userInfoKeys: CloneUserInfoKeys(clone: "exclude"))
    }
  }

  @Test func R7_overridesAreThree() {
    for rule in ["follow", "reference", "skip"] {
      let entity = EntityDescription("A") { RelationshipDescription("r", toOne: "A", userInfo: ["clone": rule]) }
      #expect(check(entity) == nil)
      #expect(entity.relationships[0].cloneRule().override?.rawValue == rule)
    }
    let entity = EntityDescription("A") { RelationshipDescription("r", toOne: "A", userInfo: ["clone": "deep"]) }
    #expect(check(entity) == .unknownCloneRule(entity: "A", property: "r"))
  }

  @Test func oddThingsAreLivedWith() {
    let entity = EntityDescription("A", unique: [["nothing"], ["tags"]]) {
      var ordered = RelationshipDescription("one", toOne: "A", inverse: "one")
      let _ = ordered.isOrdered = true
      ordered
      RelationshipDescription("tags", toMany: "A", inverse: "tags", min: 3, max: 2)
    }
    #expect(warnings(entity) == [.meaninglessFlag, .impossibleCount, .unusableConstraint, .unusableConstraint])
    #expect(ManagedObjectModel(name: "M", entities: [entity]).uniquenessConstraints(of: "A") == [])
  }

  @Test(
    "what rules itself out is warned of once",
    arguments: [
      (AttributeDescription("x", .string, regularExpression: "["), [.unreadablePattern]),
      (AttributeDescription("x", .string, regularExpression: "(?<=a*)b"), [.unreadablePattern]),
      (AttributeDescription("x", .uri, default: .uri("a"), regularExpression: "*abc"), [.unreadablePattern]),
      (AttributeDescription("x", .integer32, regularExpression: "["), [.meaninglessFlag]),
      (AttributeDescription("x", .integer32, default: 7, min: 10, max: 5), [.impossibleBounds]),
      (AttributeDescription("x", .decimal, min: 0.2, max: 0.1), [.impossibleBounds]),
      (AttributeDescription("x", .double, min: 0.2, max: .double(0.2.nextDown)), [.impossibleBounds]),
      (AttributeDescription("x", .float, min: .float(1), max: .float(0)), [.impossibleBounds]),
      (
        AttributeDescription(
          "x", .date, min: .date(Date(timeIntervalSinceReferenceDate: 1)),
          max: .date(Date(timeIntervalSinceReferenceDate: 0))
        ), [.impossibleBounds]
      ),
      (AttributeDescription("x", .string, default: "abc", min: 5, max: 3), [.impossibleBounds]),
      (AttributeDescription("x", .string, max: -1), [.impossibleBounds]),
      (AttributeDescription("x", .integer16, default: 4, min: 5), [.contradictoryDefault]),
      (AttributeDescription("x", .integer16, default: 6, max: 5), [.contradictoryDefault]),
      (AttributeDescription("x", .string, default: "ab", min: 3), [.contradictoryDefault]),
      (AttributeDescription("x", .uri, default: .uri("abcd"), max: 3), [.contradictoryDefault]),
      (AttributeDescription("x", .string, default: "1", regularExpression: "[a-z]+"), [.contradictoryDefault]),
      (
        AttributeDescription("x", .string, default: "1", min: 2, regularExpression: "[a-z]+"),
        [.contradictoryDefault, .contradictoryDefault]
      ),
      (AttributeDescription("x", .integer16, min: "a"), [.unreadableValue]),
      (AttributeDescription("x", .integer32, default: 5, min: 5, max: 5), []),
      (AttributeDescription("x", .string, default: "abc", min: 3, max: 3, regularExpression: "[a-c]+"), []),
      (AttributeDescription("x", .double, default: .double(.nan), min: 0, max: 1), []),
      (AttributeDescription("x", .composite, elements: [.init("y", .integer16, min: 2, max: 1)]), [.impossibleBounds]),
    ] as [(AttributeDescription, [ModelWarning.Kind])])
  func contradictions(_ attribute: AttributeDescription, _ kinds: [ModelWarning.Kind]) throws {
    let model = ManagedObjectModel(name: "M", entities: [EntityDescription(name: "A", attributes: [attribute])])
    let found = try model.validate()
    #expect(found.map(\.kind) == kinds)
    let path = attribute.elements.isEmpty ? "x" : "x.y"
    for warning in found {
      #expect(warning.description.hasPrefix("A.\(path): "))
      #expect(warning.message.contains("ignored") || warning.message.contains("correct"), "\(warning)")
    }
  }

  @Test func namedCompositesAreLookedAtOnce() throws {
    let model = ManagedObjectModel("M") {
      CompositeAttributeDescription("C") { AttributeDescription("y", .string, regularExpression: "(") }
      EntityDescription("A") { AttributeDescription("x", .composite, composite: "C") }
      EntityDescription("B") { AttributeDescription("x", .composite, composite: "C") }
    }
    #expect(try model.validate().map(\.description).map { $0.prefix(5) } == ["C.y: "])
  }

  @Test func everyErrorSaysWhereAndWhatToDo() {
    let errors: [ModelError] = [
      .duplicateEntity("E"), .duplicateProperty(entity: "E", property: "p"),
      .conflictingRedeclaration(entity: "E", property: "p"), .invalidName(entity: "E", property: "p"),
      .unknownSuperentity(entity: "E", superentity: "S"), .cyclicInheritance(entity: "E"),
      .unknownDestination(entity: "E", property: "p", destination: "D"),
      .unknownComposite(entity: "E", property: "p", composite: "C"), .duplicateComposite("E"), .cyclicComposite("E"),
      .untypedAttribute(entity: "E", property: "p"), .defaultTypeMismatch(entity: "E", property: "p"),
      .rebuildTypeMismatch(entity: "E", property: "p"), .unknownCloneRule(entity: "E", property: "p"),
      .tooLarge(entity: "E"),
    ]
    for error in errors {
      #expect(error.entity == "E")
      #expect(error.description.contains("E") && error.description.contains(";"))
      if error.property != nil { #expect(error.description.contains("E.p")) }
      #expect("\(error.kind)".isEmpty == false)
    }
  }

  // MARK: Fetch indexes

  @Test func ignoredIndexesAreReported() {
    func warnings(_ index: FetchIndexDescription) -> [ModelWarning.Kind]? {
      self.warnings(
        EntityDescription("A", indexes: [index]) {
          AttributeDescription("x", .string)
          AttributeDescription("y", .integer16)
          AttributeDescription("t", .string, transient: true)
          RelationshipDescription("one", toOne: "A", inverse: "many")
          RelationshipDescription("many", toMany: "A", inverse: "one")
        })
    }
    for element in [
      FetchIndexDescription.Element("x"), .init("y", ascending: false), .init("one"), .init("x", kind: .rTree),
      .init(expression: "canonical:(x)"),
    ] { #expect(warnings(.init("i", [element])) == [], "\(element)") }
    for element in [
      FetchIndexDescription.Element("many"), .init("t"), .init(expression: "canonical:(y)"), .init("self"),
      .init(expression: "x + y"), .init(expression: "canonical:(one)"),
    ] { #expect(warnings(.init("i", [element])) == [.unusableIndex], "\(element)") }
    #expect(warnings(.init("i", [.init("x")], partialPredicate: "y > 1")) == [.unusableIndex])
    #expect(warnings(.init("i", [])) == [.unusableIndex])
    #expect(warnings(.init("i", Array(repeating: .init("x"), count: 17))) == [.unusableIndex])
  }

  @Test func indexesOfOneDefinitionAreOne() {
    let model = ManagedObjectModel("M") {
      EntityDescription(
        "A",
        indexes: [
          .init("i", [.init("x")]), .init("j", [.init("x")], origin: .indexedAttribute),
          .init("k", [.init("x", ascending: false)]),
        ]
      ) { AttributeDescription("x", .string) }
      EntityDescription(
        "B", parent: "A",
        indexes: [.init("i", [.init("x")]), .init("c", [.init(expression: "canonical:( x )"), .init("z.x")])]
      ) {
        AttributeDescription("z", .composite, composite: "Z")
      }
      CompositeAttributeDescription("Z") { AttributeDescription("x", .double) }
    }
    #expect(model.storedFetchIndexes(declaredIn: model.entities[0]).map(\.definition) == ["x", "x desc"])
    #expect(model.storedFetchIndexes(declaredIn: model.entities[1]).map(\.definition) == ["canonical:(x),z.x"])
  }
}
