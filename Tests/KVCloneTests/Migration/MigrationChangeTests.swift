import KVClone
import KVCloneTestSupport
import Testing

/// Each kind of change by itself, compared with ``MigrationOracle``: few objects and many, long lists, blobs, indexes
/// and constraints.
@Suite("Migrations, one change at a time")
struct MigrationChangeTests {
  @Test("each change, and ordinary work afterwards", arguments: Library.changes, [6])
  func change(_ change: ModelChange, size: Int) throws {
    let migrated = try MigratedStore(change.first, seed: UInt64(size), size: size)
    for version in change.versions {
      let what = "\(change.name), \(version.versionIdentifier), \(size)"
      guard try migrated.migrate(to: version, what) else { return }
      try migrated.touch(Array(try migrated.allObjects().prefix(size / 3)))
    }
    try migrated.workOn(seed: 7, change.name)
    try migrated.deleteSnapshots(change.name)
  }

  @Test("without a snapshot nothing is left of what went", arguments: Library.everySixth(0))
  func withoutSnapshot(_ change: ModelChange) throws {
    let migrated = try MigratedStore(change.first, seed: 3, size: 6)
    for version in change.versions {
      guard try migrated.migrate(to: version, change.name, takesSnapshot: false) else { return }
      try migrated.test.store.expectNoPreviousStates()
    }
    try migrated.deleteEverything()
    try migrated.deleteSnapshots(change.name)
  }

  @Test("there and back", arguments: Library.everySixth(3))
  func back(_ change: ModelChange) throws {
    let migrated = try MigratedStore(change.first, seed: 9, size: 4)
    let path = [change.first] + change.versions
    for version in change.versions + path.dropLast().reversed() {
      let what = "\(change.name), \(version.versionIdentifier)"
      guard try migrated.migrate(to: version, what) else { break }
    }
    try migrated.workOn(seed: 7, change.name)
    try migrated.deleteSnapshots(change.name)
  }
}

extension Library {
  /// Returns a sixth of the changes, because all of them in every way would take minutes.
  static func everySixth(_ first: Int) -> [ModelChange] {
    changes.enumerated().filter { $0.offset % 6 == first }.map(\.element)
  }

  /// Every kind of change by itself.
  static let changes: [ModelChange] = attributeChanges + relationshipChanges + entityChanges

