import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// A store with objects of all kinds of properties, and an explorer of it.
struct ObjectFixture {
  static let model = ManagedObjectModel("Objects") {
    EntityDescription("Thing") {
      AttributeDescription("title", .string, optional: false, default: "untitled", min: 1, max: 20_000_000)
      AttributeDescription("note", .string)
      AttributeDescription("amount", .decimal)
      AttributeDescription("ratio", .double, min: 0.5, max: 2.5)
      AttributeDescription("small", .integer16)
      AttributeDescription("large", .integer64)
      AttributeDescription("single", .float)
      AttributeDescription("flag", .boolean)
      AttributeDescription("created", .date)
      AttributeDescription("key", .uuid)
      AttributeDescription("address", .uri)
      AttributeDescription("image", .binary)
      AttributeDescription("archive", .transformable, transformer: "Archiver")
      AttributeDescription("memo", .string, transient: true)
      AttributeDescription("partCount", .integer64, derivation: "parts.@count")
      AttributeDescription(
        "place", .composite,
        elements: [AttributeDescription("latitude", .double), AttributeDescription("label", .string)])
      RelationshipDescription("parts", toMany: "Part", inverse: "whole", ordered: true, deleteRule: .cascade)
      RelationshipDescription("friends", toMany: "Thing", inverse: "friends")
    }
    EntityDescription("Special", parent: "Thing") {}
    EntityDescription("Part") {
      AttributeDescription("name", .string)
      RelationshipDescription("whole", toOne: "Thing", inverse: "parts")
    }
    EntityDescription("Bookmark") {
      AttributeDescription("name", .string)
      RelationshipDescription("target", toOne: "Thing")
    }
  }

  let test: TestStore
  let explorer: Explorer

  var store: ObjectStore { test.store }

  init(_ model: ManagedObjectModel = Self.model, options: StoreOptions = StoreOptions()) throws {
    test = try TestStore(model, options: options)
    var explorerOptions = ExplorerOptions()
    explorerOptions.requestTimeLimit = .unreached
    explorer = Explorer(test.store, options: explorerOptions)
  }

  func get(_ target: String, _ headers: [(name: String, value: String)] = []) async throws -> Answer {
    let response = await respond(target, headers)
    return Answer(response: response, bytes: try await Self.bytes(of: response))
  }

  /// A response with its body unread.
  func respond(_ target: String, _ headers: [(name: String, value: String)] = []) async -> ExplorerResponse {
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let host = (name: "Host", value: "localhost")
    return await explorer.respond(
      to: ExplorerRequest(path: parts[0], query: parts.count > 1 ? parts[1] : "", headers: [host] + headers))
  }

  static func bytes(of response: ExplorerResponse) async throws -> [UInt8] {
    switch response.body {
    case .bytes(let bytes): return bytes
    case .stream(let stream):
      var all: [UInt8] = []
      for try await chunk in stream { all += chunk }
      return all
    }
  }

  /// The path of an object's page.
  func path(_ id: ObjectID, _ rest: String = "") async throws -> String {
    "/objects/" + (try await store.read { tx in try tx.name(of: id) }) + rest
  }
}

/// A response with its whole body.
struct Answer {
  var response: ExplorerResponse
  var bytes: [UInt8]

  var status: Int { response.status }
  var text: String { String(decoding: bytes, as: UTF8.self) }

  func header(_ name: String) -> String? {
    response.headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// The members of a JSON object.
  func json() throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
  }
}

extension ObjectFixture {
  /// Bytes that no image, text or other known format begins with.
  static func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededGenerator(seed: seed)
    var bytes: [UInt8] = [0, 1]
    bytes.reserveCapacity(count + 8)
    while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) } }
    return Array(bytes.prefix(count))
  }

  func insert(_ entity: String, _ values: [String: AttributeValue?] = [:]) async throws -> ObjectID {
    try await store.write { tx in try tx.insert(entity, values) }
  }

  /// Inserts a `Thing` with an image of these bytes.
  func insert(image: [UInt8]) async throws -> ObjectID {
    try await insert("Thing", ["title": "With an image", "image": .binary(Data(image))])
  }
}
