import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

/// R15 to R18 and R21 to R24 with handwritten expectations.
struct ReferenceAttributeRuleTests {
  /// Returns a model of a parent with one child, with these attributes of the child.
  private func model(_ attributes: [AttributeDescription], unique: [[String]] = []) -> ModelView {
    var child = EntityDescription(
      name: "Child", attributes: attributes,
      relationships: [RelationshipDescription("parent", toOne: "Parent", inverse: "children")])
    child.uniquenessConstraints = unique
    return ModelView(
      ManagedObjectModel("Family") {
        EntityDescription("Parent") {
          AttributeDescription("id", .uuid, userInfo: ["rebuild": "UUID"])
          AttributeDescription("code", .integer16)
          RelationshipDescription("children", toMany: "Child", inverse: "parent")
        }
        child
        EntityDescription("Special", parent: "Child") {
          AttributeDescription("a", .string, default: "special", userInfo: ["exclude": "1"])
        }
        CompositeAttributeDescription("Pair") {
          AttributeDescription("left", .string, default: "L", userInfo: ["exclude": ""])
          AttributeDescription("right", .uuid, userInfo: ["followParent": "id", "withoutParent": "blank"])
          AttributeDescription("rest", .double)
        }
      })
  }

  private func graph(_ values: [String: AttributeValue], entity: String = "Child") -> ReferenceGraph {
    ReferenceGraph([
      ReferenceObject("Parent/1", ["id": .uuid(UUID()), "code": 5], ["children": [Label(entity, 1)]]),
      ReferenceObject(Label(entity, 1), values, ["parent": ["Parent/1"]]),
    ])
  }

  private func kinds(_ roots: [Label], _ graph: ReferenceGraph, _ model: ModelView) -> Set<String> {
    do {
      _ = try ReferenceCloner.clone(roots, in: graph, model: model)
      return []
    } catch { return error.kinds }
  }

  @Test func R15_exclude() throws {
    let optional = model([
      AttributeDescription("a", .string, default: "d", userInfo: ["exclude": "no", "followParent": "code"]),
      AttributeDescription("b", .string, userInfo: ["exclude": ""]),
      AttributeDescription("c", .string),
    ])
    let clone = try ReferenceCloner.clone(["Child/1"], in: graph(["a": "1", "b": "2", "c": "3"]), model: optional)
    #expect(clone.after["Child/2"]?.attributes == ["a": "d", "c": "3"])
    let required = model([AttributeDescription("a", .string, optional: false, userInfo: ["exclude": ""])])
    #expect(kinds(["Child/1"], graph(["a": "1"]), required) == ["excludedAttributeIsRequired"])
  }

  @Test func R16_rebuild() throws {
    let model = model([
      AttributeDescription("a", .uuid, userInfo: ["rebuild": "Uuid"]),
      AttributeDescription("b", .date, userInfo: ["rebuild": "NOW"]),
    ])
    let clone = try ReferenceCloner.clone(["Child/1"], in: graph([:]), model: model)
    #expect(clone.symbols["Child/2"] == ["a": .fresh("Child/2", "a"), "b": .now])
    let wrong = self.model([AttributeDescription("a", .string, userInfo: ["rebuild": "uuid"])])
    #expect(kinds(["Child/1"], graph(["a": "1"]), wrong) == ["rebuildTypeMismatch"])
  }

