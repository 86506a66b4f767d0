import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// `count: n`: several independent clones of one plan.
@Suite("Clone contract: copies")
struct CloneContractCountTests {
  @Test(
    "R2, R3, R9, R12, R17, R32: every copy is a clone of its own", .tags(.r2, .r3, .r9, .r12, .r17, .r32),
    arguments: [1, 3, 1000])
  func copies(_ count: Int) throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let before = try store.read { tx in
      try (source.shelves + source.tags).map { try tx.members($0, "pages") }
    }
    let options = CloneOptions.contract(count: count)
    let plan = try store.planClone([source.doc], options: options)
    let result = try store.clone([source.doc], options: options)
    test.expectEqual(plan, result)
    #expect(result.objectCount == 7 * count)
    #expect(result.counts == ["Doc": count, "Page": 3 * count, "Note": 3 * count])
    #expect(result.roots.count == count && Set(result.roots).count == count && result.root == result.roots[0])
    #expect(result.affectedObjectIDs == (source.shelves + source.tags + [source.box]).sorted())
    #expect(result.affectedObjectCount == 5)
    try store.read { tx in
      var ids: Set<AttributeValue?> = [try tx.value(source.doc, "id")]
      var dates: Set<AttributeValue?> = []
      var additions: [[ObjectID]] = [[], [], [], []]
      for root in result.roots {
        let id = try tx.value(root, "id")
        #expect(id != nil && ids.insert(id).inserted, "a UUID is not fresh")
        dates.insert(try tx.value(root, "made"))
        let clones = try tx.members(root, "pages")
        #expect(try clones.map { try tx.value($0, "number") } == [2, 0, 1])
        guard clones.count == 3 else { continue }
        let pages = [clones[1], clones[2], clones[0]]
        for (index, page) in pages.enumerated() {
          #expect(try tx.toOne(page, "doc") == root && tx.value(page, "docID") == id)
          #expect(try tx.members(page, "tags") == tx.members(source.pages[index], "tags"))
          #expect(try tx.toOne(page, "shelf") == tx.toOne(source.pages[index], "shelf"))
          let notes = try tx.members(page, "notes")
          #expect(notes.count == [2, 0, 1][index])
          for note in notes { #expect(try tx.value(note, "docID") == id && tx.toOne(note, "page") == page) }
        }
        additions[0] += [pages[1], pages[0]]
        additions[1] += [pages[2]]
        additions[2] += [pages[2], pages[0], pages[1]]
        additions[3] += [pages[1], pages[2]]
      }
      #expect(dates.count == 1, "one operation has one now")
      for (index, list) in (source.shelves + source.tags).enumerated() {
        #expect(try tx.members(list, "pages") == before[index] + additions[index], "copy after copy, list \(index)")
      }
      #expect(try tx.members(source.box, "docs") == [source.doc] + result.roots.sorted())
    }
    try test.expectClean()
  }

  @Test("R2, R12, R32: three copies are what the reference cloner makes of them", .tags(.r2, .r12, .r32))
  func reference() throws {
    for keepsOriginals in [false, true] {
      let test = try ContractStore(contractModel)
      let source = try ContractLibrary(test.store)
      let options = CloneOptions.contract(count: 3) { $0.references = keepsOriginals ? .keepOriginal : .remap }
      let all = [
        [source.doc], [source.pages[1]], [source.notes[2], source.doc], [source.stranger, source.pages[0]],
      ]
      for roots in all {
        try test.cloneAsReference(roots, options, "\(roots) keeps originals: \(keepsOriginals)")
      }
    }
  }

