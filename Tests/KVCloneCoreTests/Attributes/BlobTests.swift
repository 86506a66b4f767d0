import Foundation
import KVClone
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

private let blobModel = ManagedObjectModel("Blobs") {
  EntityDescription("File") {
    AttributeDescription("data", .binary)
    AttributeDescription("archive", .transformable)
    AttributeDescription("other", .binary)
    AttributeDescription("name", .string)
  }
  EntityDescription("Template") { AttributeDescription("logo", .binary, default: .binary(bytes(2000, seed: 9))) }
}

private struct Refusal: Error {}

/// Bytes without a pattern, enough for the largest value and a few more.
private let noise: Data = {
  var state: UInt64 = 1
  let words = (0..<(5 << 17) + 8).map { _ in
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ (state >> 33)
  }
  return words.withUnsafeBytes { Data($0) }
}()

/// A value of this length; values of different seeds differ.
private func bytes(_ count: Int, seed: Int = 1) -> Data { Data(noise[seed..<seed + count]) }

@Suite("Binary values of any size")
struct BlobTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(blobModel) }

  static let chunk = FormatLimits.blobChunkLength
  static let sizes = [0, 1, 1023, 1024, 1025, chunk - 1, chunk, chunk + 1, 2 * chunk, 5 << 20]

  @Test("values are read completely, and in chunks", arguments: sizes)
  func roundTrip(_ size: Int) throws {
    let data = bytes(size)
    let id = try store.insert("File", ["data": .binary(data), "archive": .transformable(data)])
    try test.reopen()
    #expect(try store.data(id, "data") == data)
    #expect(try store.data(id, "archive") == data)
    #expect(try store.data(id, "other") == nil)
    #expect(try store.blobCount() == (size > 1024 ? 2 : 0))
    var pieces: [Int] = []
    var whole = Data()
    let count = try store.read { tx in
      try tx.readData(id, "data") { span in
        pieces.append(span.byteCount)
        span.withUnsafeBytes { whole.append(contentsOf: $0) }
      }
    }
    #expect(count == UInt64(size) && whole == data)
    #expect(pieces.allSatisfy { $0 <= 1 << 20 })
    let value = try store.value(id, "data")
    if size > 1024 {
      guard case .blob(let reference) = value else { throw Refusal() }
      #expect(reference.byteCount == UInt64(size) && !reference.isTransformable)
    } else {
      #expect(value == .binary(data))
    }
    try checked(store)
  }

  @Test("streams of any length and chunk sizes are stored like complete values", arguments: sizes, [1, 1000, 700_000])
  func stream(_ size: Int, _ step: Int) throws {
    guard size / step < 10_000 else { return }
    let data = bytes(size, seed: 2)
    let id = try store.insert("File", ["data": .binary(bytes(3000))])
    try store.write { tx in
      try tx.setData(id, "data") { writer in
        for start in stride(from: 0, to: size, by: step) {
          try writer.append(data[start..<min(size, start + step)])
        }
      }
    }
    #expect(try store.data(id, "data") == data)
    #expect(try store.blobCount() == (size > 1024 ? 1 : 0))
    let whole = try store.insert("File", ["data": .binary(data)])
    if size <= 1024 { #expect(try store.value(whole, "data") == store.value(id, "data")) }
    try checked(store)
  }

  @Test("a value assigned to another object is shared, counted, and freed by the last")
  func sharing() throws {
    let data = bytes(5000)
    let first = try store.insert("File", ["data": .binary(data)])
    let value = try #require(try store.value(first, "data"))
    let second = try store.insert("File", ["data": value, "other": value])
    try store.set(second, "name", "x")
    #expect(try store.blobCount() == 1)
    #expect(try store.referenceCount(value) == 3)
    try store.set(first, "data", nil)
    #expect(try store.data(second, "data") == data && store.data(second, "other") == data)
    #expect(try store.referenceCount(value) == 2)
    try store.set(second, "data", .binary(Data([1])))
    #expect(try store.referenceCount(value) == 1)
    try store.delete([second])
    #expect(try store.blobCount() == 0)
    expectError(.objectNotFound) { try store.set(first, "data", value) }
    try checked(store)
  }

  @Test("setting the value that is there changes no count")
  func sameValue() throws {
    let id = try store.insert("File", ["data": .binary(bytes(5000))])
    let value = try #require(try store.value(id, "data"))
    try store.set(id, "data", value)
    #expect(try store.referenceCount(value) == 1)
    #expect(try store.info().commit == 1)
    var object = try store.object(id)
    object["data"] = value
    object["name"] = "x"
    try store.write { [object] tx in try tx.save(object) }
    #expect(try store.referenceCount(value) == 1)
    try checked(store)
  }

  @Test("replacing, clearing, deleting and aborting free the right bytes")
  func lifetime() throws {
    let id = try store.insert("File", ["data": .binary(bytes(5000)), "archive": .transformable(bytes(3 << 20))])
    #expect(try store.blobCount() == 2)
    #expect(throws: Refusal.self) {
      try store.write { tx in
        try tx.set(id, "data", nil)
        try tx.delete([id])
        throw Refusal()
      }
    }
    #expect(try store.blobCount() == 2)
    #expect(try store.data(id, "data") == bytes(5000))
    try store.set(id, "data", .binary(bytes(6000)))
    #expect(try store.blobCount() == 2)
    try store.set(id, "archive", nil)
    #expect(try store.blobCount() == 1)
    try store.delete([id])
    #expect(try store.blobCount() == 0)
    #expect(try store.chunkCount() == 0)
    try checked(store)
  }

  @Test("a stream that is broken off leaves the old value")
  func brokenStream() throws {
    let id = try store.insert("File", ["data": .binary(bytes(5000))])
    #expect(throws: Refusal.self) {
      try store.write { tx in
        try tx.setData(id, "data") { writer in
          try writer.append(bytes(3 << 20))
          throw Refusal()
        }
      }
    }
    #expect(try store.data(id, "data") == bytes(5000))
    #expect(try store.blobCount() == 1)
    // Caught inside: the transaction itself knows whether it is still usable, and no bytes of the stream remain.
    try? store.write { tx in
      do {
        try tx.setData(id, "data") { writer in
          try writer.append(bytes(3 << 20))
          throw Refusal()
        }
      } catch is Refusal {
      }
    }
    #expect(try store.data(id, "data") == bytes(5000))
    #expect(try store.blobCount() == 1)
    #expect(try store.chunkCount() == 1)
    try checked(store)
  }

  @Test("a blob's serial is never used again")
  func serials() throws {
    let id = try store.insert("File", ["data": .binary(bytes(5000))])
    guard case .blob(let first) = try store.value(id, "data") else { throw Refusal() }
    try store.set(id, "data", nil)
    #expect(throws: Refusal.self) {
      try store.write { tx in
        try tx.set(id, "data", .binary(bytes(5000)))
        throw Refusal()
      }
    }
    try test.reopen()
    try store.set(id, "data", .binary(bytes(5000)))
    guard case .blob(let second) = try store.value(id, "data") else { throw Refusal() }
    #expect(second.id > first.id)
    try checked(store)
  }

  @Test("a large default is a value of each object's own")
  func largeDefault() throws {
    let ids = try store.insert("Template", count: 2)
    for id in ids { #expect(try store.data(id, "logo") == bytes(2000, seed: 9)) }
    try store.delete([ids[0]])
    #expect(try store.data(ids[1], "logo") == bytes(2000, seed: 9))
    try store.insert("Template", ["logo": nil])
    #expect(try store.blobCount() == 1)
    try checked(store)
  }

  @Test("wrong types and names are errors")
  func wrong() throws {
    let id = try store.insert("File", ["archive": .transformable(bytes(5000))])
    let error = expectError(.wrongType) { _ = try store.data(id, "name") }
    #expect(error?.entity == "File" && error?.property == "name")
    expectError(.unknownProperty) { _ = try store.data(id, "nothing") }
    expectError(.wrongType) { try store.write { tx in try tx.setData(id, "name") { _ in } } }
    let archive = try #require(try store.value(id, "archive"))
    expectError(.wrongType) { try store.set(id, "data", archive) }
    expectError(.wrongType) { try store.set(id, "name", archive) }
    expectError(.objectNotFound) {
      try store.set(id, "data", .blob(BlobReference(id: 999, byteCount: 5000, isTransformable: false)))
    }
    try checked(store)
  }
}

extension ObjectStore {
  fileprivate func referenceCount(_ value: AttributeValue) throws -> Int {
    guard case .blob(let reference) = value else { throw Refusal() }
    return try read { tx in
      try tx._withSession { (session) throws(StoreError) in
        Int(try session.storage.blobInfo(session.blobTables, reference.id)?.referenceCount ?? 0)
      }
    }
  }

  fileprivate func chunkCount() throws -> Int {
    try read { tx in
      try tx._withSession { (session) throws(StoreError) in
        var count = 0
        let key = ShortKey.blobChunk(0, chunk: 0)
        try session.storage.scanToEnd(of: session.schema.tables.blobs, from: key.bytes) { (_, _) throws(StoreError) in
          count += 1
          return true
        }
        return count
      }
    }
  }
}