  private static let attributeChanges: [ModelChange] = [
    .init("an optional attribute more") { $0["Book"].attributes.append(.init("note", .string)) },
    .init("an optional one with a default") { $0["Thing"].attributes.append(.init("note", .string, default: "x")) },
    .init("a mandatory one with a default") {
      $0["Thing"].attributes.append(.init("count", .integer16, optional: false, default: 4))
    },
    .init("a mandatory one without a default") { $0["Comic"].attributes.append(.init("a", .string, optional: false)) },
    .init("a blob less") { $0.remove("data", from: "Thing") },
    .init("an indexed attribute less") { $0.remove("pages", from: "Book") },
    .init("a constrained attribute less") { $0.remove("issue", from: "Magazine") },
    .init("renamed, indexed and constrained") {
      $0.rename("Thing", attribute: "title", to: "name")
      $0.rename("Thing", attribute: "code", to: "number")
      $0.rename("Thing", attribute: "data", to: "bytes")
    },
    .init(
      "renamed twice", { $0.rename("Book", attribute: "pages", to: "leaves") },
      { $0.rename("Book", attribute: "leaves", to: "sheets") }),
    .init("two names swapped") {
      $0.attribute("Magazine", "issue") { $0.name = "swap" }
      $0.attribute("Magazine", "pages") { ($0.name, $0.renamingIdentifier) = ("issue", "pages") }
      $0.attribute("Magazine", "swap") { ($0.name, $0.renamingIdentifier) = ("pages", "issue") }
    },
    .init("mandatory with a default") {
      $0.attribute("Thing", "title") { $0.isOptional = false }
      $0.attribute("Book", "rating") { ($0.isOptional, $0.defaultValue) = (false, .double(2.5)) }
    },
    .init("mandatory without a default") { $0.attribute("Tag", "label") { $0.isOptional = false } },
    .init("optional", { $0.attribute("Person", "name") { $0.isOptional = true } }),
    .init("wider numbers") {
      $0.attribute("Book", "pages") { $0.type = .integer64 }
      $0.attribute("Magazine", "issue") { $0.type = .double }
      $0.attribute("Person", "age") { $0.type = .double }
      $0.attribute("Comic", "isColoured") { $0.type = .integer16 }
    },
    .init("numbers as texts") {
      $0.attribute("Book", "rating") { $0.type = .string }
      $0.attribute("Thing", "code") { $0.type = .string }
      $0.attribute("Tag", "weight") { $0.type = .string }
      $0.attribute("Book", "isbn") { $0.type = .string }
      $0.attribute("Picture", "link") { $0.type = .string }
    },
    .init("dates and numbers") {
      $0.attribute("Magazine", "published") { $0.type = .double }
      $0.attribute("Book", "rating") { $0.type = .date }
    },
    .init("a number that has no room") { $0.attribute("Book", "pages") { $0.type = .integer16 } },
    .init("up from two siblings") {
      $0.attribute("Magazine", "pages") { $0.defaultValue = .integer(10) }
      $0.move(attribute: "pages", from: "Book", to: ["Thing"])
      $0.remove("pages", from: "Magazine")
    },
    .init("up from one, with a default for the others") {
      $0.attribute("Magazine", "issue") { $0.defaultValue = .integer(3) }
      $0.move(attribute: "issue", from: "Magazine", to: ["Thing"])
      $0["Magazine"].uniquenessConstraints = []
    },
    .init("up to a parent with objects") { $0.move(attribute: "isColoured", from: "Comic", to: ["Book"]) },
    .init("down to two siblings") {
      $0.move(attribute: "data", from: "Thing", to: ["Book", "Magazine"])
      $0.move(attribute: "title", from: "Thing", to: ["Book", "Magazine"])
    },
    .init("down to one") { $0.move(attribute: "rating", from: "Book", to: ["Comic"]) },
    .init(
      "down and up again", { $0.move(attribute: "rating", from: "Book", to: ["Comic"]) },
      { $0.move(attribute: "rating", from: "Comic", to: ["Book"]) }),
    .init(
      "away and back", { $0.remove("rating", from: "Book") }, { $0["Book"].attributes.append(.init("rating", .double)) }
    ),
    .init("transient and stored") {
      $0.attribute("Thing", "data") { $0.isTransient = true }
      $0.attribute("Person", "age") { $0.isTransient = true }
    },
    .init("elements of a composite") {
      $0.attribute("Person", "home") {
        $0.elements = [.init("zip", .integer64, default: 1), .init("town", .string), .init("street", .string)]
      }
    },
    .init("a composite renamed") { $0.rename("Person", attribute: "home", to: "house") },
    .init("defaults, rules and remarks") {
      $0.attribute("Book", "pages") { ($0.defaultValue, $0.userInfo) = (.integer(77), ["a": "b"]) }
      $0.relationship("Book", "author") { $0.deleteRule = .noAction }
    },
    .init(
      "derived",
      {
        $0["Person"].attributes.append(.init("bookCount", .integer64, derivation: "books.@count"))
        $0["Tag"].attributes.append(.init("upper", .string, derivation: "uppercase:(label)"))
      },
      {
        $0.rename("Tag", attribute: "label", to: "text")
        $0.attribute("Tag", "upper") { $0.derivationExpression = "lowercase:(text)" }
      }, { $0.attribute("Person", "bookCount") { $0.derivationExpression = nil } }),
    .init("indexes and constraints") {
      $0["Thing"].indexes = [FetchIndexDescription("code", [.init("code", ascending: false)])]
      $0["Book"].uniquenessConstraints = [["isbn"]]
      $0["Thing"].uniquenessConstraints = []
      $0["Tag"].indexes = [FetchIndexDescription("weight", [.init("weight"), .init("label")])]
    },
  ]