  @Test("R9, R32: a change of one copy, or its deletion, leaves the others as they are", .tags(.r9, .r32))
  func independent() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let roots = try store.clone([source.doc], options: .contract(count: 3)).roots
    try store.write { tx in
      try tx.set(roots[0], "title", "Changed")
      try tx.setMembers(roots[0], "pages", [])
      try tx.delete([roots[1]])
    }
    for id in [source.doc, roots[2]] {
      #expect(try store.value(id, "title") == "Source")
      let pages = try store.members(id, "pages")
      #expect(try pages.map { try store.value($0, "number") } == [2, 0, 1])
      #expect(try store.members(pages[1], "notes").count == 2)
    }
    try test.expectClean()
    // The deletion of the source has no effect, either.
    try store.delete([source.doc])
    #expect(try store.members(roots[2], "pages").count == 3)
    #expect(try store.data(roots[2], "cover") == Self.bytes(contractData(0)))
    try test.expectClean()
  }

  @Test(
    "R32: all clones of root 0…k of copy 0, then of copy 1; no root has a discovery parent", .tags(.r32),
    arguments: [1, 3])
  func severalRoots(_ count: Int) throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    // The note is reached from page 0, and the page from the document, although both are roots.
    let given = [source.notes[0], source.doc, source.pages[0]]
    let result = try store.clone(given, options: .contract(count: count))
    #expect(result.objectCount == 7 * count && result.roots.count == 3 * count)
    for copy in 0..<count {
      let roots = Array(result.roots[copy * 3..<copy * 3 + 3])
      #expect(try roots.map { try test.label($0).entity } == ["Note", "Doc", "Page"])
      #expect(try store.value(roots[0], "docID") == store.value(source.notes[0], "docID"), "keep")
      #expect(try store.value(roots[2], "docID") == nil, "blank")
      #expect(try store.toOne(roots[0], "page") == roots[2] && store.toOne(roots[2], "doc") == roots[1])
      let other = try #require(try store.members(roots[2], "notes").first { $0 != roots[0] })
      #expect(try store.value(other, "docID") == nil, "it follows its parent's clone, which is blank")
      let pages = try store.members(roots[1], "pages")
      #expect(pages[1] == roots[2])
      #expect(try store.value(pages[0], "docID") == store.value(roots[1], "id"))
    }
    try test.expectClean()
  }

  @Test("R18: without a parent, a copy keeps its own rebuilt value, or goes blank", .tags(.r18))
  func withoutParent() throws {
    let follow = ["followParent": "id", "withoutParent": "keep"]
    let model = ManagedObjectModel("Keep") {
      EntityDescription("Item") {
        AttributeDescription("id", .uuid, userInfo: follow.merging(["rebuild": "uuid"]) { $1 })
        AttributeDescription("kept", .uuid, userInfo: follow)
        AttributeDescription("blank", .uuid, userInfo: ["followParent": "id", "withoutParent": "blank"])
        AttributeDescription("other", .string, userInfo: ["followParent": "id", "withoutParent": "keep"])
        RelationshipDescription("items", toMany: "Item", inverse: "parent")
        RelationshipDescription("parent", toOne: "Item", inverse: "items")
      }
    }
    let test = try ContractStore(model)
    let store = test.store
    let values: [String: AttributeValue?] = [
      "id": .uuid(UUID()), "kept": .uuid(UUID()), "blank": .uuid(UUID()), "other": "text",
    ]
    let root = try store.insert("Item", values)
    try store.insert("Item", values, relationships: ["parent": [root]])
    let result = try store.clone([root], options: .contract(count: 3))
    var ids: Set<AttributeValue?> = [values["id"] ?? nil]
    for clone in result.roots {
      let id = try store.value(clone, "id")
      #expect(ids.insert(id).inserted, "kept and rebuilt is a fresh one for each copy")
      #expect(try store.value(clone, "kept") == values["kept"] && store.value(clone, "blank") == nil)
      let child = try #require(try store.members(clone, "items").first)
      for name in ["id", "kept", "blank"] { #expect(try store.value(child, name) == id, "\(name)") }
      #expect(try store.value(child, "other") == "text", "types that differ are no parent (R17)")
    }
    try test.expectClean()
    try test.cloneAsReference([root], .contract(count: 3))
  }

  @Test("R32: a count below one is refused", .tags(.r32), arguments: [0, -1, Int.min])
  func tooFew(_ count: Int) throws {
    let test = try ContractStore(contractModel)
    let source = try ContractLibrary(test.store)
    try test.expectRefusal(.invalidConfiguration, [source.doc], .contract(count: count))
  }

  @Test("R12, R13: a maximum count that only the third copy would exceed", .tags(.r12, .r13))
  func maxCount() throws {
    let model = ManagedObjectModel("Max") {
      EntityDescription("Item") { RelationshipDescription("lists", toMany: "List", inverse: "items") }
      EntityDescription("List") {
        RelationshipDescription("items", toMany: "Item", inverse: "lists", ordered: true, max: 3)
      }
    }
    let test = try ContractStore(model)
    let list = try test.store.insert("List")
    let item = try test.store.insert("Item", relationships: ["lists": [list]])
    let error = try test.expectRefusal(.maxCountExceeded, [item], .contract(count: 3))
    #expect(error?.property == "items" && error?.object == "List/\(list.serial)", "\(String(describing: error))")
    let result = try test.store.clone([item], options: .contract(count: 2))
    #expect(try test.store.members(list, "items") == [item] + result.roots)
    try test.expectClean()
  }

  @Test("R13: a to-one inverse that cannot be given to every copy", .tags(.r13))
  func inverseTaken() throws {
    let model = ManagedObjectModel("Taken") {
      EntityDescription("Owner") { RelationshipDescription("pet", toOne: "Pet", inverse: "owner") }
      EntityDescription("Pet") { RelationshipDescription("owner", toOne: "Owner", inverse: "pet") }
    }
    let test = try ContractStore(model)
    let pet = try test.store.insert("Pet")
    let owner = try test.store.insert("Owner", relationships: ["pet": [pet]])
    for count in [1, 2] {
      let options = CloneOptions.contract(count: count) {
        $0.rules = ["Owner.pet": .reference, "Pet.owner": .reference]
      }
      try test.expectRefusal(.inverseTaken, [owner], options)
    }
  }

  private static func bytes(_ value: AttributeValue) -> Data? {
    guard case .binary(let data) = value else { return nil }
    return data
  }
}
