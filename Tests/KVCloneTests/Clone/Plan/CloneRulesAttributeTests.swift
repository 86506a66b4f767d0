import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Rules R15 to R23: the values of clones.
@Suite("Clone rules: attributes")
struct CloneRulesAttributeTests {
  /// Returns a model of one entity with these attributes and an owned `child` of the same entity.
  private func model(_ attributes: [AttributeDescription]) -> ManagedObjectModel {
    ManagedObjectModel("Attributes") {
      EntityDescription("Thing") {
        for attribute in attributes { attribute }
        RelationshipDescription("child", toOne: "Thing", inverse: "parent")
        RelationshipDescription("parent", toOne: "Thing", inverse: "child")
      }
    }
  }

  /// Clones one object with this one attribute, and returns the clone's value.
  private func cloned(_ attribute: AttributeDescription, _ value: AttributeValue?) throws -> AttributeValue? {
    let fixture = try CloneStore(model([attribute]))
    let thing = try fixture.insert("Thing", [attribute.name: value])
    let clone = try fixture.clone([thing]).root
    #expect(try fixture.value(thing, attribute.name) == value)
    return try fixture.value(clone, attribute.name)
  }

  // MARK: R15

  @Test("R15 exclude gives the default, else nil, whatever the other rules say", .tags(.r15))
  func r15_exclude() throws {
    for value in ["", "value", "NO"] {
      #expect(try cloned(AttributeDescription("a", .string, default: "d", userInfo: ["exclude": value]), "x") == "d")
      #expect(try cloned(AttributeDescription("a", .string, userInfo: ["exclude": value]), "x") == nil)
    }
    let required = AttributeDescription("a", .integer32, optional: false, default: 5, userInfo: ["exclude": ""])
    #expect(try cloned(required, 9) == 5)
    let all = ["exclude": "", "rebuild": "uuid", "followParent": "a", "withoutParent": "keep"]
    #expect(try cloned(AttributeDescription("a", .uuid, userInfo: all), .uuid(UUID())) == nil)
  }

  @Test("R15 neither default nor nil is possible", .tags(.r15))
  func r15_required() throws {
    let fixture = try CloneStore(
      model([AttributeDescription("a", .string, optional: false, userInfo: ["exclude": ""])]))
    let thing = try fixture.insert("Thing", ["a": "x"])
    try fixture.expectRefusal(.excludedAttributeIsRequired, [thing], entity: "Thing", property: "a")
  }

  // MARK: R16

  @Test("R16 rebuild, letter case ignored", .tags(.r16), arguments: ["uuid", "UUID", "Uuid"])
  func r16_uuid(rule: String) throws {
    let id = UUID()
    guard case .uuid(let new)? = try cloned(AttributeDescription("a", .uuid, userInfo: ["rebuild": rule]), .uuid(id))
    else {
      Issue.record("there is a UUID")
      return
    }
    #expect(new != id)
    // RFC 9562: a version and the variant.
    #expect(new.uuid.8 & 0xC0 == 0x80 && (1...8).contains(new.uuid.6 >> 4))
  }

  @Test("R16 one operation has one now, and every UUID is another", .tags(.r16))
  func r16_now() throws {
    let fixture = try CloneStore(
      model([
        AttributeDescription("at", .date, userInfo: ["rebuild": "Now"]),
        AttributeDescription("id", .uuid, userInfo: ["rebuild": "uuid"]),
        AttributeDescription("id2", .uuid, userInfo: ["rebuild": "uuid"]),
      ]))
    let child = try fixture.insert("Thing", ["at": .date(Date(timeIntervalSinceReferenceDate: 1))])
    let thing = try fixture.insert("Thing", [:], ["child": [child]])
    let start = Date()
    let clones = try [fixture.clone([thing]).root, fixture.clone([thing]).root]
    let all = try clones + clones.compactMap { try fixture.toOne($0, "child") }
    let dates = try all.map { try fixture.value($0, "at") }
    #expect(dates[0] == dates[2] && dates[1] == dates[3] && !dates.contains(nil))
    guard case .date(let now)? = dates[0] else { return }
    #expect(now >= start.addingTimeInterval(-1) && now <= Date().addingTimeInterval(1))
    // A nil value is rebuilt as well, because the rule requires a new value, not a changed one.
    let ids = try all.flatMap { [try fixture.value($0, "id"), try fixture.value($0, "id2")] }
    #expect(Set(ids).count == 8 && !ids.contains(nil))
  }

