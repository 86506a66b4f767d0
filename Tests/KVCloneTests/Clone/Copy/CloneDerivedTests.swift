import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneQuery

/// Derived attributes of clones before the commit computes them: attributes that follow them (R17), constraints (R24),
/// bytes (R36).
@Suite("Clones and derived attributes")
struct CloneDerivedTests {
  // MARK: R17

  /// The model of derived attributes, in which every object follows all derived attributes of its parent, and derives
  /// others from the followed ones.
  private static let following: ManagedObjectModel = {
    let model = DerivedModel.model
    var followers: [AttributeDescription] = []
    for attribute in model.entities.flatMap(\.attributes) where attribute.isDerived {
      let name = follower(attribute)
      if followers.contains(where: { $0.name == name }) { continue }
      let rules = ["followParent": attribute.name, "withoutParent": "blank"]
      followers.append(AttributeDescription(name, attribute.type, userInfo: rules))
    }
    let text = AttributeDescription("text", .string, userInfo: ["followParent": "echo", "withoutParent": "keep"])
    let entities = model.entities.map { entity in
      if entity.superentityName != nil { return entity }
      var entity = entity
      entity.attributes += followers
      entity.attributes.append(text)
      entity.attributes.append(AttributeDescription("echo", .string, derivation: "canonical:(text)"))
      if entity.name == "Album" {
        entity.attributes.append(AttributeDescription("again", .double, derivation: "photos.@sum.totalOfInteger64"))
      }
      return entity
    }
    return ManagedObjectModel(name: "Following", entities: entities, composites: model.composites)
  }()

  private static func follower(_ attribute: AttributeDescription) -> String {
    "\(attribute.name)Of\(attribute.type.rawValue.filter { $0 != " " })"
  }

  /// The random choices of the tests below.
  private struct Draw {
    var random: SeededGenerator

    mutating func pick(_ ids: [ObjectID]) -> ObjectID { ids[random.below(ids.count)] }

    mutating func text() -> AttributeValue { .string(["Äpfel", "zoë", "B", "b", "Ω", ""][random.below(6)]) }

    mutating func size() -> AttributeValue { .integer(Int64(random.below(50_000))) }

    mutating func options() -> CloneOptions {
      var options = CloneOptions.with { $0.count = 1 + random.below(3) }
      if random.chance(in: 3) { options.references = .keepOriginal }
      if random.chance(in: 3) { options.rules = ["Photo.tags": .follow] }
      return options
    }

    mutating func fill(_ store: ObjectStore) throws {
      try store.write { tx in
        let libraries = try (0..<2).map { _ in try tx.insert("Library", ["name": text(), "text": text()]) }
        let tags = try (0..<3).map { index in try tx.insert("Tag", ["weight": .integer(Int64(index * 7))]) }
        for number in 0..<5 {
          let album = try tx.insert("Album", ["title": text()], relationships: ["library": [pick(libraries)]])
          // At least one of each, so that there is something to choose.
          for _ in 0..<max(random.below(6), number == 0 ? 1 : 0) {
            let size = AttributeValue.integer(Int64(random.below(50_000)))
            let photo = try tx.insert(
              random.chance(in: 3) ? "Raw" : "Photo",
              [
                "name": text(), "size": size, "weight": .double(Double(random.below(100)) / 7),
                "price": .decimal(Decimal(random.below(1000)) / 100), "place": ["city": text()],
              ], relationships: ["album": [album], "tags": tags.filter { _ in random.chance(in: 2) }])
            if random.chance(in: 2) { try tx.setMembers(album, "cover", [photo]) }
          }
        }
        var nodes: [ObjectID] = []
        for index in 0..<12 {
          nodes.append(
            try tx.insert(
              "Node", ["weight": .integer(Int64(index)), "text": text()],
              relationships: nodes.isEmpty ? [:] : ["parent": [pick(nodes)]]))
        }
      }
    }

    /// Changes some of the sources of derived attributes.
    mutating func change(_ tx: inout WriteTransaction) throws {
      let albums = try tx.fetchIDs(FetchRequest("Album"))
      for photo in try tx.fetchIDs(FetchRequest("Photo")) where random.chance(in: 3) {
        try tx.setAttributes(photo, ["size": size(), "name": text(), "text": text()])
        if random.chance(in: 3) { try tx.setToOne(photo, "album", pick(albums)) }
      }
      for album in albums where random.chance(in: 3) {
        try tx.set(album, "title", text())
        try tx.insert("Photo", ["size": size(), "name": text()], relationships: ["album": [album]])
      }
      for library in try tx.fetchIDs(FetchRequest("Library")) where random.chance(in: 2) {
        try tx.setAttributes(library, ["name": text(), "text": text()])
      }
      for node in try tx.fetchIDs(FetchRequest("Node")) where random.chance(in: 3) {
        try tx.setAttributes(node, ["weight": size(), "text": text()])
      }
      for tag in try tx.fetchIDs(FetchRequest("Tag")) where random.chance(in: 2) { try tx.set(tag, "weight", size()) }
    }
  }

