import KVCloneModel
import KVCloneTestSupport
import Testing

/// R2 to R14 and R32 with handwritten expectations.
struct ReferenceLinkRuleTests {
  /// A tree of folders that own files; files share tags and, in order, lists; a file has one cover and refers to any
  /// other file.
  private let model = ModelView(
    ManagedObjectModel("Files") {
      EntityDescription("Folder") {
        RelationshipDescription("parent", toOne: "Folder", inverse: "children")
        RelationshipDescription("children", toMany: "Folder", inverse: "parent", ordered: true)
        RelationshipDescription("files", toMany: "File", inverse: "folder")
      }
      EntityDescription("File") {
        RelationshipDescription("folder", toOne: "Folder", inverse: "files", optional: false)
        RelationshipDescription("tags", toMany: "Tag", inverse: "files")
        RelationshipDescription("lists", toMany: "List", inverse: "files")
        RelationshipDescription("cover", toOne: "Cover", inverse: "file")
        RelationshipDescription("looksAt", toOne: "File")
        RelationshipDescription("hidden", toMany: "Tag", userInfo: ["exclude": "any"])
        RelationshipDescription("stamp", toOne: "Tag", userInfo: ["clone": "reference"])
      }
      EntityDescription("Tag") { RelationshipDescription("files", toMany: "File", inverse: "tags") }
      EntityDescription("List") {
        RelationshipDescription("files", toMany: "File", inverse: "lists", ordered: true, max: 4)
      }
      EntityDescription("Cover") { RelationshipDescription("file", toOne: "File", inverse: "cover") }
    })

  private func graph(_ labels: [Label], _ links: [(Label, String, Label)]) -> ReferenceGraph {
    var graph = ReferenceGraph(labels.map { ReferenceObject($0) })
    for (owner, name, target) in links { graph.link(owner, name, target, model: model) }
    return graph
  }

  private func clone(
    _ roots: [Label], _ graph: ReferenceGraph, _ change: (inout ReferenceCloneOptions) -> Void = { _ in }
  ) throws(ReferenceCloneFailure) -> ReferenceClone {
    var options = ReferenceCloneOptions()
    change(&options)
    return try ReferenceCloner.clone(roots, in: graph, model: model, options: options)
  }

  private func errors(
    _ roots: [Label], _ graph: ReferenceGraph, _ change: (inout ReferenceCloneOptions) -> Void = { _ in }
  ) -> [ReferenceCloneError] {
    do {
      _ = try clone(roots, graph, change)
      return []
    } catch { return error.errors }
  }

  /// Folder 1 with folders 3 and 2, folder 3 with folder 4.
  private var tree: ReferenceGraph {
    graph(
      ["Folder/1", "Folder/2", "Folder/3", "Folder/4"],
      [
        ("Folder/1", "children", "Folder/3"), ("Folder/1", "children", "Folder/2"),
        ("Folder/3", "children", "Folder/4"),
      ])
  }

  @Test func R2_ringIsClonedOnce() throws {
    let ring = graph(
      ["Folder/1", "File/1", "File/2"],
      [
        ("Folder/1", "files", "File/1"), ("Folder/1", "files", "File/2"), ("File/1", "looksAt", "File/2"),
        ("File/2", "looksAt", "File/1"),
      ])
    let clone = try clone(["Folder/1"], ring)
    #expect(clone.sources == ["Folder/1", "File/1", "File/2"])
    #expect(clone.after["File/3"]?.relationships == ["folder": ["Folder/2"], "looksAt": ["File/4"]])
    #expect(clone.after["File/4"]?.relationships == ["folder": ["Folder/2"], "looksAt": ["File/3"]])
    #expect(clone.after["Folder/2"]?.relationships == ["files": ["File/3", "File/4"]])
  }

  @Test func R3_breadthFirstInStoredOrder() throws {
    let clone = try clone(["Folder/1"], tree)
    #expect(clone.sources == ["Folder/1", "Folder/3", "Folder/2", "Folder/4"])
    #expect(clone.discoveryParents == ["Folder/3": "Folder/1", "Folder/2": "Folder/1", "Folder/4": "Folder/3"])
    #expect(clone.depths == ["Folder/1": 0, "Folder/2": 1, "Folder/3": 1, "Folder/4": 2])
  }

  @Test func R4_treeToTheEnd() throws {
    let clone = try clone(["Folder/1"], tree)
    #expect(clone.after["Folder/5"]?.relationships == ["children": ["Folder/7", "Folder/6"]])
    #expect(clone.after["Folder/7"]?.relationships == ["parent": ["Folder/5"], "children": ["Folder/8"]])
    #expect(clone.after["Folder/8"]?.relationships == ["parent": ["Folder/7"]])
  }

