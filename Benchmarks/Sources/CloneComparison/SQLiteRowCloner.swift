import BenchmarkSupport
import Foundation
import GRDB
import PhotoStores

/// The clone of an ORM: records are fetched and inserted one by one, breadth first from the library, with an identity
/// map from sources to clones.
///
/// Follows GRDB's recommendations: records without Codable, which is faster, and cached statements, which are compiled
/// once. Foreign keys are checked, which is GRDB's default.
struct SQLiteRowCloner: Cloner {
  private let queue: DatabaseQueue
  private let isChain: Bool

  init(_ request: PeerRequest) throws {
    queue = try SQLiteStore.open(request.path, request.recipe, isFull: request.peer.isDurable, checksReferences: true)
    isChain = request.recipe.shape == .chain
  }

  mutating func clone() throws -> CloneOutcome {
    let isChain = isChain
    return try SQLiteClock.run(queue) { database in
      isChain ? try Self.cloneChain(database) : try Self.cloneLibrary(database)
    }
  }

  mutating func close() { try? queue.close() }

  private struct Key: Hashable {
    let table: Int8
    let id: Int64
  }

  private static func cloneLibrary(_ database: Database) throws -> Int {
    let albumsOf = try database.cachedStatement(sql: "SELECT * FROM album WHERE library_id = ?")
    let photosOf = try database.cachedStatement(sql: "SELECT * FROM photo WHERE album_id = ?")
    let tagsOf = try database.cachedStatement(sql: "SELECT tag_id FROM photo_tag WHERE photo_id = ?")
    let imageOf = try database.cachedStatement(sql: "SELECT data FROM image WHERE photo_id = ?")
    var clones: [Key: Int64] = [:]
    guard var library = try LibraryRecord.fetchOne(database, key: 1), let source = library.id else {
      throw PeerFailure("there is no library 1")
    }
    library.id = nil
    try library.insert(database)
    clones[Key(table: 0, id: source)] = library.id
    var waiting: [Int64] = []
    for var album in try AlbumRecord.fetchAll(albumsOf, arguments: [source]) {
      guard let old = album.id, clones[Key(table: 1, id: old)] == nil else { continue }
      album.id = nil
      album.library = clones[Key(table: 0, id: source)]
      try album.insert(database)
      clones[Key(table: 1, id: old)] = album.id
      waiting.append(old)
    }
    for oldAlbum in waiting {
      for var photo in try PhotoRecord.fetchAll(photosOf, arguments: [oldAlbum]) {
        guard let old = photo.id, clones[Key(table: 2, id: old)] == nil else { continue }
        photo.id = nil
        photo.album = clones[Key(table: 1, id: oldAlbum)]
        try photo.insert(database)
        clones[Key(table: 2, id: old)] = photo.id
        guard let new = photo.id else { continue }
        for tag in try Int64.fetchAll(tagsOf, arguments: [old]) {
          try PhotoTagRecord(photo: new, tag: tag).insert(database)
        }
        if let data = try Data.fetchOne(imageOf, arguments: [old]) {
          try ImageRecord(photo: new, data: data).insert(database)
        }
      }
    }
    return clones.count
  }

  private static func cloneChain(_ database: Database) throws -> Int {
    let nodeOf = try database.cachedStatement(sql: "SELECT * FROM node WHERE id = ?")
    let setNext = try database.cachedStatement(sql: "UPDATE node SET next_id = ? WHERE id = ?")
    var clones: [Int64: Int64] = [:]
    var next: Int64? = 1
    var previous: Int64?
    while let old = next, clones[old] == nil, var node = try NodeRecord.fetchOne(nodeOf, arguments: [old]) {
      next = node.next
      (node.id, node.next) = (nil, nil)
      try node.insert(database)
      clones[old] = node.id
      if let previous { try setNext.execute(arguments: [node.id, previous]) }
      previous = node.id
    }
    return clones.count
  }
}

private struct LibraryRecord: FetchableRecord, MutablePersistableRecord {
  static let databaseTableName = "library"
  var id: Int64?
  var name: String?

  init(row: Row) throws { (id, name) = (row[0], row[1]) }

  func encode(to container: inout PersistenceContainer) throws {
    container["id"] = id
    container["name"] = name
  }

  mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

private struct AlbumRecord: FetchableRecord, MutablePersistableRecord {
  static let databaseTableName = "album"
  var id: Int64?
  var title: String?
  var library: Int64?

  init(row: Row) throws { (id, title, library) = (row[0], row[1], row[2]) }

  func encode(to container: inout PersistenceContainer) throws {
    container["id"] = id
    container["title"] = title
    container["library_id"] = library
  }

  mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

private struct PhotoRecord: FetchableRecord, MutablePersistableRecord {
  static let databaseTableName = "photo"
  var id: Int64?
  var title: String?
  var taken: Double?
  var rating: Double?
  var width: Int64?
  var uuid: Data?
  var album: Int64?

  init(row: Row) throws {
    (id, title, taken, rating, width, uuid, album) = (row[0], row[1], row[2], row[3], row[4], row[5], row[6])
  }

  func encode(to container: inout PersistenceContainer) throws {
    container["id"] = id
    container["title"] = title
    container["taken"] = taken
    container["rating"] = rating
    container["width"] = width
    container["uuid"] = uuid
    container["album_id"] = album
  }

  mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

private struct PhotoTagRecord: PersistableRecord {
  static let databaseTableName = "photo_tag"
  var photo: Int64
  var tag: Int64

  func encode(to container: inout PersistenceContainer) throws {
    container["photo_id"] = photo
    container["tag_id"] = tag
  }
}

private struct ImageRecord: PersistableRecord {
  static let databaseTableName = "image"
  var photo: Int64
  var data: Data

  func encode(to container: inout PersistenceContainer) throws {
    container["photo_id"] = photo
    container["data"] = data
  }
}

private struct NodeRecord: FetchableRecord, MutablePersistableRecord {
  static let databaseTableName = "node"
  var id: Int64?
  var number: Int64?
  var next: Int64?

  init(row: Row) throws { (id, number, next) = (row[0], row[1], row[2]) }

  func encode(to container: inout PersistenceContainer) throws {
    container["id"] = id
    container["number"] = number
    container["next_id"] = next
  }

  mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}
