#if Postgres
  import KVCloneBranches
  import KVCloneCore
  import KVCloneRecords

  /// Copies the entries of one state of a store to another storage engine, table by table, and compares the copy with
  /// it.
  final class TableCopy {
    /// The number of entries of a table, and a checksum of their keys and values in key order.
    private struct Digest: Equatable {
      var entryCount: UInt64 = 0
      var byteCount: UInt64 = 0
      private var hash: UInt64 = 0

      mutating func add(_ key: RawSpan, _ value: RawSpan) {
        entryCount += 1
        byteCount += UInt64(key.byteCount + value.byteCount)
        hash = XXH3.hash(value, seed: XXH3.hash(key, seed: hash))
      }
    }

    private static let firstKey: [UInt8] = [0]

    private let storage: StorageTransaction
    private let tables: [StorageTable]
    private let progress: CopyProgress
    private var digests: [TableCode: Digest] = [:]

    /// Begins a read transaction of the source.
    init(_ source: ObjectStore, _ progress: CopyProgress) throws(StoreError) {
      try source.engine.requireStore(for: "a copy")
      let branches = try BranchTables.all(of: source.engine, source.schema.tables)
      let storage = StorageTransaction(try source.engine.beginPinnedRead(owner: "copy"))
      try BranchTables.require(branches, in: storage, source.schema.tables)
      let tables = source.schema.tables.withRedirects
      let catalog = try StoreCatalog(storage, source.schema.tables.metadata)
      guard Set(tables.map(\.code)) == Set(catalog.tableCodes) else {
        throw StoreError(.busy, "the store \(source.path) was migrated while it was opened; try again")
      }
      self.storage = storage
      self.tables = tables + branches
      self.progress = progress
    }

    /// The codes of all tables.
    var codes: [TableCode] { tables.map(\.code) }

    /// The codes of all tables but `metadata`, without which a copy is not a store.
    var dataCodes: [TableCode] { codes.filter { $0 != .metadata } }

    /// The number of entries that were copied.
    var entryCount: UInt64 { digests.values.reduce(0) { $0 + $1.entryCount } }

    /// The number of bytes of the keys and values that were copied.
    var byteCount: UInt64 { digests.values.reduce(0) { $0 + $1.byteCount } }

    /// Counts the entries of all tables.
    func countEntries() throws(StoreError) -> UInt64 {
      var count: UInt64 = 0
      for table in tables { count += try storage.entryCount(table) }
      return count
    }

    /// Copies tables, in write transactions of bounded size.
    func copy(_ codes: [TableCode], to engine: any StorageEngine) throws(StoreError) {
      let batches = try CopyBatches(engine, codes)
      for table in tables where codes.contains(table.code) {
        var digest = Digest()
        let target = try batches.table(table.code)
        try storage.scanToEnd(of: table, from: Self.firstKey.span.bytes) { (key, value) throws(StoreError) in
          try batches.put(target, unsafePointers(key), unsafePointers(value))
          digest.add(key, value)
          try progress.advance(key.byteCount + value.byteCount)
          return true
        }
        digests[table.code] = digest
      }
      try batches.commit()
    }

    /// Reads copied tables back, and compares their numbers of entries and checksums.
    ///
    /// - Parameter engine: a new one, which has cached nothing.
    func verify(_ codes: [TableCode], in engine: any StorageEngine) throws(StoreError) {
      let copied = try engine.openTables(codes, create: false)
      let storage = StorageTransaction(try engine.beginRead())
      for table in copied {
        var digest = Digest()
        try storage.scanToEnd(of: table, from: Self.firstKey.span.bytes) { (key, value) throws(StoreError) in
          digest.add(key, value)
          try progress.advance(key.byteCount + value.byteCount)
          return true
        }
        let expected = digests[table.code] ?? Digest()
        let counted = try storage.entryCount(table)
        guard digest == expected, counted == digest.entryCount else {
          let problem =
            digest.entryCount != expected.entryCount
            ? "\(digest.entryCount) entries were read back instead of \(expected.entryCount)"
            : counted != digest.entryCount
              ? "\(counted) entries are counted instead of \(digest.entryCount)" : "the checksums differ"
          throw StoreError(
            .corrupted,
            "the copy differs from the store in the table \(table.code.name ?? "\(table.code.rawValue)"): \(problem); "
              + "check the disks of both, and copy again")
        }
      }
    }
  }

  /// Writes entries in transactions of bounded size.
  private final class CopyBatches {
    /// Below the length at which the engine of a cluster would send a part of the transaction.
    private static let byteLimit = 6 << 20

    private let engine: any StorageEngine
    private let tables: [StorageTable]
    /// Appending fills the pages of a file; without files there is nothing to fill.
    private let appends: Bool
    private var backend: (any StorageBackend)?
    private var byteCount = 0

    init(_ engine: any StorageEngine, _ codes: [TableCode]) throws(StoreError) {
      self.engine = engine
      tables = try engine.openTables(codes, create: false)
      appends = engine.files != nil
    }

    func table(_ code: TableCode) throws(StoreError) -> StorageTable {
      guard let table = tables.first(where: { $0.code == code }) else {
        throw StoreError(.invalidStore, "the copy has no table \(code.name ?? "\(code.rawValue)")")
      }
      return table
    }

    func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
      if byteCount > Self.byteLimit { try commit() }
      let backend: any StorageBackend
      if let open = self.backend {
        backend = open
      } else {
        backend = try engine.beginWrite(label: "copy", timeout: .seconds(30))
        self.backend = backend
      }
      if appends { try backend.append(table, key, value) } else { try backend.put(table, key, value) }
      byteCount += key.count + value.count
    }

    func commit() throws(StoreError) {
      byteCount = 0
      guard let backend else { return }
      self.backend = nil
      try backend.commit()
    }
  }
#endif
