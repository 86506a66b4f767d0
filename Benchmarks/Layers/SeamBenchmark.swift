import Foundation
import KVClone
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// Runs the same seeded calls directly on LMDB's layer and through the storage protocol, for measurement with
/// callgrind. Each kind of call has its own function that is never inlined, `measured…`; `Benchmarks/seam` reads its
/// inclusive cost.
///
/// `seam prepare DIRECTORY` creates the store, `seam direct DIRECTORY` and `seam through DIRECTORY` run the calls.
func runSeamBenchmark(_ arguments: [String]) throws {
  guard arguments.count == 2 else { throw SeamUsage() }
  let load = SeamLoad(seed: 20_240_607)
  switch arguments[0] {
  case "prepare": try load.prepare(at: arguments[1])
  case "direct": print("checksum", try SeamDirect(load, LMDBEnvironment.open(at: arguments[1])).run())
  case "through": print("checksum", try SeamThrough(load, LMDBEnvironment.open(at: arguments[1])).run())
  case "calls": for (name, count) in SeamLoad.calls { print(name, count) }
  default: throw SeamUsage()
  }
}

private struct SeamUsage: Error, CustomStringConvertible {
  var description: String { "usage: KVCloneLayerBenchmark seam prepare|direct|through|calls DIRECTORY" }
}

/// The load: keys of 8 bytes with values of 120, as for records, and keys of 12 bytes with values of 1 KiB, as for
/// chunks of lists.
struct SeamLoad {
  static let entryCount: UInt64 = 100_000
  static let chunkCount: UInt64 = 100_000
  static let scanLength = 100
  /// The number of calls in each measured function; for scans, the number of entries.
  static let calls = [
    ("Begins", 10_000), ("Gets", 50_000), ("ChunkGets", 10_000), ("Seeks", 20_000), ("Scans", 50_000), ("Puts", 20_000),
    ("ChunkPuts", 5_000), ("Appends", 20_000), ("Deletes", 10_000),
  ]

  let ids: [UInt64]
  let record = [UInt8](repeating: 0x5A, count: 120)
  let chunk = [UInt8](repeating: 0xA5, count: 1024)

  init(seed: UInt64) {
    var state = seed
    ids = (0..<50_000).map { _ in
      // SplitMix64.
      state &+= 0x9E37_79B9_7F4A_7C15
      var word = state
      word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
      word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
      return (word ^ word >> 31) % Self.entryCount
    }
  }

  static func count(_ name: String) -> Int { calls.first { $0.0 == name }?.1 ?? 0 }

  static func key(_ id: UInt64) -> ShortKey { ShortKey.object(ObjectID(rawValue: id * 2 + 2)) }

  static func chunkKey(_ id: UInt64) -> ShortKey { ShortKey.blobChunk(id % chunkCount + 1, chunk: 0) }

  func prepare(at path: String) throws {
    let environment = try LMDBEnvironment.create(at: path, tables: ["links", "blobs"]) { transaction in
      let records = try transaction.environment.table(named: "links")
      let chunks = try transaction.environment.table(named: "blobs")
      for id in 0..<Self.entryCount { try transaction.append(records, Self.key(id).bytes, record.span.bytes) }
      for id in 0..<Self.chunkCount { try transaction.append(chunks, Self.chunkKey(id).bytes, chunk.span.bytes) }
    }
    environment.close()
  }
}

/// Reads a part of a value for a checksum, which prevents that reads are optimized away, and shows that both ways read
/// the same.
@inline(__always)
private func taste(_ bytes: borrowing RawSpan) -> UInt64 {
  UInt64(bytes.byteCount) &+ UInt64(bytes.unsafeLoad(fromUncheckedByteOffset: 0, as: UInt8.self))
}

private struct SeamDirect {
  let load: SeamLoad
  let environment: LMDBEnvironment
  let records: LMDBTable
  let chunks: LMDBTable

  init(_ load: SeamLoad, _ environment: LMDBEnvironment) throws {
    self.load = load
    self.environment = environment
    let tables = try environment.openTables(["links", "blobs"], create: false)
    (records, chunks) = (tables[0], tables[1])
  }

  func run() throws -> UInt64 {
    var sum = try measuredBegins()
    let reader = try environment.beginRead()
    sum &+= try measuredGets(reader)
    sum &+= try measuredChunkGets(reader)
    sum &+= try measuredSeeks(reader)
    sum &+= try measuredScans(reader)
    var writer = try environment.beginWrite()
    try measuredPuts(&writer)
    try measuredChunkPuts(&writer)
    try measuredAppends(&writer)
    sum &+= try measuredDeletes(&writer)
    try writer.commit()
    return sum
  }