  @Test func R5_exclusion() throws {
    let root = try clone(["Folder/1"], tree) { $0.excludedRelationshipNames = ["children"] }
    #expect(root.sources == ["Folder/1"])
    #expect(root.after["Folder/5"]?.relationships == [:])
    var chain = tree
    chain.add("File/1")
    chain.link("Folder/2", "files", "File/1", model: model)
    let level = try clone(["Folder/1"], chain) { $0.excludedRelationshipNames = ["files"] }
    #expect(level.sources.contains("File/1"))
    let everywhere = try clone(["Folder/1"], chain) {
      $0.excludedRelationshipNames = ["files"]
      $0.passingExclusionList = true
    }
    #expect(!everywhere.sources.contains("File/1"))
    let named = try clone(["Folder/1"], chain) { $0.excludedRelationshipNames = ["Folder.files"] }
    #expect(!named.sources.contains("File/1"))
    let hidden = graph(
      ["Folder/1", "File/1", "Tag/1"], [("File/1", "hidden", "Tag/1"), ("Folder/1", "files", "File/1")])
    #expect(try clone(["File/1"], hidden).after["File/2"]?.targets("hidden") == [])
    let unknown = errors(["Folder/1"], tree) { $0.excludedRelationshipNames = ["nothing", "Tag.nothing"] }
    #expect(unknown.map(\.kind) == ["unknownRelationship", "unknownRelationship"])
    // `files` of Tag is reachable from a Folder in the model, although no link leads there.
    #expect(errors(["Folder/1"], tree) { $0.excludedRelationshipNames = ["Tag.files", "cover"] }.isEmpty)
  }

  @Test func R6_R13_sharedTargets() throws {
    let shared = graph(
      ["Folder/1", "File/1", "Tag/1"], [("Folder/1", "files", "File/1"), ("File/1", "tags", "Tag/1")])
    let clone = try clone(["File/1"], shared)
    #expect(clone.sources == ["File/1"])
    // R8: a sibling in the same folder.
    #expect(clone.after["File/2"]?.relationships == ["folder": ["Folder/1"], "tags": ["Tag/1"]])
    #expect(clone.after["Tag/1"]?.targets("files") == ["File/1", "File/2"])
    #expect(clone.affectedObjectIDs == ["Tag/1", "Folder/1"])
  }

  @Test func R7_overrides() throws {
    let before = graph(
      ["Folder/1", "File/1", "Tag/1", "Tag/2", "Cover/1"],
      [
        ("Folder/1", "files", "File/1"), ("File/1", "tags", "Tag/1"), ("File/1", "cover", "Cover/1"),
        ("File/1", "stamp", "Tag/2"),
      ])
    let plain = try clone(["File/1"], before)
    #expect(plain.sources == ["File/1", "Cover/1"])
    #expect(plain.after["File/2"]?.targets("stamp") == ["Tag/2"])
    #expect(!plain.affectedObjectIDs.contains("Tag/2"))
    let follow = try clone(["File/1"], before) { $0.rules = ["File.tags": .follow, "File.stamp": .follow] }
    #expect(follow.sources == ["File/1", "Tag/1", "Cover/1", "Tag/2"])
    let skip = try clone(["File/1"], before) { $0.rules = ["File.tags": .skip] }
    #expect(skip.after["File/2"]?.targets("tags") == [])
    let hidden = graph(
      ["Folder/1", "File/1", "Tag/1"], [("File/1", "hidden", "Tag/1"), ("Folder/1", "files", "File/1")])
    let called = try clone(["File/1"], hidden) { $0.rules = ["File.hidden": .follow] }
    #expect(called.after["File/2"]?.targets("hidden") == ["Tag/2"])
  }

  @Test func R9_R10_stoppedInside() throws {
    let before = graph(
      ["Folder/1", "File/1", "Tag/1"], [("Folder/1", "files", "File/1"), ("File/1", "tags", "Tag/1")])
    let remapped = try clone(["File/1", "Tag/1"], before)
    #expect(remapped.after["File/2"]?.targets("tags") == ["Tag/2"])
    #expect(remapped.after["Tag/2"]?.targets("files") == ["File/2"])
    #expect(remapped.affectedObjectIDs == ["Folder/1"])
    let kept = try clone(["File/1", "Tag/1"], before) { $0.references = .keepOriginal }
    #expect(kept.after["File/2"]?.targets("tags") == ["Tag/1"])
    #expect(kept.after["Tag/2"]?.targets("files") == ["File/1"])
    #expect(kept.after["Tag/1"]?.targets("files") == ["File/1", "File/2"])
    #expect(kept.after["File/1"]?.targets("tags") == ["Tag/1", "Tag/2"])
    #expect(kept.affectedObjectIDs == ["Folder/1", "Tag/1", "File/1"])
    #expect(kept.after.validate(model).isEmpty)
  }

