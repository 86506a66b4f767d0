import Foundation
import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

/// Rules R25 and R29: blobs are shared, and limits and cancellation end a clone with nothing written.
@Suite("Clone rules: blobs and limits")
struct CloneRulesLimitTests {
  private static let model = ManagedObjectModel("Images") {
    EntityDescription("Album") {
      AttributeDescription("name", .string)
      RelationshipDescription("images", toMany: "Image", inverse: "album", deleteRule: .cascade)
      RelationshipDescription("next", toOne: "Album", inverse: "previous")
      RelationshipDescription("previous", toOne: "Album", inverse: "next")
    }
    EntityDescription("Image") {
      AttributeDescription("name", .string)
      AttributeDescription("data", .binary)
      AttributeDescription("thumbnail", .transformable)
      AttributeDescription("secret", .binary, userInfo: ["exclude": ""])
      RelationshipDescription("album", toOne: "Album", inverse: "images")
    }
  }

  let fixture: CloneStore

  init() throws { fixture = try CloneStore(Self.model) }

  private func bytes(_ count: Int, _ start: UInt8 = 1) -> Data {
    var value = start
    return Data(
      (0..<count).map { _ in
        value = value &* 31 &+ 7
        return value
      })
  }

  private func data(_ id: ObjectID, _ name: String = "data") throws -> Data? {
    try fixture.store.read { try $0.data(id, name) }
  }

  private func delete(_ id: ObjectID) throws {
    try fixture.store.write { _ = try $0.delete([id]) }
    try fixture.expectClean()
  }

  // MARK: R25

  @Test("R25 a clone shares blobs: the file does not grow by their bytes", .tags(.r25))
  func r25_shared() throws {
    let large = bytes(3 << 20)
    let image = try fixture.insert(
      "Image", ["data": .binary(large), "thumbnail": .transformable(bytes(5000)), "secret": .binary(bytes(9000))])
    let album = try fixture.insert("Album", [:], ["images": [image]])
    let before = try fixture.store.info().fileBytes
    var clones: [ObjectID] = []
    for _ in 0..<20 { clones.append(try fixture.clone([album]).root) }
    let grown = Int64(try fixture.store.info().fileBytes) - Int64(before)
    #expect(grown < 1 << 20)
    let result = try fixture.clone([album])
    #expect(result.blobsShared == 2 && result.bytesShared == UInt64(large.count + 5000) && result.bytesCopied == 0)
    #expect(result.bytesWritten < 100_000)
    for clone in clones {
      let copy = try fixture.members(clone, "images")[0]
      #expect(try data(copy) == large && data(copy, "thumbnail") == bytes(5000) && data(copy, "secret") == nil)
    }
  }

  @Test("R25 either may be deleted, and the last one frees the bytes", .tags(.r25), arguments: [true, false])
  func r25_delete(sourceFirst: Bool) throws {
    let large = bytes(200_000)
    let source = try fixture.insert("Image", ["data": .binary(large)])
    let clone = try fixture.clone([source]).root
    let second = try fixture.clone([clone]).root
    #expect(try fixture.store.blobCount() == 1)
    try delete(sourceFirst ? source : clone)
    #expect(try data(sourceFirst ? clone : source) == large)
    #expect(try data(second) == large)
    try delete(second)
    try delete(sourceFirst ? clone : source)
    #expect(try fixture.store.blobCount() == 0)
  }

  @Test("R25 setting one's value leaves the other's", .tags(.r25))
  func r25_set() throws {
    let source = try fixture.insert("Image", ["data": .binary(bytes(100_000))])
    let clone = try fixture.clone([source]).root
    try fixture.store.write { try $0.set(source, "data", .binary(self.bytes(50_000, 9))) }
    #expect(try data(clone) == bytes(100_000) && data(source) == bytes(50_000, 9))
    try fixture.store.write { try $0.set(clone, "data", nil) }
    #expect(try fixture.store.blobCount() == 1)
    try fixture.expectClean()
  }

  @Test("R25 copy really copies", .tags(.r25))
  func r25_copy() throws {
    let large = bytes(3 << 20)
    let source = try fixture.insert("Image", ["data": .binary(large), "thumbnail": .transformable(bytes(5000))])
    let result = try fixture.clone([source], .with { $0.blobs = .copy })
    #expect(result.bytesCopied == UInt64(large.count + 5000) && result.bytesShared == 0 && result.blobsShared == 0)
    #expect(try fixture.store.blobCount() == 4)
    try delete(source)
    #expect(try fixture.store.blobCount() == 2)
    #expect(try data(result.root) == large && data(result.root, "thumbnail") == bytes(5000))
  }

  @Test("R25 at the inline size and just above", .tags(.r25), arguments: [0, 1, 1023, 1024, 1025, 4096, (1 << 20) + 1])
  func r25_sizes(count: Int) throws {
    let source = try fixture.insert(
      "Image", ["data": .binary(bytes(count)), "thumbnail": .transformable(bytes(count, 3))])
    for blobs in [CloneOptions.Blobs.share, .copy] {
      let clone = try fixture.clone([source], .with { $0.blobs = blobs }).root
      #expect(try data(clone) == bytes(count) && data(clone, "thumbnail") == bytes(count, 3))
    }
  }