  // The calls of a reader that uses the map, and falls back to LMDB for entries that the map reader cannot resolve.

  @inline(__always)
  private func get(
    _ map: LMDBMapReader, _ pointers: LMDBPointerReader, _ table: LMDBTable, _ key: RawSpan
  ) -> UInt64 {
    key.withUnsafeBytes { key in
      var found = map.value(table.dbi, key)
      if found.code == LMDBMapReader.askLMDB { found = pointers.value(table.dbi, key) }
      return found.code == 0 ? taste(UnsafeRawBufferPointer(start: found.base, count: found.count).bytes) : 0
    }
  }

  @inline(__always)
  private func seek(
    _ map: LMDBMapReader, _ pointers: LMDBPointerReader, _ key: RawSpan, _ position: StorageSeek
  ) -> UInt64 {
    key.withUnsafeBytes { key in
      var entry = StorageEntryPointers()
      var code = map.seek(records.dbi, key, position, &entry)
      if code == LMDBMapReader.askLMDB { code = pointers.seek(records.dbi, key, position, &entry) }
      return code == 0 ? taste(entry.value.bytes) : 0
    }
  }

  @inline(__always)
  private func scan(_ map: LMDBMapReader, _ key: RawSpan) -> UInt64 {
    var sum: UInt64 = 0
    var left = SeamLoad.scanLength
    var scan = key.withUnsafeBytes { map.scan(records.dbi, from: $0) }
    while left > 0, scan.next() {
      sum &+= taste(scan.entry.key.bytes) &+ taste(scan.entry.value.bytes)
      left -= 1
    }
    return sum
  }

  @inline(never)
  func measuredBegins() throws -> UInt64 {
    var sum: UInt64 = 0
    for _ in 0..<SeamLoad.count("Begins") {
      let transaction = try environment.beginRead()
      sum &+= get(transaction.map, transaction.pointers, records, SeamLoad.key(1).bytes)
    }
    return sum
  }

  @inline(never)
  func measuredGets(_ transaction: borrowing LMDBReadTransaction) throws -> UInt64 {
    let (map, pointers) = (transaction.map, transaction.pointers)
    var sum: UInt64 = 0
    for id in load.ids.prefix(SeamLoad.count("Gets")) {
      sum &+= get(map, pointers, records, SeamLoad.key(id).bytes)
    }
    return sum
  }

  @inline(never)
  func measuredChunkGets(_ transaction: borrowing LMDBReadTransaction) throws -> UInt64 {
    let (map, pointers) = (transaction.map, transaction.pointers)
    var sum: UInt64 = 0
    for id in load.ids.prefix(SeamLoad.count("ChunkGets")) {
      sum &+= get(map, pointers, chunks, SeamLoad.chunkKey(id).bytes)
    }
    return sum
  }

  @inline(never)
  func measuredSeeks(_ transaction: borrowing LMDBReadTransaction) throws -> UInt64 {
    let (map, pointers) = (transaction.map, transaction.pointers)
    var sum: UInt64 = 0
    for id in load.ids.prefix(SeamLoad.count("Seeks")) {
      let position: StorageSeek = id & 1 == 0 ? .atOrAfter : .atOrBefore
      sum &+= seek(map, pointers, SeamLoad.key(id).bytes, position)
    }
    return sum
  }

  @inline(never)
  func measuredScans(_ transaction: borrowing LMDBReadTransaction) throws -> UInt64 {
    let map = transaction.map
    var sum: UInt64 = 0
    for id in load.ids.prefix(SeamLoad.count("Scans") / SeamLoad.scanLength) {
      sum &+= scan(map, SeamLoad.key(id).bytes)
    }
    return sum
  }

  @inline(never)
  func measuredPuts(_ transaction: inout LMDBWriteTransaction) throws {
    for id in load.ids.prefix(SeamLoad.count("Puts")) {
      try transaction.put(records, SeamLoad.key(id).bytes, load.record.span.bytes)
    }
  }

  @inline(never)
  func measuredChunkPuts(_ transaction: inout LMDBWriteTransaction) throws {
    for id in load.ids.prefix(SeamLoad.count("ChunkPuts")) {
      try transaction.put(chunks, SeamLoad.chunkKey(id).bytes, load.chunk.span.bytes)
    }
  }

  @inline(never)
  func measuredAppends(_ transaction: inout LMDBWriteTransaction) throws {
    for number in 0..<SeamLoad.count("Appends") {
      let id = SeamLoad.entryCount + UInt64(number)
      try transaction.append(records, SeamLoad.key(id).bytes, load.record.span.bytes)
    }
  }

