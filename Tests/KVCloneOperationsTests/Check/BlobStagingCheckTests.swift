import Foundation
import KVClone
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

/// The check of staged uploads, and uploads with concurrently removed data.
@Suite("Staged data and checks")
struct BlobStagingCheckTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(stagingModel) }

  private func change(_ body: (inout Session) throws(StoreError) -> Void) throws {
    try store.write { tx in
      try tx.changeObjects { (session) throws(StoreError) in
        try body(&session)
        session.changes.isEmpty = false
      }
    }
  }

  private func note(_ serial: UInt64, _ stager: UInt64) throws {
    try change { (session) throws(StoreError) in
      try Metadata.put(
        &session.storage, session.schema.tables.metadata, StagingKey.name(blobSerial: serial), CounterValue(stager))
    }
  }

  private func forget(_ serial: UInt64) throws {
    try change { (session) throws(StoreError) in
      let name = MetadataKey.bytes(StagingKey.name(blobSerial: serial))
      try session.storage.delete(session.schema.tables.metadata, name.span.bytes)
    }
  }

  @Test("an upload that was swept all the same ends in an error, and leaves nothing")
  func swept() throws {
    expectError(.objectNotFound) {
      _ = try store.stageBlob { writer in
        try writer.append(Data(repeating: 1, count: 5 << 20))
        try change { (session) throws(StoreError) in
          var limit = PendingBlobs.sweepLimit
          _ = try PendingBlobs.delete(1, &limit, in: &session)
        }
        try writer.append(Data(repeating: 2, count: 5 << 20))
      }
    }
    #expect(try store.blobCounts() == BlobCounts())
    try checked(store)
  }

  @Test("a note of an upload without a pending value, and one that no upload has, are corruption")
  func notes() throws {
    let id = try store.insert("File")
    try store.set(id, "data", .binary(Data(repeating: 1, count: 3_000)))
    let upload = try store.stageBlob { writer in try writer.append(Data(repeating: 2, count: 3_000)) }
    try checked(store)
    for (serial, stager) in [(1, 7), (99, 3), (99, 0), (99, 70_000)] as [(UInt64, UInt64)] {
      try note(serial, stager)
      #expect(try store.check().issues.map(\.kind) == [.metadata], "\(serial) \(stager)")
      try forget(serial)
    }
    try checked(store)
    withExtendedLifetime(upload) {}
  }

  @Test("a pending value without a note, or with a contradicting one, is corruption")
  func orphan() throws {
    let upload = try store.stageBlob { writer in try writer.append(Data(repeating: 2, count: 3_000)) }
    try note(1, 9)
    #expect(try store.check().issues.map(\.kind) == [.orphanBlob])
    try forget(1)
    #expect(try store.check().issues.map(\.kind) == [.orphanBlob])
    withExtendedLifetime(upload) {}
  }
}
