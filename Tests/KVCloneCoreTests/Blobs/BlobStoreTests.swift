import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

@Suite("Blobs")
struct BlobStoreTests {
  let engine = MemoryStorage()
  let tables: BlobTables
  let all: SchemaTables

  init() throws {
    let opened = try engine.openTables(TableCode.fixed, create: true)
    all = SchemaTables(
      metadata: opened[0], links: opened[1], blobs: opened[2], blobinfo: opened[3], indexes: opened[4],
      changes: opened[5], preimages: opened[6], snapshots: opened[7], provenance: opened[8], operations: opened[9],
      redirects: opened[10], objects: [:])
    tables = all.ofBlobs
  }

  private func write() throws -> StorageTransaction {
    StorageTransaction(try engine.beginWrite(label: "test", timeout: .zero))
  }

  private func content(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededGenerator(seed: seed)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) } }
    return Array(bytes.prefix(count))
  }

  private func bytes(_ storage: borrowing StorageTransaction, _ serial: UInt64, _ range: Range<UInt64>? = nil) throws
    -> [UInt8]
  {
    var all: [UInt8] = []
    try storage.readBlob(tables, serial, range: range) { piece in piece.withUnsafeBytes { all.append(contentsOf: $0) } }
    return all
  }

  static let full = FormatLimits.blobChunkLength

  @Test(arguments: [0, 1, 1025, full - 1, full, full + 1, 3 * full + 5])
  func writesAndReads(count: Int) throws {
    let content = content(count)
    var storage = try write()
    let info = try storage.writeBlob(tables, serial: 9) { writer in
      var rest = content[...]
      while !rest.isEmpty {
        let piece = Array(rest.prefix(300_007))
        rest = rest.dropFirst(300_007)
        if rest.count.isMultiple(of: 2) { try writer.append(Data(piece)) } else { try writer.append(piece.span.bytes) }
      }
      #expect(writer.byteCount == UInt64(count))
    }
    #expect(info.referenceCount == 1 && info.byteCount == UInt64(count))
    #expect(info.digest == content.withUnsafeBytes { XXH64.hash($0, seed: 0) })
    #expect(try storage.blobInfo(tables, 9) == info)
    #expect(try bytes(storage, 9) == content)
    #expect(try BlobCheck.problems(of: 9, tables, in: storage, readData: true).isEmpty)
    for range in [0..<count / 2, count / 2..<count, count / 3..<count / 3, max(0, count - 3)..<count] {
      let part = try bytes(storage, 9, UInt64(range.lowerBound)..<UInt64(range.upperBound))
      #expect(part == Array(content[range]))
    }
    let source = StorageTransaction(lookingInto: storage)
    let copy = try BlobCopy.copy(in: &storage, tables, to: 10, references: 1, from: 9, of: source, tables) {}
    #expect(copy == info)
    #expect(try bytes(storage, 10) == content)
    #expect(try BlobCheck.problems(of: 10, tables, in: storage, readData: true).isEmpty)
    try storage.commit()
    #expect(engine.entries(tables.blobs).allSatisfy { $0.value.count <= Self.full + 8 })
  }

  @Test func countsReferrers() throws {
    var storage = try write()
    for serial in 1...3 as ClosedRange<UInt64> {
      _ = try storage.writeBlob(tables, serial: serial) { try $0.append(Data([1, 2, 3])) }
    }
    try storage.addReferences(tables, [(1, 2), (3, 1)])
    #expect(try storage.blobInfo(tables, 1)?.referenceCount == 3)
    #expect(try !storage.releaseReference(all, 1, count: 2))
    #expect(try storage.releaseReference(all, 1))
    #expect(try storage.blobInfo(tables, 1) == nil)
    #expect(try storage.releaseReference(all, 2))
    #expect(try bytes(storage, 3) == [1, 2, 3])
    let (tables, all) = (tables, all)
    #expect(throws: StoreError.self) { try storage.releaseReference(all, 1) }
    #expect(throws: StoreError.self) { try storage.releaseReference(all, 3, count: 3) }
    #expect(throws: StoreError.self) { try storage.addReferences(tables, 3, count: .max) }
    #expect(throws: StoreError.self) { try storage.addReferences(tables, 1) }
    #expect(throws: StoreError.self) { try storage.readBlob(tables, 1) { _ in } }
    #expect(throws: StoreError.self) { try storage.readBlob(tables, 3, range: 0..<4) { _ in } }
    try storage.commit()
    #expect(engine.entries(tables.blobs).count == 1)
    #expect(engine.entries(tables.blobinfo).count == 1)
  }

  @Test func aSourceThatFailsLeavesNothing() throws {
    struct SourceError: Error {}
    var storage = try write()
    let piece = content(Self.full)
    let tables = tables
    #expect(throws: SourceError.self) {
      try storage.writeBlob(tables, serial: 1) { writer in
        for _ in 0..<3 { try writer.append(piece.span.bytes) }
        throw SourceError()
      }
    }
    _ = try storage.writeBlob(tables, serial: 2) { try $0.append(piece.span.bytes) }
    try storage.commit()
    #expect(engine.entries(tables.blobs).count == 1)
    #expect(engine.entries(tables.blobinfo).count == 1)
  }

  @Test func aFailureThatIsCaughtStillFailsTheBlob() throws {
    var storage = try write()
    let piece = content(Self.full)
    engine.failChanges(after: 1)
    let (tables, engine) = (tables, engine)
    #expect(throws: StoreError.self) {
      try storage.writeBlob(tables, serial: 1) { writer in
        try writer.append(piece.span.bytes)
        try? writer.append(piece.span.bytes)
        engine.failChanges(after: nil)
      }
    }
    #expect(commitFailure(storage) == .transactionAborted)
    #expect(engine.entries(tables.blobs).isEmpty && engine.entries(tables.blobinfo).isEmpty)
  }

  @Test func damageIsFound() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    var storage = try write()
    _ = try storage.writeBlob(tables, serial: 1) { try $0.append(content(2 * Self.full + 9).span.bytes) }
    try storage.commit()
    for table in [tables.blobs, tables.blobinfo] {
      let sound = engine.entries(table)
      for round in 0..<12 {
        engine.tamper(table) { entries in
          let victim = random.below(entries.count)
          switch round % 4 {
          case 0: entries[victim].value.removeLast()
          case 1: entries.remove(at: victim)
          default: entries[victim].value[random.below(entries[victim].value.count)] ^= 1 << UInt8(random.below(8))
          }
        }
        var damaged = try write()
        #expect(try !BlobCheck.problems(of: 1, tables, in: damaged, readData: true).isEmpty, "seed \(seed)")
        let tables = tables
        #expect(throws: StoreError.self, "seed \(seed)") { try damaged.readBlob(tables, 1) { _ in } }
        #expect(throws: StoreError.self, "seed \(seed)") {
          let source = StorageTransaction(lookingInto: damaged)
          return try BlobCopy.copy(in: &damaged, tables, to: 2, references: 1, from: 1, of: source, tables) {}
        }
        engine.tamper(table) { $0 = sound }
      }
    }
  }
}
