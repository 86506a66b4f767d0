import BenchmarkSupport
import CRocksPeer
import Foundation
import PhotoStores

/// The graph in RocksDB.
enum RocksStore {
  static func make(at path: String, _ recipe: GraphRecipe) throws {
    let peer = try open(path)
    defer { rocks_peer_close(peer) }
    var sink = RocksSink(peer: peer)
    try recipe.pour(into: &sink)
    try check(rocks_peer_settle(peer))
  }

  static func open(_ path: String) throws -> OpaquePointer {
    var peer: OpaquePointer?
    try check(rocks_peer_open(path, &peer))
    guard let peer else { throw PeerFailure("RocksDB was not opened") }
    return peer
  }

  static func check(_ code: Int32) throws {
    guard code == 0 else { throw PeerFailure("RocksDB: \(String(cString: rocks_peer_message()))") }
  }
}

private struct RocksSink: GraphSink {
  let peer: OpaquePointer

  mutating func addTag(_ id: Int64, name: String) throws {
    try RocksStore.check(rocks_peer_put_tag(peer, UInt64(id), name, name.utf8.count))
  }

  mutating func addLibrary(_ id: Int64, name: String) throws {
    try RocksStore.check(rocks_peer_put_library(peer, UInt64(id), name, name.utf8.count))
  }

  mutating func addAlbum(_ id: Int64, title: String, library: Int64) throws {
    try RocksStore.check(rocks_peer_put_album(peer, UInt64(id), UInt64(library), title, title.utf8.count))
  }

  mutating func addNode(_ id: Int64, isLast: Bool) throws {
    var node = rocks_peer_node(id: UInt64(id), next: isLast ? 0 : UInt64(id + 1), previous: UInt64(id - 1), number: id)
    try RocksStore.check(rocks_peer_put_node(peer, &node))
  }

  mutating func addPhoto(_ photo: SourcePhoto) throws {
    let tags = photo.tags.map { UInt64($0) }
    let code = photo.title.withCString { title in
      tags.withUnsafeBufferPointer { tags in
        (photo.image ?? Data()).withUnsafeBytes { image in
          var record = rocks_peer_photo()
          record.id = UInt64(photo.id)
          record.album = UInt64(photo.album)
          record.title = title
          record.title_length = photo.title.utf8.count
          (record.taken, record.rating, record.width) = (photo.taken, photo.rating, photo.width)
          record.uuid = photo.uuid.uuid
          if photo.image != nil {
            record.image = image.bindMemory(to: UInt8.self).baseAddress
            record.image_length = image.count
          }
          record.tags = tags.baseAddress
          record.tag_count = tags.count
          return rocks_peer_put_photo(peer, &record)
        }
      }
    }
    try RocksStore.check(code)
  }
}

/// The clone in RocksDB.
struct RocksCloner: Cloner {
  private let peer: OpaquePointer
  private let isChain: Bool

  init(_ request: PeerRequest) throws {
    peer = try RocksStore.open(request.path)
    isChain = request.recipe.shape == .chain
  }

  mutating func clone() throws -> CloneOutcome {
    var result = rocks_peer_result()
    try RocksStore.check(
      isChain ? rocks_peer_clone_chain(peer, 1, &result) : rocks_peer_clone_library(peer, 1, 0, &result))
    return CloneOutcome(objects: Int(result.objects), parts: ["write": result.write_seconds])
  }

  mutating func close() { rocks_peer_close(peer) }
}
