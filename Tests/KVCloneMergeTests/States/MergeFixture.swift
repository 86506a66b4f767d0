import KVCloneCore
import KVCloneMerge
import KVCloneModel
import KVCloneRecords

/// The model of most tests: all kinds of relationships, delete rules and constraints.
let mergeModel = ManagedObjectModel("Office") {
  EntityDescription("Person", unique: [["email"]]) {
    AttributeDescription("name", .string)
    AttributeDescription("email", .string)
    AttributeDescription("visits", .integer16, userInfo: ["merge": "sum"])
    AttributeDescription("seen", .date, userInfo: ["merge": "max"])
    AttributeDescription("badge", .string, userInfo: ["merge": "skip"])
    AttributeDescription("photo", .binary)
    AttributeDescription("place", .composite, composite: "Place")
    AttributeDescription("noteCount", .integer64, derivation: "notes.@count")
    RelationshipDescription("desk", toOne: "Desk", inverse: "owner")
    RelationshipDescription("partner", toOne: "Person", inverse: "partner")
    RelationshipDescription("notes", toMany: "Note", inverse: "author")
    RelationshipDescription("friend", toOne: "Person")
  }
  EntityDescription("Manager", parent: "Person") { AttributeDescription("budget", .decimal) }
  EntityDescription("Desk") {
    AttributeDescription("label", .string)
    RelationshipDescription("owner", toOne: "Person", inverse: "desk")
  }
  EntityDescription("Folder") {
    AttributeDescription("title", .string)
    RelationshipDescription("notes", toMany: "Note", inverse: "folder", ordered: true, deleteRule: .cascade)
    RelationshipDescription("pins", toMany: "Note", ordered: true)
  }
  EntityDescription("Note") {
    AttributeDescription("text", .string)
    RelationshipDescription("folder", toOne: "Folder", inverse: "notes")
    RelationshipDescription("author", toOne: "Person", inverse: "notes")
    RelationshipDescription("tags", toMany: "Tag", inverse: "notes", ordered: true)
    RelationshipDescription("lines", toMany: "Line", inverse: "note", deleteRule: .cascade)
  }
  EntityDescription("Line") {
    AttributeDescription("text", .string)
    RelationshipDescription("note", toOne: "Note", inverse: "lines", optional: false)
  }
  EntityDescription("Tag", unique: [["name"]]) {
    AttributeDescription("name", .string)
    AttributeDescription("color", .string)
    RelationshipDescription("notes", toMany: "Note", inverse: "tags", ordered: true)
  }
  EntityDescription("Room") {
    AttributeDescription("name", .string)
    RelationshipDescription("seats", toMany: "Seat", inverse: "room", deleteRule: .deny)
  }
  EntityDescription("Seat", unique: [["room", "name"]]) {
    AttributeDescription("name", .string)
    RelationshipDescription("room", toOne: "Room", inverse: "seats")
  }
  CompositeAttributeDescription("Place") {
    AttributeDescription("x", .integer64)
    AttributeDescription("y", .integer64)
  }
}

/// Three states that tests change, and their plan.
final class MergeFixture {
  let base: MemoryMergeState
  private(set) var ours: MemoryMergeState
  private(set) var theirs: MemoryMergeState

  init(_ model: ManagedObjectModel = mergeModel) throws {
    let catalog = try StoreCatalog(new: model)
    base = MemoryMergeState(try Schema(catalog, tables: SchemaTables(rootCodes: catalog.allRootCodes)))
    ours = base
    theirs = base
  }

  /// Ends the preparation of the base.
  func fork() {
    ours = base.copy()
    theirs = base.copy()
  }

  func plan(_ options: MergeOptions = MergeOptions()) throws -> PlannedMerge {
    try MergePlanner.plan(
      base.schema, ours: MergeSideStates(base: base, now: ours, changed: ours.changed(since: base)),
      theirs: MergeSideStates(base: base, now: theirs, changed: theirs.changed(since: base)), options: options)
  }

  /// The plan in the opposite direction.
  func reversePlan(_ options: MergeOptions = MergeOptions()) throws -> PlannedMerge {
    swap(&ours, &theirs)
    defer { swap(&ours, &theirs) }
    return try plan(options)
  }

  /// Returns the state after a plan.
  func result(_ plan: PlannedMerge) -> MemoryMergeState {
    let result = ours.copy()
    _ = result.apply(plan)
    return result
  }

  func merged(_ options: MergeOptions = MergeOptions()) throws -> MemoryMergeState { result(try plan(options)) }
}

extension PlannedMerge {
  /// The conflicts in short: kind, object and property.
  var conflictTexts: [String] {
    conflicts.map { "\($0.conflict.kind.rawValue) \($0.conflict.object) \($0.conflict.property ?? "-")" }
  }
}