  private static let entities = ["Library", "Album", "Node", "Photo", "Tag", "Node"]

  @Test(
    "R17, R19: what is followed is what the parent's clone derives", .tags(.r17, .r19), arguments: PropertySeeds.seeds)
  func random(_ seed: UInt64) throws {
    var draw = Draw(random: SeededGenerator(seed: seed))
    let test = try TestStore(Self.following)
    let store = test.store
    try draw.fill(store)
    for (round, entity) in Self.entities.enumerated() {
      let root = draw.pick(try store.read { try $0.fetchIDs(FetchRequest(entity)) })
      let options = draw.options()
      let place: Comment = "\(entity), seed \(seed), round \(round)"
      guard let pairs = try Self.pairs(root, options, try store.readSession()) else { continue }
      let plan = try store.planClone([root], options: options)
      let result = try store.clone([root], options: options)
      #expect(plan.bytesWritten == result.bytesWritten, place)
      try expectFollowed(pairs, store, place)
    }
  }

  @Test(
    "R17, R19: also where the transaction has changed what is derived from", .tags(.r17, .r19),
    arguments: PropertySeeds.seeds)
  func randomChanges(_ seed: UInt64) throws {
    var draw = Draw(random: SeededGenerator(seed: seed &+ 1000))
    let test = try TestStore(Self.following)
    let store = test.store
    try draw.fill(store)
    for (round, entity) in Self.entities.enumerated() {
      let place: Comment = "\(entity), seed \(seed), round \(round)"
      let pairs = try store.write { tx in
        var pairs: [Pair] = []
        for _ in 0..<2 {
          try draw.change(&tx)
          try tx.settle()
          let root = draw.pick(try tx.fetchIDs(FetchRequest(entity)))
          let options = draw.options()
          // After further changes, clones may differ from the values that they followed.
          pairs = []
          guard let last = try Self.pairs(root, options, tx.session) else { continue }
          let plan = try CloneOrigin.transaction.survey([root], options, nil, tx.session)
          let result = try tx.clone([root], options: options)
          #expect(plan.tally.bytesWritten == result.bytesWritten, place)
          pairs = last
        }
        return pairs
      }
      try expectFollowed(pairs, store, place)
    }
  }

  private typealias Pair = (child: ObjectID, parent: ObjectID)

  /// Returns the clones with the clone that each follows, or nil if the clone is rejected.
  private static func pairs(_ root: ObjectID, _ options: CloneOptions, _ session: borrowing Session) throws -> [Pair]? {
    let context: CloneContext
    do {
      context = try CloneOrigin.transaction.prepare([root], options, CloneMonitor(), nil, session)
    } catch is CloneError {
      return nil
    }
    var ids: [ObjectID] = []
    context.mark.set.forEach { id in
      ids.append(id)
      return true
    }
    var pairs: [Pair] = []
    for id in ids {
      guard let parent = try context.mark.parents.parent(of: id, session) else { continue }
      for copy in 0..<options.count {
        let clones = (context.cloneID(of: id, copy: copy), context.cloneID(of: parent, copy: copy))
        if let child = clones.0, let parent = clones.1 { pairs.append((child, parent)) }
      }
    }
    return pairs
  }

  /// Compares every followed value with the value of the parent's clone.
  private func expectFollowed(_ pairs: [Pair], _ store: ObjectStore, _ place: Comment) throws {
    try store.read { tx in
      for (child, parent) in pairs {
        let (mine, its) = (try tx.object(child), try tx.object(parent))
        let attributes = Self.following.attributes(of: its.entityName)
        for attribute in attributes where attribute.isDerived && attribute.name != "again" {
          let name = attribute.name == "echo" ? "text" : Self.follower(attribute)
          #expect(mine[name] == its[attribute.name], "\(name) of \(mine.name) by \(its.name), \(place)")
        }
      }
    }
    try store.expectDerived("\(place)")
  }

  private static let chain = ManagedObjectModel("Chain") {
    EntityDescription("Node") {
      AttributeDescription("text", .string, userInfo: ["followParent": "lower", "withoutParent": "keep"])
      AttributeDescription("lower", .string, derivation: "lowercase:(text)")
      RelationshipDescription("next", toOne: "Node", inverse: "previous")
      RelationshipDescription("previous", toOne: "Node", inverse: "next")
    }
  }

