import Foundation
import KVClone
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations

private struct Refusal: Error {}

/// Bytes without two equal chunks.
private func bytes(_ count: Int, seed: UInt64 = 1) -> Data {
  var state = seed
  var data = Data(capacity: count + 8)
  while data.count < count {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    withUnsafeBytes(of: state ^ (state >> 33)) { data.append(contentsOf: $0) }
  }
  return data.prefix(count)
}

extension ObjectStore {
}

@Suite("Staged data")
struct BlobStagingTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(stagingModel) }

  static let chunk = FormatLimits.blobChunkLength

  @Test(
    "staged data reads back as a value, whatever its length and its pieces",
    arguments: [0, 1, 1024, 1025, chunk, chunk + 1, 4 * chunk, 4 * chunk + 1, 9 * chunk - 5], [1000, 700_000, 20 << 20])
  func roundTrip(_ size: Int, _ step: Int) throws {
    let data = bytes(size)
    let id = try store.insert("File")
    let staged = try store.stageBlob { writer in
      for start in stride(from: 0, to: size, by: step) { try writer.append(data[start..<min(size, start + step)]) }
      #expect(writer.byteCount == UInt64(size))
    }
    #expect(staged.byteCount == UInt64(size))
    #expect(try store.data(id, "data") == nil)
    let isBlob = size > FormatLimits.inlineBlobLimit
    let chunks = isBlob ? (size + Self.chunk - 1) / Self.chunk : 0
    #expect(try store.blobCounts() == BlobCounts(pending: isBlob ? 1 : 0, chunks: chunks, staged: isBlob ? 1 : 0))
    try checked(store)
    try store.write { tx in try tx.setData(id, "data", staged) }
    #expect(try store.data(id, "data") == data)
    #expect(try store.blobCounts() == BlobCounts(complete: isBlob ? 1 : 0, chunks: chunks))
    try checked(store)
    let other = try store.insert("File", ["data": .binary(data)])
    if !isBlob { #expect(try store.value(id, "data") == store.value(other, "data")) }
    try test.reopen()
    #expect(try store.data(id, "data") == data)
    try checked(store)
  }

  @Test("an aborted transaction leaves the data staged")
  func aborted() throws {
    let data = bytes(3 << 20)
    let id = try store.insert("File")
    let staged = try store.stageBlob { writer in try writer.append(data) }
    #expect(throws: Refusal.self) {
      try store.write { tx in
        try tx.setData(id, "data", staged)
        #expect(try tx.data(id, "data") == data)
        throw Refusal()
      }
    }
    #expect(try store.data(id, "data") == nil)
    #expect(try store.blobCounts().pending == 1)
    try checked(store)
    try store.write { tx in try tx.setData(id, "data", staged) }
    #expect(try store.data(id, "data") == data)
    try checked(store)
  }

  @Test("a reused upload shares its bytes and counts references; the last release frees them")
  func usedAgain() throws {
    let data = bytes(2 << 20)
    let ids = try store.insert("File", count: 3)
    let staged = try store.stageBlob { writer in try writer.append(data) }
    try store.write { tx in
      try tx.setData(ids[0], "data", staged)
      try tx.setData(ids[0], "data", staged)
      try tx.setData(ids[1], "archive", staged)
    }
    try store.write { tx in try tx.setData(ids[2], "data", staged) }
    for (id, name) in [(ids[0], "data"), (ids[1], "archive"), (ids[2], "data")] {
      #expect(try store.data(id, name) == data)
    }
    #expect(try store.blobCounts() == BlobCounts(complete: 1, chunks: 3))
    try checked(store)
    try store.delete(ids)
    #expect(try store.blobCounts() == BlobCounts())
    let id = try store.insert("File")
    expectError(.objectNotFound) { try store.write { tx in try tx.setData(id, "data", staged) } }
    // The error was thrown before any change: the transaction is still usable.
    try store.write { tx in
      #expect(throws: StoreError.self) { try tx.setData(id, "data", staged) }
      try tx.set(id, "name", "still here")
    }
    try checked(store)
  }

  @Test("data that is dropped is swept by the next upload, and not before")
  func dropped() throws {
    var staged: StagedBlob? = try store.stageBlob { writer in try writer.append(bytes(5 << 20)) }
    let kept = try store.stageBlob { writer in try writer.append(bytes(2 << 20, seed: 2)) }
    #expect(staged != nil)
    staged = nil
    #expect(try store.blobCounts().pending == 2)
    let id = try store.insert("File")
    let third = try store.stageBlob { writer in try writer.append(bytes(2000)) }
    #expect(try store.blobCounts() == BlobCounts(pending: 2, chunks: 4, staged: 2))
    try store.write { tx in
      try tx.setData(id, "data", kept)
      try tx.setData(id, "archive", third)
    }
    #expect(try store.data(id, "data") == bytes(2 << 20, seed: 2))
    #expect(try store.blobCounts() == BlobCounts(complete: 2, chunks: 4))
    try checked(store)
  }

  @Test("an upload that fails leaves nothing")
  func failing() throws {
    #expect(throws: Refusal.self) {
      _ = try store.stageBlob { writer in
        try writer.append(bytes(6 << 20))
        throw Refusal()
      }
    }
    #expect(try store.blobCounts() == BlobCounts())
    try checked(store)
  }

  @Test("others write while an upload waits, and blobs of higher serials come in between")
  func interleaved() throws {
    let data = bytes(9 << 20)
    let other = bytes(100_000, seed: 3)
    let id = try store.insert("File")
    var others: [ObjectID] = []
    let staged = try store.stageBlob { writer in
      for start in stride(from: 0, to: data.count, by: 1 << 20) {
        try writer.append(data[start..<min(data.count, start + 1 << 20)])
        others.append(try store.insert("File", ["data": .binary(other)]))
        try checked(store)
      }
    }
    try store.write { tx in try tx.setData(id, "data", staged) }
    #expect(try store.data(id, "data") == data)
    for id in others { #expect(try store.data(id, "data") == other) }
    try checked(store)
  }

  @Test("many uploads at once, in any order of use")
  func many() throws {
    let ids = try store.insert("File", count: 12)
    var staged = try (0..<12).map { number in
      try store.stageBlob { writer in try writer.append(bytes(50_000 + number, seed: UInt64(number))) }
    }
    #expect(try store.blobCounts().staged == 12)
    for number in [5, 0, 11, 3] { try store.write { tx in try tx.setData(ids[number], "data", staged[number]) } }
    staged.removeAll()
    _ = try store.stageBlob { writer in try writer.append(bytes(2000)) }
    #expect(try store.blobCounts() == BlobCounts(complete: 4, pending: 1, chunks: 5, staged: 1))
    for number in [5, 0, 11, 3] {
      #expect(try store.data(ids[number], "data") == bytes(50_000 + number, seed: UInt64(number)))
    }
    try checked(store)
  }

  @Test("wrong names, types and stores are errors that change nothing")
  func wrong() throws {
    let id = try store.insert("File")
    let staged = try store.stageBlob { writer in try writer.append(bytes(5000)) }
    expectError(.wrongType) { try store.write { tx in try tx.setData(id, "name", staged) } }
    expectError(.unknownProperty) { try store.write { tx in try tx.setData(id, "nothing", staged) } }
    let nobody = ObjectID(rootCode: id.rootCode, serial: 999)
    expectError(.objectNotFound) { try store.write { tx in try tx.setData(nobody, "data", staged) } }
    let another = try TestStore(stagingModel)
    let there = try another.store.insert("File")
    expectError(.wrongType) { try another.store.write { tx in try tx.setData(there, "data", staged) } }
    expectError(.objectNotFound) {
      let reference = BlobReference(id: 1, byteCount: 0, isTransformable: false)
      try store.set(id, "data", .blob(reference))
    }
    try store.write { tx in try tx.setData(id, "passing", staged) }
    #expect(try store.blobCounts().pending == 1)
    try checked(store)
  }

  @Test("inside a write transaction, and after closing, staging is refused")
  func refused() throws {
    let id = try store.insert("File")
    let staged = try store.stageBlob { writer in try writer.append(bytes(5000)) }
    expectError(.nestedWrite) {
      try store.write { _ in _ = try store.stageBlob { writer in try writer.append(bytes(5000)) } }
    }
    let closed = store
    try test.reopen()
    expectError(.closed) { _ = try closed.stageBlob { writer in try writer.append(bytes(5000)) } }
    expectError(.closed) { try closed.write { tx in try tx.setData(id, "data", staged) } }
    expectError(.wrongType) { try store.write { tx in try tx.setData(id, "data", staged) } }
    // Opening swept the staged data of the closed store.
    #expect(try store.blobCounts() == BlobCounts())
    var options = StoreOptions()
    options.isReadOnly = true
    try test.reopen(options: options)
    expectError(.readOnly) { _ = try store.stageBlob { writer in try writer.append(bytes(5000)) } }
  }

  @Test("a large remainder is swept in several transactions")
  func largeRemainder() throws {
    // Chunks of one byte: their number determines the work of a sweep.
    try store.write { tx in
      try tx.changeObjects { (session) throws(StoreError) in
        let stager = try store.resource(Stagers.self).claim(except: [])
        let serial = try session.nextBlobSerial()
        let info = BlobInfo(
          state: .pending, stager: stager, chunkCount: 0, referenceCount: 0, byteCount: 0, digest: 0)
        try session.storage.store(session.blobTables, serial, info)
        try Metadata.put(
          &session.storage, session.schema.tables.metadata, StagingKey.name(blobSerial: serial),
          CounterValue(UInt64(stager)))
        for number in 0..<UInt32(PendingBlobs.sweepLimit * 2 + 10) {
          let key = ShortKey.blobChunk(serial, chunk: number)
          var value = [UInt8](repeating: 1, count: 9)
          let seed = ValueEnvelope.seed(tableCode: session.blobTables.blobs.code, key: key)
          value.withUnsafeMutableBytes { ValueEnvelope.seal($0, seed: seed) }
          try session.storage.put(session.blobTables.blobs, key.bytes, value.span.bytes)
        }
        session.changes.isEmpty = false
      }
    }
    store.resource(Stagers.self).release(1)
    _ = try store.stageBlob { writer in try writer.append(bytes(2000)) }
    #expect(try store.blobCounts() == BlobCounts(pending: 2, chunks: PendingBlobs.sweepLimit + 11, staged: 2))
    try checked(store)
    let before = try store.info().commit
    try test.reopen()
    #expect(try store.blobCounts() == BlobCounts())
    #expect(try store.info().commit > before + 1)
    try checked(store)
  }

  @Test("asynchronous sequences of arrays and of Data")
  func asynchronous() async throws {
    let data = bytes(9 << 20)
    let store = store
    let id = try await store.write { tx in try tx.insert("File") }
    let (arrays, arrayFeed) = AsyncStream.makeStream(of: [UInt8].self)
    let (pieces, pieceFeed) = AsyncThrowingStream.makeStream(of: Data.self)
    for start in stride(from: 0, to: data.count, by: 100_000) {
      let piece = data[start..<min(data.count, start + 100_000)]
      arrayFeed.yield(Array(piece))
      pieceFeed.yield(Data(piece))
    }
    arrayFeed.finish()
    pieceFeed.yield(data)
    pieceFeed.finish()
    let first = try await store.stageBlob(from: arrays)
    let second = try await store.stageBlob(from: pieces)
    #expect(second.byteCount == 2 * first.byteCount)
    try await store.write { tx in
      try tx.setData(id, "data", first)
      try tx.setData(id, "archive", second)
    }
    let (whole, double) = try await store.read { tx in (try tx.data(id, "data"), try tx.data(id, "archive")) }
    #expect(whole == data && double == data + data)
    let (broken, brokenFeed) = AsyncThrowingStream.makeStream(of: Data.self)
    brokenFeed.yield(data)
    brokenFeed.finish(throwing: Refusal())
    await #expect(throws: Refusal.self) { _ = try await store.stageBlob(from: broken) }
    let (short, shortFeed) = AsyncStream.makeStream(of: Data.self)
    shortFeed.yield(Data([1, 2, 3]))
    shortFeed.finish()
    #expect(try await store.stageBlob(from: short).byteCount == 3)
  }
}