  @Test(
    "R16 another type or value is an error when the model is used", .tags(.r16),
    arguments: [
      (AttributeType.string, "uuid"), (.uuid, "now"), (.date, "uuid"), (.uuid, "guid"), (.date, ""),
      (.integer64, "now"),
    ] as [(AttributeType, String)])
  func r16_mismatch(type: AttributeType, rule: String) {
    let model = model([AttributeDescription("a", type, userInfo: ["rebuild": rule])])
    let error = #expect(throws: ModelError.self) { _ = try model.validate() }
    #expect(error?.kind == .rebuildTypeMismatch)
    #expect(throws: StoreError.self) { _ = try CloneStore(model) }
  }

  @Test("R16 with renamed keys a mismatch is found by the plan", .tags(.r16))
  func r16_renamed() throws {
    let fixture = try CloneStore(model([AttributeDescription("a", .string, userInfo: ["fresh": "uuid"])]))
    let thing = try fixture.insert("Thing", ["a": "x"])
    let options = CloneOptions.with { $0.userInfoKeys.rebuild = "fresh" }
    try fixture.expectRefusal(.rebuildTypeMismatch, [thing], options, entity: "Thing", property: "a")
  }

  // MARK: R17, R18

  /// A parent with an `id`, and a chain of children that follow it.
  private func chain(_ userInfo: [String: String], type: AttributeType = .uuid, optional: Bool = true)
    -> ManagedObjectModel
  {
    var rules = userInfo
    rules["followParent"] = "id"
    return ManagedObjectModel("Chain") {
      EntityDescription("Parent") {
        AttributeDescription("id", .uuid, userInfo: ["rebuild": "uuid"])
        RelationshipDescription("child", toOne: "Child", inverse: "parent")
      }
      EntityDescription("Child") {
        // Follows `id` under its own name, so that grandchildren follow the child's value.
        AttributeDescription("id", type, optional: optional, userInfo: rules)
        RelationshipDescription("parent", toOne: "Parent", inverse: "child")
        RelationshipDescription("next", toOne: "Child", inverse: "previous")
        RelationshipDescription("previous", toOne: "Child", inverse: "next")
      }
      EntityDescription("Lonely") { RelationshipDescription("child", toOne: "Child") }
    }
  }

  @Test("R17 follows the parent's clone, through generations", .tags(.r17))
  func r17_follow() throws {
    let fixture = try CloneStore(chain([:]))
    let old = AttributeValue.uuid(UUID())
    let children = try fixture.store.write { tx in try (0..<4).map { _ in try tx.insert("Child", ["id": old]) } }
    for (one, other) in zip(children, children.dropFirst()) { try fixture.set(one, "next", [other]) }
    let parent = try fixture.insert("Parent", ["id": old], ["child": [children[0]]])
    let clone = try fixture.clone([parent]).root
    let id = try #require(try fixture.value(clone, "id"))
    #expect(id != old)
    var next = try fixture.toOne(clone, "child")
    var count = 0
    while let child = next {
      #expect(try fixture.value(child, "id") == id)
      count += 1
      next = try fixture.toOne(child, "next")
    }
    #expect(count == 4)
  }

  @Test("R17 the parent's clone may have nil", .tags(.r17))
  func r17_nil() throws {
    let model = ManagedObjectModel("Nil") {
      EntityDescription("Parent") {
        AttributeDescription("name", .string, userInfo: ["exclude": ""])
        RelationshipDescription("child", toOne: "Child")
      }
      EntityDescription("Child") { AttributeDescription("parentName", .string, userInfo: ["followParent": "name"]) }
    }
    let fixture = try CloneStore(model)
    let child = try fixture.insert("Child", ["parentName": "p"])
    let clone = try fixture.clone([fixture.insert("Parent", ["name": "p"], ["child": [child]])]).root
    #expect(try fixture.value(try #require(try fixture.toOne(clone, "child")), "parentName") == nil)
  }