  @Test(
    "R3, R17: a long chain of values that are derived from what follows the one before, on a stack of 512 KiB",
    .tags(.r3, .r17))
  func longChain() throws {
    let fixture = try CloneStore(Self.chain)
    let count = 5000
    let nodes = try fixture.store.write { tx in
      // Parents come last, so that every value is needed before the one that it depends on.
      var nodes: [ObjectID] = []
      for index in 0..<count {
        nodes.append(
          try tx.insert(
            "Node", ["text": .string("T\(index)")], relationships: nodes.last.map { ["next": [$0]] } ?? [:]))
      }
      return nodes
    }
    let store = fixture.store
    let result = try onThread(stackSize: 512 << 10) { try store.clone([nodes[count - 1]]) }
    let last = ObjectID(rootCode: nodes[0].rootCode, serial: UInt64(count + 1))
    #expect(result.objectCount == count)
    #expect(try fixture.value(last, "text") == .string("t\(count - 1)"))
    #expect(try fixture.value(result.root, "text") == .string("T\(count - 1)"))
    try fixture.expectClean()
  }

  @Test("R17 a value that is derived from objects that follow it is an error of the plan", .tags(.r17))
  func circle() throws {
    let fixture = try CloneStore(
      ManagedObjectModel("Circle") {
        EntityDescription("Order") {
          AttributeDescription("total", .integer64, derivation: "lines.@sum.price")
          RelationshipDescription("lines", toMany: "Line", inverse: "order")
        }
        EntityDescription("Line") {
          AttributeDescription("price", .integer64, userInfo: ["followParent": "total", "withoutParent": "keep"])
          RelationshipDescription("order", toOne: "Order", inverse: "lines")
        }
      })
    let order = try fixture.insert("Order")
    for price in 1...3 { try fixture.insert("Line", ["price": .integer(Int64(price))], ["order": [order]]) }
    try fixture.expectRefusal(.parentUnavailable, [order], entity: "Order", property: "total", object: order)
  }

  private static let notes = ManagedObjectModel("Notes") {
    EntityDescription("Note", unique: [["key"]]) {
      AttributeDescription("id", .uuid, userInfo: ["rebuild": "uuid"])
      AttributeDescription("made", .date, userInfo: ["rebuild": "now"])
      AttributeDescription("title", .string, default: "none", userInfo: ["exclude": ""])
      AttributeDescription("key", .uuid, derivation: "id")
      AttributeDescription("folded", .string, derivation: "uppercase:(title)")
      AttributeDescription("lineCount", .integer32, derivation: "lines.@count")
      AttributeDescription("tagSize", .integer64, derivation: "tag.size")
      RelationshipDescription("lines", toMany: "Line", inverse: "note")
      RelationshipDescription("tag", toOne: "Tag", inverse: "notes")
    }
    EntityDescription("Line") {
      AttributeDescription("noteID", .uuid, userInfo: ["followParent": "key"])
      AttributeDescription("noteMade", .date, derivation: "note.made")
      AttributeDescription("noteTitle", .string, userInfo: ["followParent": "folded"])
      AttributeDescription("size", .integer32, optional: false, userInfo: ["followParent": "lineCount"])
      AttributeDescription("tagSize", .integer64, userInfo: ["followParent": "tagSize", "withoutParent": "keep"])
      RelationshipDescription("note", toOne: "Note", inverse: "lines")
    }
    EntityDescription("Tag") {
      AttributeDescription("size", .integer64, derivation: "notes.@count")
      RelationshipDescription("notes", toMany: "Note", inverse: "tag")
    }
  }

  @Test(
    "R16, R17, R19: of rebuilt and excluded values, and of an outside object whose list gains the clones",
    .tags(.r16, .r17, .r19))
  func ofRules() throws {
    let fixture = try CloneStore(Self.notes)
    let tag = try fixture.insert("Tag")
    let note = try fixture.insert("Note", ["id": .uuid(UUID()), "title": "x"], ["tag": [tag]])
    for size in 0..<3 { try fixture.insert("Line", ["size": .integer(Int64(size)), "tagSize": 77], ["note": [note]]) }
    let result = try fixture.clone([note], .with { $0.count = 2 })
    for clone in result.roots {
      #expect(try fixture.value(clone, "key") == fixture.value(clone, "id"))
      #expect(try fixture.value(clone, "tagSize") == 3)
      for line in try fixture.members(clone, "lines") {
        #expect(try fixture.value(line, "noteID") == fixture.value(clone, "id"))
        #expect(try fixture.value(line, "noteMade") == fixture.value(clone, "made"))
        #expect(try fixture.value(line, "noteTitle") == "NONE")
        #expect(try fixture.value(line, "size") == 3)
        #expect(try fixture.value(line, "tagSize") == 3)
      }
    }
  }

