import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Rules R1, R24 and R27 to R32: the whole operation.
@Suite("Clone rules: the operation")
struct CloneRulesOperationTests {
  /// Parents own children; both have the attributes that constraints need.
  private static func family(unique: [[String]] = [], childUnique: [[String]] = []) -> ManagedObjectModel {
    ManagedObjectModel("Family") {
      EntityDescription("Parent", unique: unique) {
        AttributeDescription("name", .string)
        AttributeDescription("code", .string, default: "new", userInfo: ["exclude": ""])
        AttributeDescription("id", .uuid, userInfo: ["rebuild": "uuid"])
        AttributeDescription("at", .date, userInfo: ["rebuild": "now"])
        RelationshipDescription("children", toMany: "Child", inverse: "parent", ordered: true)
        RelationshipDescription("twin", toOne: "Parent", inverse: "twin")
      }
      EntityDescription("Child", unique: childUnique) {
        AttributeDescription("name", .string)
        AttributeDescription("parentID", .uuid, userInfo: ["followParent": "id", "withoutParent": "blank"])
        RelationshipDescription("parent", toOne: "Parent", inverse: "children")
      }
    }
  }

  // MARK: R1

  @Test("R1 a clone is one commit, and a clone that throws is none", .tags(.r1))
  func r1_oneCommit() throws {
    let fixture = try CloneStore(Self.family())
    let parent = try fixture.insert("Parent", ["name": "p"])
    try fixture.insert("Child", ["name": "c"], ["parent": [parent]])
    let before = try fixture.commit
    try fixture.clone([parent])
    #expect(try fixture.commit == before + 1)
    try fixture.expectRefusal(.unknownRelationship, [parent], .excluding("nothing"))
    try fixture.expectRefusal(.objectNotFound, [parent, ObjectID(rootCode: parent.rootCode, serial: 999)])
    // A rejected clone has no visible effect: the next one succeeds.
    #expect(try fixture.clone([parent]).objectCount == 2)
  }