  @Test("R25 inside the transaction that made the blob", .tags(.r25))
  func r25_sameTransaction() throws {
    let large = bytes(100_000)
    let clones = try fixture.store.write { tx in
      let source = try tx.insert("Image", ["data": .binary(large)])
      let clone = try tx.clone([source]).root
      try tx.delete([source])
      return [clone, try tx.clone([clone], options: .with { $0.blobs = .copy }).root]
    }
    #expect(try clones.map { try data($0) } == [large, large])
    #expect(try fixture.store.blobCount() == 2)
    try fixture.expectClean()
  }

  // MARK: R29

  /// Albums 0 → 1 → 2 …, with one image of 2,000 bytes each.
  private func chain(_ count: Int) throws -> [ObjectID] {
    let albums = try fixture.insertMany(count, "Album")
    for album in albums { try fixture.insert("Image", ["data": .binary(bytes(2000))], ["album": [album]]) }
    for (one, other) in zip(albums, albums.dropFirst()) { try fixture.set(one, "next", [other]) }
    return albums
  }

  @Test("R29 maxObjects", .tags(.r29))
  func r29_objects() throws {
    let albums = try chain(4)
    try fixture.expectRefusal(.limitExceeded, [albums[0]], .with { $0.maxObjects = 7 })
    try fixture.expectRefusal(.limitExceeded, [albums[0]], .with { $0.maxObjects = 0 })
    #expect(try fixture.clone([albums[0]], .with { $0.maxObjects = 8 }).objectCount == 8)
  }

  @Test("R29 maxDepth: roots have depth 0", .tags(.r29))
  func r29_depth() throws {
    let albums = try chain(4)
    // The last image is at depth 4.
    try fixture.expectRefusal(.limitExceeded, [albums[0]], .with { $0.maxDepth = 3 })
    try fixture.expectRefusal(.limitExceeded, [albums[0]], .with { $0.maxDepth = 0 })
    #expect(try fixture.clone([albums[0]], .with { $0.maxDepth = 4 }).objectCount == 8)
    #expect(
      try fixture.clone(
        [albums[0]],
        .with {
          $0.maxDepth = 0; $0.excludedRelationshipNames = ["images", "next"]
        }
      )
      .objectCount == 1)
  }

  @Test("R29 maxBytes", .tags(.r29))
  func r29_bytes() throws {
    let albums = try chain(4)
    try fixture.expectRefusal(.limitExceeded, [albums[0]], .with { $0.maxBytes = 10 })
    // Shared bytes are not written; copied ones are.
    try fixture.expectRefusal(
      .limitExceeded, [albums[0]],
      .with {
        $0.maxBytes = 7999
        $0.blobs = .copy
      })
    let result = try fixture.clone([albums[0]], .with { $0.maxBytes = 7999 })
    #expect(result.objectCount == 8)
  }

  @Test("R29 a cancelled task ends its clone, and writes nothing", .tags(.r29))
  func r29_cancelledBefore() async throws {
    let (store, root) = try cancellable(50)
    let commit = try store.info().commit
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await store.clone([root])
    }
    task.cancel()
    let error = await #expect(throws: CloneError.self) { try await task.value }
    #expect(error?.kind == .cancelled)
    #expect(try store.info().commit == commit)
  }

  @Test("R29 cancelled while it runs: all of it or nothing", .tags(.r29))
  func r29_cancelledMeanwhile() async throws {
    let (store, root) = try cancellable(3000)
    var cancelled = 0
    for round in 0..<6 {
      let before = try store.info()
      let task = Task { try await store.clone([root]) }
      // The first round cancels at once, because on a fast machine all others may be too late.
      if round > 0 { try await Task.sleep(for: .milliseconds(1 << (round * 2))) }
      task.cancel()
      let result = await task.result
      let after = try store.info()
      switch result {
      case .success(let result):
        #expect(result.objectCount == 3000 && after.commit == before.commit + 1)
        #expect(after.objectCount == before.objectCount + 3000)
      case .failure(let error):
        #expect((error as? CloneError)?.kind == .cancelled, "\(error)")
        #expect(after.commit == before.commit && after.objectCount == before.objectCount)
        cancelled += 1
      }
    }
    #expect(cancelled > 0)
    try fixture.expectClean()
  }

  /// Creates a chain without images; not asynchronous, because tests create stores synchronously.
  private func cancellable(_ count: Int) throws -> (ObjectStore, ObjectID) {
    let albums = try fixture.insertMany(count, "Album")
    try fixture.store.write { tx in
      for (one, other) in zip(albums, albums.dropFirst()) { try tx.setToOne(one, "next", other) }
    }
    return (fixture.store, albums[0])
  }
}