  @Test("R17, R35: in another store a derived value is known if it depends on clones alone", .tags(.r17, .r35))
  func elsewhere() throws {
    let fixture = try CloneStore(Self.notes)
    let other = try CloneStore(Self.notes)
    let tag = try fixture.insert("Tag")
    let note = try fixture.insert("Note", ["id": .uuid(UUID()), "title": "x"], ["tag": [tag]])
    try fixture.insert("Line", ["size": 9, "tagSize": 77], ["note": [note]])
    let options = CloneOptions.with { $0.outsideObjects = .matchOrLeaveEmpty }
    let result = try fixture.clone([note], into: other, options)
    let line = try #require(try other.members(result.root, "lines").first)
    #expect(try other.value(line, "noteID") == other.value(result.root, "id"))
    #expect(try other.value(line, "noteTitle") == "NONE")
    #expect(try other.value(line, "size") == 1)
    #expect(try other.value(line, "tagSize") == 77, "the tag is another store's, and counts as missing (R18)")
  }

  // MARK: R24

  @Test("R24 a constraint over a derived attribute is looked at by the plan, whatever the merge policy", .tags(.r24))
  func constraint() throws {
    let model = ManagedObjectModel("Unique") {
      EntityDescription("User", unique: [["folded"]]) {
        AttributeDescription("name", .string)
        AttributeDescription("folded", .string, derivation: "canonical:(name)")
      }
    }
    let fixture = try CloneStore(model)
    let user = try fixture.insert("User", ["name": "Zoë"])
    try fixture.expectRefusal(.uniquenessConflict, [user], entity: "User", property: "folded", object: user)
    #expect(throws: CloneError.self) {
      try fixture.store.write(mergePolicy: .mergeByPropertyStoreTrump) { tx in _ = try tx.clone([user]) }
    }
    #expect(try fixture.count("User") == 1)
  }

  // MARK: R36

  @Test(
    "R36 the planned bytes are those of records and index entries that are there then", .tags(.r36), arguments: [1, 3])
  func bytes(_ count: Int) throws {
    let model = ManagedObjectModel("Bytes") {
      EntityDescription(
        "Page", unique: [["key"]],
        indexes: [FetchIndexDescription("byFolded", [.init("folded"), .init("length")])]
      ) {
        AttributeDescription("id", .uuid, userInfo: ["rebuild": "uuid"])
        AttributeDescription("key", .uuid, derivation: "id")
        AttributeDescription("title", .string, default: "a default title", userInfo: ["exclude": ""])
        AttributeDescription("folded", .string, derivation: "canonical:(title)")
        AttributeDescription("bookTitle", .string, derivation: "uppercase:(book.title)")
        AttributeDescription("length", .integer64, derivation: "lines.@count")
        RelationshipDescription("book", toOne: "Book", inverse: "pages")
        RelationshipDescription("lines", toMany: "Line", inverse: "page")
      }
      EntityDescription("Book") {
        AttributeDescription("title", .string)
        AttributeDescription("firstPage", .string, derivation: "pages.@min.folded")
        RelationshipDescription("pages", toMany: "Page", inverse: "book")
      }
      EntityDescription("Line") { RelationshipDescription("page", toOne: "Page", inverse: "lines") }
    }
    let fixture = try CloneStore(model)
    let book = try fixture.insert("Book", ["title": "Straße"])
    for index in 0..<5 {
      let page = try fixture.insert(
        "Page", ["id": .uuid(UUID()), "title": .string(String(repeating: "é", count: index))], ["book": [book]])
      for _ in 0..<index { try fixture.insert("Line", [:], ["page": [page]]) }
    }
    let before = try fixture.storedBytes()
    let options = CloneOptions.with { $0.count = count }
    let plan = try fixture.store.planClone([book], options: options)
    let result = try fixture.clone([book], options)
    #expect(plan.bytesWritten == result.bytesWritten)
    #expect(try plan.bytesWritten == fixture.storedBytes() - before)
  }
}

extension CloneStore {
  /// Returns the bytes of all records and index entries, keys included.
  fileprivate func storedBytes() throws -> UInt64 {
    let session = try store.readSession()
    var count: UInt64 = 0
    func add(_ table: StorageTable) throws {
      try session.storage.scanToEnd(of: table, from: [UInt8]().span.bytes) { (key, value) throws(StoreError) in
        count += UInt64(key.byteCount + value.byteCount)
        return true
      }
    }
    for code in session.schema.rootCodes { try add(try #require(session.schema.objectTable(rootCode: code))) }
    try add(session.schema.tables.indexes)
    return count
  }
}