  private static let relationshipChanges: [ModelChange] = [
    .init("to-many instead of to-one, with an inverse") {
      $0.relationship("Book", "author") { ($0.isToMany, $0.maxCount) = (true, 0) }
    },
    .init("to-many instead of to-one, without an inverse") {
      $0.relationship("Book", "cover") { ($0.isToMany, $0.maxCount) = (true, 0) }
      $0.relationship("Person", "boss") { ($0.isToMany, $0.maxCount, $0.isOrdered) = (true, 0, true) }
    },
    .init("to-one instead of to-many") {
      $0.relationship("Person", "books") { ($0.isToMany, $0.maxCount) = (false, 1) }
    },
    .init("ordered") {
      $0.relationship("Book", "tags") { $0.isOrdered = true }
      $0.relationship("Tag", "books") { $0.isOrdered = true }
      $0.relationship("Thing", "related") { $0.isOrdered = true }
      $0.relationship("Person", "friends") { $0.isOrdered = true }
    },
    .init("unordered") {
      $0.relationship("Book", "chapters") { $0.isOrdered = false }
      $0.relationship("Thing", "ranked") { $0.isOrdered = false }
      $0.relationship("Comic", "frames") { $0.isOrdered = false }
    },
    .init("renamed links") {
      $0.rename("Book", relationship: "author", to: "writer")
      $0.rename("Thing", relationship: "ranked", to: "topTags")
      $0.rename("Thing", relationship: "related", to: "similar")
    },
    .init("lists without an inverse less") {
      $0.remove("related", from: "Thing")
      $0.remove("frames", from: "Comic")
    },
    .init("a link without an inverse less") { $0.remove("cover", from: "Book") },
    .init("both sides less") {
      $0.remove("tags", from: "Book")
      $0.remove("books", from: "Tag")
      $0.remove("friends", from: "Person")
    },
    .init("one side less") {
      $0.remove("books", from: "Tag")
      $0.relationship("Book", "tags") { $0.inverseName = nil }
      $0.remove("book", from: "Chapter")
      $0.relationship("Book", "chapters") { $0.inverseName = nil }
      $0.relationship("Person", "friends") { $0.inverseName = nil }
    },
    .init("an inverse more") {
      $0.relationship("Thing", "related") { $0.inverseName = "relatedBy" }
      $0["Thing"].relationships.append(.init("relatedBy", toMany: "Thing", inverse: "related"))
      $0.relationship("Book", "cover") { $0.inverseName = "coverOf" }
      $0["Picture"].relationships.append(.init("coverOf", toMany: "Book", inverse: "cover", ordered: true))
    },
    .init("another inverse") {
      $0.remove("books", from: "Tag")
      $0.relationship("Book", "tags") { $0.inverseName = "things" }
      $0["Tag"].relationships.append(.init("things", toMany: "Book", inverse: "tags"))
    },
    .init("new links") {
      $0["Book"].relationships.append(.init("editor", toOne: "Person", inverse: "edited"))
      $0["Person"].relationships.append(.init("edited", toMany: "Book", inverse: "editor", ordered: true))
      $0["Tag"].relationships.append(.init("pictures", toMany: "Picture"))
    },
    .init("a mandatory link more") { $0["Tag"].relationships.append(.init("p", toOne: "Picture", optional: false)) },
    .init("a wider destination") {
      $0.relationship("Person", "books") { ($0.destinationEntityName, $0.inverseName) = ("Thing", "author") }
      $0.move(relationship: "author", from: "Book", to: ["Thing"])
    },
    .init("a narrower destination") { $0.relationship("Thing", "related") { $0.destinationEntityName = "Book" } },
    .init("a list up from one") { $0.move(relationship: "frames", from: "Comic", to: ["Thing"]) },
    .init("a list down to one") { $0.move(relationship: "ranked", from: "Thing", to: ["Magazine"]) },
    .init("a list down to two") { $0.move(relationship: "related", from: "Thing", to: ["Book", "Magazine"]) },
    .init(
      "a list down to one and up again", { $0.move(relationship: "ranked", from: "Thing", to: ["Magazine"]) },
      { $0.move(relationship: "ranked", from: "Magazine", to: ["Thing"]) }),
    .init(
      "lists away and back",
      {
        $0.remove("ranked", from: "Thing")
        $0.remove("tags", from: "Book")
        $0.remove("books", from: "Tag")
      },
      {
        $0["Thing"].relationships.append(.init("ranked", toMany: "Tag", ordered: true))
        $0["Book"].relationships.append(.init("tags", toMany: "Tag", inverse: "books"))
        $0["Tag"].relationships.append(.init("books", toMany: "Book", inverse: "tags"))
      }),
  ]