  @inline(never)
  func measuredDeletes(_ transaction: inout LMDBWriteTransaction) throws -> UInt64 {
    var sum: UInt64 = 0
    for id in load.ids.prefix(SeamLoad.count("Deletes")) {
      if try transaction.delete(records, SeamLoad.key(id).bytes) { sum &+= 1 }
    }
    return sum
  }
}

private struct SeamThrough {
  let load: SeamLoad
  let engine: LMDBEngine
  let records: StorageTable
  let chunks: StorageTable

  init(_ load: SeamLoad, _ environment: LMDBEnvironment) throws {
    self.load = load
    engine = LMDBEngine(environment)
    let tables = try engine.openTables([.links, .blobs], create: false)
    (records, chunks) = (tables[0], tables[1])
  }

  func run() throws -> UInt64 {
    var sum = try measuredBegins()
    let reader = StorageTransaction(try engine.beginRead())
    sum &+= try measuredGets(reader)
    sum &+= try measuredChunkGets(reader)
    sum &+= try measuredSeeks(reader)
    sum &+= try measuredScans(reader)
    var writer = StorageTransaction(try engine.beginWrite(label: "", timeout: .seconds(1)))
    try measuredPuts(&writer)
    try measuredChunkPuts(&writer)
    try measuredAppends(&writer)
    sum &+= try measuredDeletes(&writer)
    try writer.commit()
    return sum
  }

  @inline(never)
  func measuredBegins() throws -> UInt64 {
    var sum: UInt64 = 0
    for _ in 0..<SeamLoad.count("Begins") {
      let transaction = StorageTransaction(try engine.beginRead())
      if let value = try transaction.get(records, SeamLoad.key(1).bytes) { sum &+= taste(value) }
    }
    return sum
  }

  @inline(never)
  func measuredGets(_ transaction: borrowing StorageTransaction) throws -> UInt64 {
    var sum: UInt64 = 0
    for id in load.ids.prefix(SeamLoad.count("Gets")) {
      if let value = try transaction.get(records, SeamLoad.key(id).bytes) { sum &+= taste(value) }
    }
    return sum
  }

  @inline(never)
  func measuredChunkGets(_ transaction: borrowing StorageTransaction) throws -> UInt64 {
    var sum: UInt64 = 0
    for id in load.ids.prefix(SeamLoad.count("ChunkGets")) {
      if let value = try transaction.get(chunks, SeamLoad.chunkKey(id).bytes) { sum &+= taste(value) }
    }
    return sum
  }

  @inline(never)
  func measuredSeeks(_ transaction: borrowing StorageTransaction) throws -> UInt64 {
    var sum: UInt64 = 0
    for id in load.ids.prefix(SeamLoad.count("Seeks")) {
      let position: StorageSeek = id & 1 == 0 ? .atOrAfter : .atOrBefore
      if let entry = try transaction.seek(records, SeamLoad.key(id).bytes, position) { sum &+= taste(entry.value) }
    }
    return sum
  }

  @inline(never)
  func measuredScans(_ transaction: borrowing StorageTransaction) throws -> UInt64 {
    var sum: UInt64 = 0
    for id in load.ids.prefix(SeamLoad.count("Scans") / SeamLoad.scanLength) {
      var left = SeamLoad.scanLength
      try transaction.scanToEnd(of: records, from: SeamLoad.key(id).bytes) { (key, value) throws(StoreError) in
        sum &+= taste(key) &+ taste(value)
        left -= 1
        return left > 0
      }
    }
    return sum
  }

  @inline(never)
  func measuredPuts(_ transaction: inout StorageTransaction) throws {
    for id in load.ids.prefix(SeamLoad.count("Puts")) {
      try transaction.put(records, SeamLoad.key(id).bytes, load.record.span.bytes)
    }
  }

  @inline(never)
  func measuredChunkPuts(_ transaction: inout StorageTransaction) throws {
    for id in load.ids.prefix(SeamLoad.count("ChunkPuts")) {
      try transaction.put(chunks, SeamLoad.chunkKey(id).bytes, load.chunk.span.bytes)
    }
  }

  @inline(never)
  func measuredAppends(_ transaction: inout StorageTransaction) throws {
    for number in 0..<SeamLoad.count("Appends") {
      let id = SeamLoad.entryCount + UInt64(number)
      try transaction.append(records, SeamLoad.key(id).bytes, load.record.span.bytes)
    }
  }

  @inline(never)
  func measuredDeletes(_ transaction: inout StorageTransaction) throws -> UInt64 {
    var sum: UInt64 = 0
    for id in load.ids.prefix(SeamLoad.count("Deletes")) {
      if try transaction.delete(records, SeamLoad.key(id).bytes) { sum &+= 1 }
    }
    return sum
  }
}
