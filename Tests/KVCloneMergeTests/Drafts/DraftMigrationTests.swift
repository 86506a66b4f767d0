import KVClone
import KVCloneMerge
import KVCloneModel
import KVCloneTestSupport
import Testing

/// Drafts that outlive a migration (P2).
@Suite("Drafts: migrations") struct DraftMigrationTests {
  /// Clones a document, changes the title of the clone, and migrates the store.
  private func migrated(_ change: (inout ModelDraft) -> Void) throws -> (
    test: TestStore, document: ObjectID, draft: ObjectID
  ) {
    let test = try TestStore(draftModel)
    let document = try test.store.write { tx in
      let document = try tx.insert("Document", ["title": "A", "views": 1])
      for name in ["1", "2"] {
        try tx.insert("Section", ["text": .string(name)], relationships: ["document": [document]])
      }
      return document
    }
    var options = CloneOptions()
    options.keepsBase = true
    let draft = try test.store.clone([document], options: options).root
    try test.store.set(draft, "title", "B")
    try test.store.insert("Section", ["text": "3"], relationships: ["document": [draft]])
    test.store.close()
    try test.migrate(to: draftModel.next("2", change))
    try test.reopen()
    return (test, document, draft)
  }

  @Test("P2: properties are matched by code, and what a migration changed is no change of the draft")
  func p2SameIDs() throws {
    let (test, document, draft) = try migrated { model in
      model.attribute("Document", "title") {
        $0.name = "headline"
        $0.renamingIdentifier = "title"
      }
      model["Section"].attributes.append(AttributeDescription("color", .string, default: "red"))
    }
    let store = test.store
    let plan = try store.drafts.planMerge(draft)
    #expect(plan.canMerge, "\(plan.conflicts) \(plan.issues)")
    try store.drafts.merge(draft)
    #expect(try store.value(document, "headline") == "B" && store.value(document, "views") == 1)
    let sections = try store.members(document, "sections")
    #expect(try sections.map { try store.value($0, "text") } == ["1", "2", "3"])
    #expect(try sections.map { try store.value($0, "color") } == ["red", "red", "red"])
    try checked(store)
  }

  @Test("P2: after a migration that gave clones new ids, a merge is refused")
  func p2NewIDs() throws {
    let (test, document, draft) = try migrated { model in
      model.entities.append(EntityDescription("Root", abstract: true) {})
      model["Section"].superentityName = "Root"
    }
    let planned = #expect(throws: MergeError.self) { try test.store.drafts.planMerge(draft) }
    let merged = #expect(throws: MergeError.self) { try test.store.drafts.merge(draft) }
    #expect(planned?.kind == .incompatibleModel && merged?.kind == .incompatibleModel)
    #expect(try test.store.value(document, "title") == "A")
    try checked(test.store)
  }
}