  @Test("R1 other changes of a transaction are aborted with the clone that failed in it", .tags(.r1))
  func r1_abortOnly() throws {
    let fixture = try CloneStore(Self.family())
    let parent = try fixture.insert("Parent", ["name": "p"])
    let lines = try fixture.lines()
    for continues in [false, true] {
      #expect(throws: (any Error).self) {
        try fixture.store.write { tx in
          let other = try tx.insert("Parent", ["name": "other"])
          _ = try tx.clone([parent])
          do {
            _ = try tx.clone([other], options: .excluding("nothing"))
          } catch {
            if !continues { throw error }
          }
        }
      }
      #expect(try fixture.lines() == lines)
    }
    // In an abort-only transaction all operations fail.
    var later: StoreError?
    #expect(throws: (any Error).self) {
      try fixture.store.write { tx in
        _ = try? tx.clone([parent], options: .excluding("nothing"))
        do throws(StoreError) { try tx.insert("Parent") } catch { later = error }
      }
    }
    #expect(later?.kind == .transactionAborted)
    try fixture.expectClean()
  }

  @Test("R1 a clone sees what its transaction did before, and later changes see the clone", .tags(.r1))
  func r1_insideTransaction() throws {
    let fixture = try CloneStore(Self.family())
    let stored = try fixture.insert("Parent", ["name": "stored"])
    let (clone, names) = try fixture.store.write { tx in
      try tx.set(stored, "name", "changed")
      let child = try tx.insert("Child", ["name": "fresh"], relationships: ["parent": [stored]])
      let clone = try tx.clone([stored]).root
      try tx.set(child, "name", "after")
      try tx.link(clone, "children", [try tx.insert("Child", ["name": "added"])])
      let again = try tx.clone([clone]).root
      return (clone, try tx.members(again, "children").map { try tx.value($0, "name") })
    }
    #expect(try fixture.value(clone, "name") == "changed")
    #expect(names == ["fresh", "added"])
    #expect(try fixture.names(stored, "children") == ["after"])
    try fixture.expectClean()
  }

  @Test("R1 throwing after a clone undoes it", .tags(.r1))
  func r1_undo() throws {
    struct Stop: Error {}
    let fixture = try CloneStore(Self.family())
    let parent = try fixture.insert("Parent")
    let (lines, commit) = (try fixture.lines(), try fixture.commit)
    #expect(throws: Stop.self) {
      try fixture.store.write { tx in
        _ = try tx.clone([parent])
        throw Stop()
      }
    }
    #expect(try fixture.lines() == lines && fixture.commit == commit)
  }

  // MARK: R24

  @Test("R24 a copied value conflicts with its source's, and nil never does", .tags(.r24))
  func r24_store() throws {
    let fixture = try CloneStore(Self.family(unique: [["name"]]))
    let parent = try fixture.insert("Parent", ["name": "p"])
    try fixture.expectRefusal(.uniquenessConflict, [parent], entity: "Parent", property: "name", object: parent)
    try fixture.clone([fixture.insert("Parent")])
    let rebuilt = try CloneStore(Self.family(unique: [["name", "id"]]))
    try rebuilt.clone([rebuilt.insert("Parent", ["name": "p", "id": .uuid(UUID())])])
  }

  @Test("R24 defaults, now and followed values conflict with each other", .tags(.r24), arguments: ["code", "at"])
  func r24_eachOther(name: String) throws {
    let fixture = try CloneStore(Self.family(unique: [[name]]))
    let parents = try (0..<2).map {
      try fixture.insert(
        "Parent", ["code": .string("\($0)"), "at": .date(Date(timeIntervalSinceReferenceDate: Double($0)))])
    }
    try fixture.expectRefusal(.uniquenessConflict, parents, entity: "Parent", property: name)
    // A single clone is valid; with the default value only once.
    try fixture.clone([parents[0]])
    if name == "code" {
      try fixture.expectRefusal(.uniquenessConflict, [parents[1]], property: "code")
    } else {
      try fixture.clone([parents[1]])
    }
  }

  @Test("R24 followed values", .tags(.r24))
  func r24_followed() throws {
    let fixture = try CloneStore(Self.family(childUnique: [["parentID"]]))
    let parent = try fixture.insert("Parent", ["id": .uuid(UUID())])
    let first = try fixture.insert("Child", ["parentID": .uuid(UUID())], ["parent": [parent]])
    try fixture.clone([parent])
    try fixture.insert("Child", ["parentID": .uuid(UUID())], ["parent": [parent]])
    try fixture.expectRefusal(.uniquenessConflict, [parent], entity: "Child", property: "parentID")
    #expect(try fixture.clone([first], .excluding("parent")).objectCount == 1)
  }

  @Test("R24 a constraint of several properties, a to-one relationship among them", .tags(.r24))
  func r24_several() throws {
    let fixture = try CloneStore(Self.family(childUnique: [["name", "parent"]]))
    let parent = try fixture.insert("Parent")
    let child = try fixture.insert("Child", ["name": "c"], ["parent": [parent]])
    try fixture.insert("Child", ["name": "d"], ["parent": [parent]])
    // Cloned with its parent, a child has another parent, so nothing conflicts; alone it would have the same parent as
    // its source.
    try fixture.clone([parent])
    try fixture.expectRefusal(.uniquenessConflict, [child], entity: "Child", property: "name,parent", object: child)
    try fixture.clone([child], .excluding("parent"))
  }

  @Test("R24 constraints hold for sub-entities together", .tags(.r24))
  func r24_subentities() throws {
    let model = ManagedObjectModel("Sub") {
      EntityDescription("Base", unique: [["code"]]) {
        AttributeDescription("code", .integer64, default: 1, userInfo: ["exclude": ""])
      }
      EntityDescription("Sub", parent: "Base") {}
    }
    let fixture = try CloneStore(model)
    let (base, sub) = (try fixture.insert("Base", ["code": 5]), try fixture.insert("Sub", ["code": 6]))
    try fixture.expectRefusal(.uniquenessConflict, [base, sub], property: "code")
    try fixture.clone([sub])
    try fixture.expectRefusal(.uniquenessConflict, [base], property: "code", object: base)
  }

  // MARK: R27, R28

  @Test("R27 MOCloner's call commits itself, or takes part in the caller's transaction", .tags(.r27))
  func r27_call() throws {
    let fixture = try CloneStore(Self.family())
    let parent = try fixture.insert("Parent", ["name": "p"])
    try fixture.insert("Child", [:], ["parent": [parent]])
    let commit = try fixture.commit
    let clone = try fixture.store.clone(
      object: parent, excludedRelationshipNames: ["children"], passingExclusionList: true, saveBeforeReturn: true,
      config: .standard)
    #expect(try fixture.commit == commit + 1)
    #expect(try fixture.members(clone, "children") == [])
    for saves in [false, true] {
      let (lines, commit) = (try fixture.lines(), try fixture.commit)
      struct Stop: Error {}
      #expect(throws: Stop.self) {
        try fixture.store.write { tx in
          let inside = try tx.clone(object: parent, saveBeforeReturn: saves)
          #expect(try tx.count(inside, "children") == 1)
          throw Stop()
        }
      }
      #expect(try fixture.lines() == lines && fixture.commit == commit)
    }
    #expect(throws: CloneError.self) { try fixture.store.clone(object: parent, excludedRelationshipNames: ["x"]) }
    try fixture.expectClean()
  }

  @Test("R28 the keys can be renamed, and two roles cannot share one", .tags(.r28))
  func r28_keys() throws {
    let model = ManagedObjectModel("Keys") {
      EntityDescription("Thing") {
        AttributeDescription("a", .string, userInfo: ["leaveOut": "", "exclude": ""])
        AttributeDescription("b", .string, userInfo: ["exclude": ""])
        AttributeDescription("id", .uuid, userInfo: ["fresh": "uuid"])
        AttributeDescription("up", .uuid, userInfo: ["inherit": "id", "orphan": "blank"])
        RelationshipDescription("part", toOne: "Thing", userInfo: ["how": "follow", "clone": "skip"])
        RelationshipDescription("left", toOne: "Thing", userInfo: ["leaveOut": ""])
      }
    }
    let fixture = try CloneStore(model)
    let id = AttributeValue.uuid(UUID())
    let part = try fixture.insert("Thing", ["up": id])
    let thing = try fixture.insert(
      "Thing", ["a": "a", "b": "b", "id": id, "up": id], ["part": [part], "left": [part]])
    let keys = CloneUserInfoKeys(
      exclude: "leaveOut", rebuild: "fresh", followParent: "inherit", withoutParent: "orphan", clone: "how")
    let clone = try fixture.store.clone(object: thing, config: keys)
    #expect(try fixture.value(clone, "a") == nil && fixture.value(clone, "b") == "b")
    let fresh = try fixture.value(clone, "id")
    #expect(fresh != id && fresh != nil)
    #expect(try fixture.value(clone, "up") == nil && fixture.toOne(clone, "left") == nil)
    let copy = try #require(try fixture.toOne(clone, "part"))
    #expect(try copy != part && fixture.value(copy, "up") == fresh)
    try fixture.expectClean()
    // With the standard keys the same model has other rules.
    let standard = try fixture.store.clone(object: thing)
    #expect(try fixture.value(standard, "b") == nil && fixture.value(standard, "id") == id)
    #expect(try fixture.toOne(standard, "part") == nil && fixture.toOne(standard, "left") != nil)
    try fixture.expectRefusal(
      .invalidConfiguration, [thing], .with { $0.userInfoKeys = CloneUserInfoKeys(exclude: "x", clone: "x") })
  }

  // MARK: R32

  @Test("R32 several roots share one identity map", .tags(.r32))
  func r32_severalRoots() throws {
    let fixture = try CloneStore(Self.family())
    let parents = try fixture.insertMany(2, "Parent")
    try fixture.set(parents[0], "twin", [parents[1]])
    let child = try fixture.insert("Child", ["parentID": .uuid(UUID())], ["parent": [parents[0]]])
    let result = try fixture.clone([parents[1], child, parents[0]])
    #expect(result.objectCount == 3 && result.roots.count == 3 && Set(result.roots).count == 3)
    #expect(try fixture.toOne(result.roots[0], "twin") == result.roots[2])
    #expect(try fixture.members(result.roots[2], "children") == [result.roots[1]])
    // A root has no discovery parent, even if another root reaches it.
    #expect(try fixture.value(result.roots[1], "parentID") == nil)
    #expect(try fixture.value(result.roots[1], "name") == fixture.value(child, "name"))
  }

  @Test("R32 a root that is named twice is one source", .tags(.r32))
  func r32_duplicates() throws {
    let fixture = try CloneStore(Self.family())
    let parent = try fixture.insert("Parent")
    let child = try fixture.insert("Child", [:], ["parent": [parent]])
    let result = try fixture.clone([parent, child, parent, child])
    #expect(result.objectCount == 2)
    #expect(Set(result.roots).count == 2 && result.root != result.roots[1])
    #expect(try fixture.count("Parent") == 2)
  }

  @Test("R32 no roots: nothing to do, or an error, but no trap and no write", .tags(.r32))
  func r32_noRoots() throws {
    let fixture = try CloneStore(Self.family())
    let commit = try fixture.commit
    let result = Result { try fixture.store.clone([]) }
    if case .success(let made) = result { #expect(made.objectCount == 0 && made.roots.isEmpty) }
    #expect(try fixture.commit == commit)
  }
}
