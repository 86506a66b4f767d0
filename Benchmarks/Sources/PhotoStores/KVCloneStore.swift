import BenchmarkSupport
import Foundation
import KVClone

/// The graph in a KVClone store.
package enum KVCloneStore {
  private static let chain = ManagedObjectModel("Chain") {
    EntityDescription("Node") {
      AttributeDescription("number", .integer64)
      RelationshipDescription("next", toOne: "Node", inverse: "previous")
      RelationshipDescription("previous", toOne: "Node", inverse: "next")
    }
  }

  /// The number of objects per transaction while a store is filled.
  private static let objectsPerTransaction = 500_000

  package static func make(at path: String, _ recipe: GraphRecipe) throws {
    let store = try ObjectStore.create(at: path, model: recipe.shape == .chain ? chain : PhotoModel.model)
    defer { store.close() }
    // Objects are collected in batches, because a transaction is a closure.
    var sink = ObjectSink(store: store, limit: recipe.imageBytes > 0 ? 5_000 : objectsPerTransaction)
    var once = recipe
    once.copies = 1
    try once.pour(into: &sink)
    try sink.flush()
    guard recipe.copies > 1 else { return }
    // A clone of an album belongs to the same library, and its photos have the same tags, as if inserted.
    let albums = try store.read { transaction in
      try transaction.members(try transaction.objectID(named: "Library/1"), "albums")
    }
    for _ in 1..<recipe.copies { _ = try store.clone(albums) }
  }

  /// Returns the numbers of objects in a store of photos, by entity.
  package static func counts(at path: String) throws -> [String: Int] {
    let store = try ObjectStore.open(at: path)
    defer { store.close() }
    return try store.read { transaction in
      var counts: [String: Int] = [:]
      for entity in ["Library", "Album", "Photo", "Tag"] { counts[entity] = try transaction.count(entity: entity) }
      return counts
    }
  }
}

/// Collects objects and inserts them many at a time.
private struct ObjectSink: GraphSink {
  private enum Item {
    case tag(Int64, String)
    case library(Int64, String)
    case album(Int64, String, Int64)
    case photo(SourcePhoto)
    case node(Int64)
  }

  private let store: ObjectStore
  private let limit: Int
  private var items: [Item] = []
  private var imageBytes = 0
  private var tags: [ObjectID] = []
  private var libraries: [ObjectID] = []
  private var albums: [ObjectID] = []
  private var lastNode: ObjectID?

  init(store: ObjectStore, limit: Int) {
    self.store = store
    self.limit = limit
  }

  mutating func addTag(_ id: Int64, name: String) throws { try add(.tag(id, name)) }
  mutating func addLibrary(_ id: Int64, name: String) throws { try add(.library(id, name)) }
  mutating func addAlbum(_ id: Int64, title: String, library: Int64) throws { try add(.album(id, title, library)) }
  mutating func addNode(_ id: Int64, isLast: Bool) throws { try add(.node(id)) }

  mutating func addPhoto(_ photo: SourcePhoto) throws {
    imageBytes += photo.image?.count ?? 0
    try add(.photo(photo))
  }

  private mutating func add(_ item: Item) throws {
    items.append(item)
    if items.count >= limit || imageBytes >= 256 << 20 { try flush() }
  }

  mutating func flush() throws {
    let all = items
    items.removeAll(keepingCapacity: true)
    imageBytes = 0
    var (tags, libraries, albums, lastNode) = (tags, libraries, albums, lastNode)
    try store.write { transaction in
      for item in all {
        switch item {
        case .tag(_, let name): tags.append(try transaction.insert("Tag", ["name": .string(name)]))
        case .library(_, let name): libraries.append(try transaction.insert("Library", ["name": .string(name)]))
        case .album(_, let title, let library):
          albums.append(
            try transaction.insert(
              "Album", ["title": .string(title)], relationships: ["library": [libraries[Int(library) - 1]]]))
        case .photo(let photo):
          try transaction.insert(
            "Photo", Self.values(photo),
            relationships: ["album": [albums[Int(photo.album) - 1]], "tags": photo.tags.map { tags[Int($0) - 1] }])
        case .node(let id):
          lastNode = try transaction.insert(
            "Node", ["number": .integer(id)], relationships: lastNode.map { ["previous": [$0]] } ?? [:])
        }
      }
    }
    (self.tags, self.libraries, self.albums, self.lastNode) = (tags, libraries, albums, lastNode)
  }

  private static func values(_ photo: SourcePhoto) -> [String: AttributeValue?] {
    var values: [String: AttributeValue?] = [
      "title": .string(photo.title), "taken": .date(Date(timeIntervalSinceReferenceDate: photo.taken)),
      "rating": .double(photo.rating), "width": .integer(photo.width), "id": .uuid(photo.uuid),
    ]
    if let image = photo.image { values["image"] = .binary(image) }
    return values
  }
}