  @Test func R11_followedFromTheOtherEnd() throws {
    // The folder's side is excluded, the file's is stopped: excluded is stronger, and the file requires a folder.
    let before = graph(["Folder/1", "File/1"], [("Folder/1", "files", "File/1")])
    let failed = errors(["Folder/1", "File/1"], before) { $0.excludedRelationshipNames = ["Folder.files"] }
    #expect(
      failed == [
        ReferenceCloneError("requiredRelationshipExcluded", entity: "File", property: "folder", object: "File/1")
      ])
    let made = try clone(["File/1"], before) {
      $0.excludedRelationshipNames = ["Folder.files"]
      $0.rules = ["File.folder": .follow]
    }
    #expect(made.after["File/2"]?.targets("folder") == ["Folder/2"])
    #expect(made.after["Folder/2"]?.targets("files") == ["File/2"])
  }

  @Test func R12_R32_orderOfOutsideLists() throws {
    let before = graph(
      ["Folder/1", "File/1", "File/2", "List/1"],
      [
        ("Folder/1", "files", "File/1"), ("Folder/1", "files", "File/2"), ("List/1", "files", "File/2"),
        ("List/1", "files", "File/1"),
      ])
    let one = try clone(["Folder/1"], before)
    #expect(one.after["List/1"]?.targets("files") == ["File/2", "File/1", "File/4", "File/3"])
    let failed = errors(["Folder/1"], before) { $0.count = 2 }
    #expect(
      failed == [ReferenceCloneError("maxCountExceeded", entity: "List", property: "files", object: "List/1")])
    let half = graph(
      ["Folder/1", "File/1", "List/1"], [("Folder/1", "files", "File/1"), ("List/1", "files", "File/1")])
    let copies = try clone(["Folder/1"], half) { $0.count = 3 }
    #expect(copies.roots == [["Folder/2"], ["Folder/3"], ["Folder/4"]])
    #expect(copies.after["List/1"]?.targets("files") == ["File/1", "File/2", "File/3", "File/4"])
  }

  @Test func R12_gapsInAnOrderedList() throws {
    // Of an excluded list only the members that their inverse follows remain; the others keep their order.
    let made = try clone(["Folder/1", "Folder/2"], tree) {
      $0.excludedRelationshipNames = ["Folder.children"]
      $0.rules = ["Folder.parent": .follow]
    }
    #expect(made.after["Folder/5"]?.targets("children") == ["Folder/6"])
    #expect(made.after["Folder/6"]?.targets("parent") == ["Folder/5"])
  }

  @Test func R13_inverseTaken() {
    let before = graph(
      ["Folder/1", "File/1", "Cover/1"], [("Folder/1", "files", "File/1"), ("File/1", "cover", "Cover/1")])
    #expect(
      errors(["File/1"], before) { $0.rules = ["File.cover": .reference] } == [
        ReferenceCloneError("inverseTaken", entity: "Cover", property: "file", object: "Cover/1")
      ])
  }

  @Test func R14_requiredRelationshipExcluded() {
    let before = graph(["Folder/1", "File/1"], [("Folder/1", "files", "File/1")])
    #expect(
      errors(["File/1"], before) { $0.excludedRelationshipNames = ["folder"] } == [
        ReferenceCloneError("requiredRelationshipExcluded", entity: "File", property: "folder", object: "File/1")
      ])
  }

  @Test func R29_limits() {
    #expect(errors(["Folder/1"], tree) { $0.maxObjects = 3 }.map(\.kind) == ["limitExceeded"])
    #expect(errors(["Folder/1"], tree) { $0.maxObjects = 4 }.isEmpty)
    #expect(errors(["Folder/1"], tree) { $0.maxDepth = 1 }.map(\.kind) == ["limitExceeded"])
    #expect(errors(["Folder/1"], tree) { $0.maxDepth = 2 }.isEmpty)
  }

  @Test func R32_severalRoots() throws {
    let clone = try clone(["Folder/3", "Folder/1", "Folder/3"], tree)
    #expect(clone.sources == ["Folder/3", "Folder/1", "Folder/4", "Folder/2"])
    #expect(clone.discoveryParents == ["Folder/4": "Folder/3", "Folder/2": "Folder/1"])
    #expect(clone.roots == [["Folder/7", "Folder/5"]])
    #expect(clone.after["Folder/7"]?.targets("parent") == ["Folder/5"])
  }
}