  /// Returns the values of the clones of a root Child, and of a child of an object without `id`; both lack a parent to
  /// follow.
  private func withoutParent(_ userInfo: [String: String], _ value: AttributeValue) throws -> [AttributeValue?] {
    let fixture = try CloneStore(chain(userInfo))
    let child = try fixture.insert("Child", ["id": value])
    let lonely = try fixture.insert("Lonely", [:], ["child": [child]])
    let root = try fixture.clone([child]).root
    let clone = try fixture.clone([lonely]).root
    return [try fixture.value(root, "id"), try fixture.value(try #require(try fixture.toOne(clone, "child")), "id")]
  }

  @Test("R18 keep keeps the value, or rebuilds it", .tags(.r18))
  func r18_keep() throws {
    let old = AttributeValue.uuid(UUID())
    #expect(try withoutParent(["withoutParent": "keep"], old) == [old, old])
    let rebuilt = try withoutParent(["withoutParent": "keep", "rebuild": "uuid"], old)
    #expect(Set(rebuilt).count == 2 && !rebuilt.contains(old) && !rebuilt.contains(nil))
  }

  @Test("R18 blank takes the default, else nil", .tags(.r18))
  func r18_blank() throws {
    #expect(try withoutParent(["withoutParent": "blank"], .uuid(UUID())) == [nil, nil])
    #expect(try withoutParent(["withoutParent": "blank", "rebuild": "uuid"], .uuid(UUID())) == [nil, nil])
    let rules = ["followParent": "none", "withoutParent": "blank"]
    #expect(try cloned(AttributeDescription("a", .string, default: "d", userInfo: rules), "x") == "d")
  }

  @Test("R18 blank where neither default nor nil is possible", .tags(.r18))
  func r18_blankRequired() throws {
    let fixture = try CloneStore(chain(["withoutParent": "blank"], optional: false))
    let child = try fixture.insert("Child", ["id": .uuid(UUID())])
    // The rule does not define the kind of the error: blanked values count as excluded, and the parent is unavailable.
    let error = #expect(throws: CloneError.self) { try fixture.store.clone([child]) }
    #expect(error.map { [.excludedAttributeIsRequired, .parentUnavailable].contains($0.kind) } == true)
    #expect(error?.property == "id" && error?.entity == "Child")
    // With a parent nothing is blanked.
    try fixture.clone([fixture.insert("Parent", ["id": .uuid(UUID())], ["child": [child]])])
  }

  @Test("R18 absent or anything else is an error", .tags(.r18), arguments: [nil, "", "Keep", "drop"])
  func r18_unavailable(rule: String?) throws {
    let fixture = try CloneStore(chain(rule.map { ["withoutParent": $0] } ?? [:]))
    let child = try fixture.insert("Child", ["id": .uuid(UUID())])
    try fixture.expectRefusal(.parentUnavailable, [child], entity: "Child", property: "id", object: child)
    let lonely = try fixture.insert("Lonely", [:], ["child": [child]])
    try fixture.expectRefusal(.parentUnavailable, [lonely], entity: "Child", property: "id", object: child)
    // No error if the parent exists.
    try fixture.clone([fixture.insert("Parent", [:], ["child": [child]])])
  }

  @Test("R17 an attribute of another type counts as missing", .tags(.r17))
  func r17_otherType() throws {
    let fixture = try CloneStore(chain(["withoutParent": "keep"], type: .string))
    let child = try fixture.insert("Child", ["id": "text"])
    let clone = try fixture.clone([fixture.insert("Parent", ["id": .uuid(UUID())], ["child": [child]])]).root
    #expect(try fixture.value(try #require(try fixture.toOne(clone, "child")), "id") == "text")
  }

  // MARK: R20

  @Test("R20 transient values are handed on in the same transaction, by rule", .tags(.r20))
  func r20_transient() throws {
    let fixture = try CloneStore(
      model([
        AttributeDescription("t", .string, transient: true),
        AttributeDescription("x", .string, transient: true, userInfo: ["exclude": ""]),
      ]))
    let stored = try fixture.insert("Thing")
    let values = try fixture.store.write { tx -> [AttributeValue?] in
      let child = try tx.insert("Thing", ["t": "child", "x": "x"])
      try tx.setToOne(stored, "child", child)
      try tx.set(stored, "t", "root")
      let clone = try tx.clone([stored]).root
      guard let copy = try tx.toOne(clone, "child") else { return [] }
      return [try tx.value(clone, "t"), try tx.value(copy, "t"), try tx.value(copy, "x")]
    }
    #expect(values == ["root", "child", nil])
    let later = try fixture.clone([stored]).root
    #expect(try fixture.value(later, "t") == nil)
  }

  // MARK: R21

  @Test("R21 composites are copied leaf by leaf, by the leaves' rules", .tags(.r21))
  func r21_composite() throws {
    let elements = [
      AttributeDescription("street", .string), AttributeDescription("id", .uuid, userInfo: ["rebuild": "uuid"]),
      AttributeDescription("secret", .string, userInfo: ["exclude": ""]),
      AttributeDescription("zip", .integer32, default: 7, userInfo: ["exclude": ""]),
      AttributeDescription("at", .date, userInfo: ["rebuild": "now"]),
      AttributeDescription("owner", .string, userInfo: ["followParent": "name", "withoutParent": "keep"]),
    ]
    let fixture = try CloneStore(
      model([AttributeDescription("name", .string), AttributeDescription("address", .composite, elements: elements)]))
    let id = UUID()
    let address: AttributeValue = ["street": "s", "id": .uuid(id), "secret": "x", "zip": 9, "owner": "o"]
    let child = try fixture.insert("Thing", ["name": "c", "address": address])
    let thing = try fixture.insert("Thing", ["name": "p", "address": address], ["child": [child]])
    let clone = try fixture.clone([thing]).root
    let copy = try #require(try fixture.toOne(clone, "child"))
    for (id1, owner) in [(clone, "o"), (copy, "p")] {
      guard case .composite(let values)? = try fixture.value(id1, "address") else {
        Issue.record("the clone has an address")
        continue
      }
      #expect(values["street"] == "s" && values["secret"] == nil && values["zip"] == .integer(7))
      #expect(values["owner"] == .string(owner))
      #expect(values["id"] != nil && values["id"] != .uuid(id) && values["at"] != nil)
    }
  }

  @Test("R17 a composite that follows its parent copies every element", .tags(.r17))
  func r17_composite() throws {
    let elements = [AttributeDescription("a", .string), AttributeDescription("b", .integer32)]
    let fixture = try CloneStore(
      model([
        AttributeDescription("c", .composite, elements: elements),
        AttributeDescription(
          "d", .composite, elements: elements, userInfo: ["followParent": "c", "withoutParent": "keep"]),
      ]))
    let child = try fixture.insert("Thing", ["c": ["a": "child"], "d": ["a": "old", "b": 1]])
    let thing = try fixture.insert("Thing", ["c": ["a": "parent"], "d": ["a": "kept"]], ["child": [child]])
    let clone = try fixture.clone([thing]).root
    let copy = try #require(try fixture.toOne(clone, "child"))
    #expect(try fixture.value(clone, "d") == ["a": "kept"])
    #expect(try fixture.value(copy, "d") == ["a": "parent"])
  }

  @Test("R21 a composite that is nil stays nil", .tags(.r21))
  func r21_nil() throws {
    let attribute = AttributeDescription(
      "c", .composite, elements: [AttributeDescription("id", .uuid, userInfo: ["rebuild": "uuid"])])
    #expect(try cloned(attribute, nil) == nil)
    let excluded = AttributeDescription(
      "c", .composite, elements: [AttributeDescription("a", .string)], userInfo: ["exclude": ""])
    #expect(try cloned(excluded, ["a": "x"]) == nil)
  }

  @Test("R21 a leaf that cannot be left out is an error where the composite is there", .tags(.r21))
  func r21_requiredLeaf() throws {
    let elements = [
      AttributeDescription("a", .string, optional: false, userInfo: ["exclude": ""]),
      AttributeDescription("b", .string),
    ]
    let fixture = try CloneStore(model([AttributeDescription("c", .composite, elements: elements)]))
    let thing = try fixture.insert("Thing", ["c": ["a": "x", "b": "y"]])
    try fixture.expectRefusal(.excludedAttributeIsRequired, [thing], entity: "Thing", property: "c.a")
    // A nil composite has no leaves, and a composite without its rule may be omitted as a whole.
    try fixture.clone([fixture.insert("Thing")])
    let whole = AttributeDescription(
      "c", .composite, elements: [AttributeDescription("a", .string, optional: false)], userInfo: ["exclude": ""])
    #expect(try cloned(whole, ["a": "x"]) == nil)
  }

  // MARK: R22, R23

  @Test("R22 the concrete sub-entity is kept, and its userInfo wins", .tags(.r22))
  func r22_subentities() throws {
    let model = ManagedObjectModel("Inheritance") {
      EntityDescription("Base") {
        AttributeDescription("id", .uuid, userInfo: ["rebuild": "uuid"])
        AttributeDescription("text", .string, userInfo: ["exclude": ""])
        RelationshipDescription("parts", toMany: "Base", inverse: "whole")
        RelationshipDescription("whole", toOne: "Base", inverse: "parts")
        RelationshipDescription("ref", toOne: "Base", userInfo: ["clone": "reference"])
      }
      EntityDescription("Sub", parent: "Base") {
        AttributeDescription("id", .uuid, userInfo: ["exclude": ""])
        AttributeDescription("extra", .integer64)
        RelationshipDescription("ref", toOne: "Base", userInfo: ["clone": "follow"])
      }
      EntityDescription("SubSub", parent: "Sub") {}
    }
    let fixture = try CloneStore(model)
    let target = try fixture.insert("Base")
    let values: [String: AttributeValue?] = ["id": .uuid(UUID()), "text": "t"]
    let base = try fixture.insert("Base", values, ["ref": [target]])
    for entity in ["Sub", "SubSub"] {
      try fixture.insert(entity, values.merging(["extra": 5]) { $1 }, ["whole": [base], "ref": [base]])
    }
    let result = try fixture.clone([base])
    #expect(result.counts == ["Base": 1, "Sub": 1, "SubSub": 1])
    #expect(try fixture.toOne(result.root, "ref") == target)
    #expect(try fixture.value(result.root, "text") == nil && fixture.value(result.root, "id") != nil)
    let parts = try fixture.members(result.root, "parts")
    #expect(try parts.map { id in try fixture.store.read { try $0.entityName(of: id) } } == ["Sub", "SubSub"])
    for part in parts {
      #expect(try fixture.value(part, "extra") == 5)
      #expect(try fixture.value(part, "id") == nil && fixture.value(part, "text") == nil)
      #expect(try fixture.toOne(part, "ref") == result.root)
    }
  }

  @Test("R23 fetched properties are ignored", .tags(.r23))
  func r23_fetchedProperties() throws {
    let model = ManagedObjectModel("Fetched") {
      EntityDescription("Thing") {
        AttributeDescription("name", .string)
        FetchedPropertyDescription(
          "similar", FetchRequestTemplate("similar", entity: "Thing", predicate: "name == 'x'"))
      }
    }
    let fixture = try CloneStore(model)
    let thing = try fixture.insert("Thing", ["name": "x"])
    let clone = try fixture.clone([thing]).root
    #expect(try fixture.value(clone, "name") == "x")
    #expect(try fixture.store.planClone([thing]).rules.allSatisfy { $0.property != "similar" })
  }
}