  private static let entityChanges: [ModelChange] = [
    .init("new entities") {
      $0.entities.append(EntityDescription("Newspaper", parent: "Magazine") { AttributeDescription("city", .string) })
      $0.entities.append(EntityDescription("Shop") { AttributeDescription("name", .string) })
    },
    .init("an entity below less") { $0.remove(entity: "Comic") },
    .init("an entity with blobs and constraints less") { $0.remove(entity: "Magazine") },
    .init("an entity between less") {
      $0.remove(entity: "Book")
      $0["Comic"].superentityName = "Thing"
      for root in ["Person", "Tag"] { $0.remove("books", from: root) }
      $0.remove("book", from: "Chapter")
    },
    .init("an entity at the top less") {
      $0.remove(entity: "Picture")
      for (name, entity) in [("cover", "Book"), ("frames", "Comic"), ("photos", "Magazine")] {
        $0.remove(name, from: entity)
      }
    },
    .init("an entity that others cascade to less") {
      $0.remove(entity: "Chapter")
      $0.remove("chapters", from: "Book")
    },
    .init("an entity that cascades less") {
      $0.remove(entity: "Book")
      $0.remove(entity: "Comic")
      for root in ["Person", "Tag"] { $0.remove("books", from: root) }
      $0.remove("book", from: "Chapter")
    },
    .init("renamed entities") {
      $0.rename(entity: "Thing", to: "Item")
      $0.rename(entity: "Comic", to: "Manga")
      $0.rename(entity: "Tag", to: "Keyword")
    },
    .init("renamed and back", { $0.rename(entity: "Book", to: "Volume") }, { $0.rename(entity: "Volume", to: "Book") }),
    .init("names of entities swapped") {
      ($0["Tag"].name, $0["Picture"].name) = ("X", "Tag")
      $0["Tag"].renamingIdentifier = "Picture"
      $0["X"].renamingIdentifier = "Tag"
      $0["X"].name = "Picture"
      $0.refer(to: ["Tag": "Picture", "Picture": "Tag"])
    },
    .init(
      "a name used again", { $0.rename(entity: "Picture", to: "Image") },
      {
        $0.entities.append(EntityDescription("Picture") { AttributeDescription("frame", .string) })
      }),
    .init("a parent between") {
      $0.entities.append(EntityDescription("Print", parent: "Thing", abstract: true) {})
      $0["Book"].superentityName = "Print"
      $0["Magazine"].superentityName = "Print"
    },
    .init("a new root") {
      $0.entities.append(
        EntityDescription("Root", abstract: true) { AttributeDescription("note", .string, default: "n") })
      $0["Thing"].superentityName = "Root"
    },
    .init("a new root for all") {
      $0.entities.append(EntityDescription("Root", abstract: true) {})
      for name in ["Thing", "Person", "Chapter", "Tag", "Picture"] { $0[name].superentityName = "Root" }
    },
    .init("a new root, and an entity less") {
      $0.entities.append(EntityDescription("Root", abstract: true) {})
      $0["Thing"].superentityName = "Root"
      $0.remove(entity: "Comic")
    },
    .init(
      "under another with properties",
      {
        $0["Picture"].superentityName = "Tag"
        $0.attribute("Tag", "weight") { $0.defaultValue = .decimal(3) }
      }),
    .init("under another and back", { $0["Picture"].superentityName = "Tag" }, { $0["Picture"].superentityName = nil }),
    .init("under another in the same tree") {
      $0["Magazine"].superentityName = "Book"
      $0.remove("pages", from: "Magazine")
    },
    .init("out of a tree that others lead to") { $0["Magazine"].superentityName = nil },
    .init(
      "out of a tree",
      {
        $0.remove("related", from: "Thing")
        $0["Magazine"].superentityName = nil
      }, { $0["Magazine"].superentityName = "Thing" }),
    .init("the root less") {
      $0.move(attribute: "title", from: "Thing", to: ["Book", "Magazine"])
      $0.move(attribute: "data", from: "Thing", to: ["Book", "Magazine"])
      $0.move(relationship: "ranked", from: "Thing", to: ["Book", "Magazine"])
      $0.remove(entity: "Thing")
      $0["Book"].superentityName = nil
      $0["Magazine"].superentityName = nil
    },
    .init("abstract no more") { $0["Thing"].isAbstract = false },
  ]
}