  @Test func R17_R18_followParent() throws {
    func rule(_ name: String, _ type: AttributeType, _ more: [String: String], optional: Bool = true) -> ModelView {
      let userInfo = more.merging(["followParent": name]) { $1 }
      return model([AttributeDescription("a", type, optional: optional, userInfo: userInfo)])
    }
    let old = UUID()
    let before = graph(["a": .uuid(old)])
    let followed = try ReferenceCloner.clone(["Parent/1"], in: before, model: rule("id", .uuid, [:]))
    #expect(followed.symbols["Child/2"] == ["a": .fresh("Parent/2", "id")])
    // Another type counts as a missing parent.
    #expect(kinds(["Parent/1"], graph(["a": 1]), rule("code", .integer32, [:])) == ["parentUnavailable"])
    let same = try ReferenceCloner.clone(["Parent/1"], in: graph(["a": 1]), model: rule("code", .integer16, [:]))
    #expect(same.after["Child/2"]?.attributes == ["a": 5])
    // A root has no parent.
    #expect(kinds(["Child/1"], before, rule("id", .uuid, [:])) == ["parentUnavailable"])
    #expect(kinds(["Child/1"], before, rule("id", .uuid, ["withoutParent": "Keep"])) == ["parentUnavailable"])
    let keep = rule("id", .uuid, ["withoutParent": "keep"])
    let kept = try ReferenceCloner.clone(["Child/1"], in: before, model: keep)
    #expect(kept.after["Child/2"]?.attributes == ["a": .uuid(old)])
    let rebuild = rule("id", .uuid, ["withoutParent": "keep", "rebuild": "uuid"])
    let rebuilt = try ReferenceCloner.clone(["Child/1"], in: before, model: rebuild)
    #expect(rebuilt.symbols["Child/2"] == ["a": .fresh("Child/2", "a")])
    let blank = rule("id", .uuid, ["withoutParent": "blank"])
    #expect(try ReferenceCloner.clone(["Child/1"], in: before, model: blank).after["Child/2"]?.attributes == [:])
    let required = rule("id", .uuid, ["withoutParent": "blank"], optional: false)
    #expect(kinds(["Child/1"], before, required) == ["parentUnavailable"])
    // R32: a root that another root reaches has no discovery parent either.
    let both = try ReferenceCloner.clone(["Parent/1", "Child/1"], in: before, model: keep)
    #expect(both.after["Child/2"]?.attributes == ["a": .uuid(old)])
  }

  @Test func R21_composite() throws {
    let model = model([AttributeDescription("a", .composite, composite: "Pair")])
    let before = graph(["a": ["left": "x", "right": .uuid(UUID()), "rest": 0.5]])
    let clone = try ReferenceCloner.clone(["Parent/1"], in: before, model: model)
    #expect(clone.after["Child/2"]?.attributes == ["a": ["left": "L", "rest": 0.5]])
    #expect(clone.symbols["Child/2"] == ["a.right": .fresh("Parent/2", "id")])
  }

  @Test func R22_subentity() throws {
    let model = model([AttributeDescription("a", .string)])
    let clone = try ReferenceCloner.clone(["Special/1"], in: graph(["a": "x"], entity: "Special"), model: model)
    #expect(clone.after["Special/2"]?.attributes == ["a": "special"])
  }

  @Test func R19_R23_derivedAndFetched() throws {
    let model = model([
      AttributeDescription("a", .string), AttributeDescription("b", .string, derivation: "canonical:(a)"),
    ])
    let clone = try ReferenceCloner.clone(["Child/1"], in: graph(["a": "x", "b": "y"]), model: model)
    #expect(clone.after["Child/2"]?.attributes == ["a": "x"])
    #expect(clone.symbols["Child/2"] == ["b": .computed])
  }

  @Test func R24_uniqueness() throws {
    let plain = model([AttributeDescription("a", .string)], unique: [["a"]])
    #expect(kinds(["Child/1"], graph(["a": "x"]), plain) == ["uniquenessConflict"])
    #expect(kinds(["Child/1"], graph([:]), plain) == [])
    let fresh = model([AttributeDescription("a", .uuid, userInfo: ["rebuild": "uuid"])], unique: [["a"]])
    #expect(kinds(["Child/1"], graph(["a": .uuid(UUID())]), fresh) == [])
    // One operation has one `now`, so two copies conflict with each other.
    let now = model([AttributeDescription("a", .date, userInfo: ["rebuild": "now"])], unique: [["a"]])
    #expect(kinds(["Child/1"], graph([:]), now) == [])
    var twice = ReferenceCloneOptions()
    twice.count = 2
    #expect(throws: ReferenceCloneFailure.self) {
      try ReferenceCloner.clone(["Child/1"], in: graph([:]), model: now, options: twice)
    }
  }

  @Test func R24_uniquenessOfTargets() {
    let model = model([AttributeDescription("a", .string)], unique: [["a", "parent"]])
    let before = graph(["a": "x"])
    #expect(before.validate(model) == [])
    // The child's clone has the same parent as its source; with the parent's clone there is no conflict.
    #expect(kinds(["Child/1"], before, model) == ["uniquenessConflict"])
    #expect(kinds(["Parent/1"], before, model) == [])
  }

  @Test func R28_renamedKeys() throws {
    let model = model([AttributeDescription("a", .string, userInfo: ["exclude": ""])])
    var options = ReferenceCloneOptions()
    options.keys = CloneUserInfoKeys(exclude: "leaveOut")
    let clone = try ReferenceCloner.clone(["Child/1"], in: graph(["a": "x"]), model: model, options: options)
    #expect(clone.after["Child/2"]?.attributes == ["a": "x"])
  }
}
