import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Applies one incremental backup to an unpublished copy of a backup, after the earlier ones.
///
/// First restores the state of the incremental backup's snapshot, then puts all of its entries. The result therefore
/// does not depend on when, after the snapshot, the backup was made, and nothing newer remains. Uses one transaction,
/// in which `before` keeps reading the state before it.
struct ChainStep: ~Copyable {
  private let before: Session
  private let since: SnapshotValue
  private let horizon: SnapshotHorizon
  private let increment: IncrementFile
  private let reader: StorageTransaction
  private let sink: IncrementSink
  /// Whether the store has had a branch.
  private let hasBranches: Bool
  /// Of the store's current model, and of the one that it will have.
  private let oldSchema: Schema
  private let newSchema: Schema
  /// Blobs that lost their last reference, unless they are referenced again. Grows with the number of changes, not with
  /// the store.
  private var unreferenced: Set<UInt64> = []
  /// Blobs that entries of deleted or changed branches described.
  private var lostByBranches: Set<UInt64> = []

  /// - Parameters:
  ///   - engine: the store's.
  ///   - path: the store's name in errors.
  init(_ increment: IncrementFile, to engine: LMDBEngine, _ path: String, _ run: BackupRun) throws(StoreError) {
    let all = increment.tables.map(\.code)
    let codes = all.filter { !TableCode.ofBranches.contains($0) }
    // Open all of them before the reader begins, which would not see later ones.
    let opened: [StorageTable]
    do throws(StoreError) {
      // The increment may be the first one with a branch.
      opened =
        try engine.openTables(codes, create: false)
        + engine.openTables(all.filter { TableCode.ofBranches.contains($0) }, create: true)
    } catch {
      if error.kind != .invalidStore { throw error }
      throw ChainLink.broken("\(increment.path) and \(path) have different tables: \(error.message)")
    }
    guard let metadata = opened.first(where: { $0.code == .metadata }) else {
      throw IncrementFile.corrupted(increment.path, "the metadata table is missing")
    }
    let storage = StorageTransaction(try engine.beginRead())
    let catalog = try StoreCatalog(storage, metadata)
    let tables = try SchemaTables.open(engine, metadata, catalog)
    let old = try Schema(catalog, tables: tables)
    let new = try increment.schema(tables)
    guard let format = try Metadata.format(storage, metadata) else {
      throw Metadata.corrupted(MetadataKey.format, .badKey)
    }
    guard Set(catalog.tableCodes) == Set(codes), Set(new.rootCodes) == Set(old.rootCodes) else {
      throw ChainLink.broken("\(increment.path) and \(path) have different tables")
    }
    let reader = StorageTransaction(try increment.engine.beginReading())
    let before = StoreContext(uuid: format.storeUUID).session(storage, old)
    let since = try ChainLink(before, format, path).requireFit(increment, reader)
    let backend = try engine.beginWrite(label: "restore", timeout: .zero)
    sink = IncrementSink(backend, opened, run)
    hasBranches = all.contains(.branches)
    self.since = since
    horizon = SnapshotHorizon(since, old.orderedLists)
    oldSchema = old
    newSchema = new
    self.increment = increment
    self.reader = reader
    self.before = before
  }

  /// Applies the incremental backup; returns the number of entries put and deleted.
  consuming func run() throws(StoreError) -> UInt64 {
    try goBack()
    try dropBorn()
    try dropLater()
    try dropPurged()
    try putIncrement()
    try dropUnreferenced()
    let count = sink.entryCount
    try finish()
    return count
  }

  // MARK: Restoring the snapshot's state

  /// Restores all preimages. Blobs come first, so that they exist when their references are counted.
  private mutating func goBack() throws(StoreError) {
    let states = PreimageReader(before.storage.backend, oldSchema.tables.preimages, epoch: since.epoch)
    for isBlobs in [true, false] {
      var next: SavedKeysKey? = SavedKeysKey(epoch: since.epoch, commit: 0, part: 0)
      while let start = next, let list = try PreimageKeyList(before, from: start, before: .max) {
        for (table, key) in list.keys
        where (table == .blobInfo) == isBlobs && key.withUnsafeBytes({ horizon.sees(table, $0) }) {
          try goBack(table, unsafePointers(key.span.bytes), states)
        }
        next = list.place.following
      }
    }
  }

  private mutating func goBack(
    _ table: TableCode, _ key: UnsafeRawBufferPointer, _ states: PreimageReader
  ) throws(StoreError) {
    switch try states.state(of: table, key) {
    case .unchanged: return
    case .absent:
      if table.rootCode != nil { try count(key, nil, oldSchema) }
      try sink.delete(table, key)
      if table == .blobInfo, key.count == 8 { try sink.deleteChunks(of: SnapshotHorizon.number(key, at: 0)) }
    case .present(let value):
      if table == .blobInfo { return try describe(key, value) }
      if table.rootCode != nil { try count(key, value, oldSchema) }
      try sink.put(table, key, value)
    }
  }

  /// Restores a blob's description. The restored records add their references one by one.
  private func describe(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
    guard try sink.get(.blobInfo, key) == nil else { return }
    var info = try Self.info(key, value)
    info.referenceCount = 0
    try store(info, key)
  }

  /// Deletes what is newer than the snapshot.
  private mutating func dropBorn() throws(StoreError) {
    let entries = BornEntries(since: since, oldSchema)
    var blobs: [UInt64] = []
    // In batches: the visitor borrows this value.
    let (sink, oldSchema, horizon) = (sink, oldSchema, horizon)
    var counts = BlobCounts()
    try entries.forEach(in: before) { (table, key, value) throws(StoreError) in
      if table.code.rootCode != nil {
        let record = RawSpan(_unsafeBytes: value)
        blobs = try oldSchema.blobs(of: try oldSchema.objectID(RawSpan(_unsafeBytes: key)), record)
        for blob in blobs where horizon.sees(blob: blob) { try counts.change(blob, by: -1, sink) }
      }
      try sink.delete(table.code, key)
    }
    unreferenced.formUnion(counts.unreferenced)
  }

  /// Deletes the remaining newer entries, and tables that are replaced as a whole.
  private mutating func dropLater() throws(StoreError) {
    var next: SavedKeysKey? = SavedKeysKey(epoch: since.epoch, commit: 0, part: 0)
    while let start = next, let list = try PreimageKeyList(before, from: start, before: .max) {
      for (table, key) in list.keys {
        let state = PreimageKey.encode(table: table, key: key.span.bytes, epoch: list.place.epoch)
        try sink.delete(.preimages, unsafePointers(state.span.bytes))
      }
      let place = list.place.bytes
      try sink.delete(.preimages, unsafePointers(place.bytes))
      next = list.place.following
    }
    // Uploads that began before the snapshot: those in progress are in the incremental backup.
    try PendingBlobs.forEach(in: before) { (serial, _) throws(StoreError) in
      guard horizon.sees(blob: serial) else { return true }
      let key = ShortKey.blobInfo(serial)
      try sink.delete(.blobInfo, unsafePointers(key.bytes))
      try sink.deleteChunks(of: serial)
      return true
    }
    let later = ShortKey.change(commit: since.commit + 1, part: 0)
    try sink.deleteAll(.changes, from: unsafePointers(later.bytes)) { _ in true }
    // History is purged from its beginning.
    let first = ShortKey.change(commit: increment.value.firstChangeCommit, part: increment.value.firstChangePart)
    let least: [UInt8] = [0]
    try sink.deleteAll(.changes, from: unsafePointers(least.span.bytes)) {
      KeyBound.compare($0, unsafePointers(first.bytes)) < 0
    }
    if hasBranches { try dropBranches() }
    for table in Self.wholeTables + (hasBranches ? [.branches] : []) {
      try sink.deleteAll(table, from: unsafePointers(least.span.bytes)) { _ in true }
    }
    // There are no preimages of a dropped index.
    for id in oldSchema.codes.indexIDs.subtracting(newSchema.codes.indexIDs).sorted() {
      let prefix = IndexKey.prefix(indexID: id)
      try sink.deleteAll(.indexes, from: unsafePointers(prefix.span.bytes)) { SnapshotHorizon.indexID($0) == id }
    }
  }

  /// Deletes the entries of branches that have been deleted or changed since the snapshot: the incremental backup
  /// contains all of those that are left.
  private mutating func dropBranches() throws(StoreError) {
    let tables = BranchTables(of: newSchema.tables) { StorageTable(code: $0, handle: 0) }
    let coming = try BranchRecords.all(reader, tables).map(\.value)
    var kept: Set<UInt32> = []
    for branch in coming where !branch.hasChanged(since: since) { kept.formUnion(branch.numbers) }
    let overlays = try sink.table(.overlays)
    let bound = ReusedBytes()
    var blobs: Set<UInt64> = []
    var next: UInt32 = 1
    // From one number to the next.
    while let found = try seekOverlay(overlays, number: next, bound) {
      if !kept.contains(found) {
        try sink.deleteAll(.overlays, from: bound.bytes) { key in
          guard key.count >= 4, Self.number(of: key) == found else { return false }
          if let blob = OverlayKey.blob(describedBy: RawSpan(_unsafeBytes: key)) { blobs.insert(blob) }
          return true
        }
      }
      if found == .max { break }
      next = found + 1
    }
    lostByBranches = blobs
  }

  /// Sets `bound` to the beginning of the first entries at or after a number, and returns theirs.
  private func seekOverlay(_ table: StorageTable, number: UInt32, _ bound: ReusedBytes) throws(StoreError) -> UInt32? {
    bound.removeAll()
    bound.appendBigEndian(number)
    guard let entry = try sink.backend.seek(table, bound.bytes, .atOrAfter), entry.key.count >= 4 else { return nil }
    let found = Self.number(of: entry.key)
    bound.removeAll()
    bound.appendBigEndian(found)
    return found
  }

  private static func number(of key: UnsafeRawBufferPointer) -> UInt32 {
    UInt32(bigEndian: key.loadUnaligned(as: UInt32.self))
  }

  /// Deletes the objects of removed root entities that no snapshot of the incremental backup needs: they were deleted
  /// with the last such snapshot, without preimages.
  private mutating func dropPurged() throws(StoreError) {
    let shown = try Snapshots.all(reader, SchemaTables(rootCodes: newSchema.rootCodes)).map(\.value.modelNumber)
    for (root, number) in (newSchema.codes.former?.roots ?? [:]).sorted(by: { $0.key < $1.key }) {
      guard let rootCode = UInt16(root), !shown.contains(where: { UInt64($0) < number }) else { continue }
      let code = TableCode.objects(rootCode: rootCode)
      guard let table = oldSchema.tables.objects[rootCode] else { continue }
      let first = ShortKey.object(ObjectID(rootCode: rootCode, serial: 0))
      let bound = unsafePointers(first.bytes)
      while let found = try sink.backend.seek(table, bound, .atOrAfter) {
        let key = Array(found.key)
        try count(unsafePointers(key.span.bytes), nil, oldSchema)
        try sink.delete(code, unsafePointers(key.span.bytes))
      }
      for other in [TableCode.links, .provenance] {
        try sink.deleteAll(other, from: bound) { key in
          key.count >= 8 && SnapshotHorizon.number(key, at: 0) >> 48 == UInt64(rootCode)
        }
      }
    }
  }

  /// Tables that an incremental backup contains completely.
  private static let wholeTables: [TableCode] = [.metadata, .snapshots, .operations, .redirects]

  // MARK: Entries of the incremental backup

  private mutating func putIncrement() throws(StoreError) {
    let least: [UInt8] = [0]
    let deletions = StorageTable(code: .deletions, handle: 0)
    var keys: [(table: TableCode, key: [UInt8])] = []
    var next: [UInt8]? = least
    // In batches: the reader is borrowed during each.
    while let start = next {
      keys.removeAll(keepingCapacity: true)
      next = nil
      try reader.scanToEnd(of: deletions, from: start.span.bytes) { (key, _) throws(StoreError) in
        if keys.count == Self.batchCount {
          next = key.withUnsafeBytes { Array($0) }
          return false
        }
        do throws(RecordError) {
          let gone = try DeletionKey.key(of: copy key)
          keys.append((try DeletionKey.table(of: copy key), gone.withUnsafeBytes { Array($0) }))
        } catch {
          throw IncrementFile.corrupted(increment.path, error.description)
        }
        return true
      }
      for (table, key) in keys { try putDeletion(table, unsafePointers(key.span.bytes)) }
    }
    let codes = increment.tables.map(\.code)
    for code in codes where code.rootCode != nil { try putObjects(StorageTable(code: code, handle: 0)) }
    // Descriptions of blobs come last: they replace the counted references.
    for code in codes where code.rootCode == nil && code != .blobInfo { try put(code) }
    try put(.blobInfo)
  }

  private static let batchCount = 1000

  private mutating func putDeletion(_ table: TableCode, _ key: UnsafeRawBufferPointer) throws(StoreError) {
    if table == .blobs {
      guard key.count == 8 else { throw IncrementFile.corrupted(increment.path, RecordError.badKey.description) }
      return try sink.deleteChunks(of: SnapshotHorizon.number(key, at: 0))
    }
    guard SnapshotHorizon.isVersioned(table) else {
      throw IncrementFile.corrupted(increment.path, RecordError.badKey.description)
    }
    if table.rootCode != nil { try count(key, nil, newSchema) }
    try sink.delete(table, key)
  }

  private mutating func putObjects(_ table: StorageTable) throws(StoreError) {
    let (sink, horizon, schemas) = (sink, horizon, (old: oldSchema, new: newSchema))
    var counts = BlobCounts()
    let least: [UInt8] = [0]
    try reader.scanToEnd(of: table, from: least.span.bytes) { (key, value) throws(StoreError) in
      let pointers = (key: unsafePointers(copy key), value: unsafePointers(copy value))
      let old = try sink.get(table.code, pointers.key)
      try counts.change(pointers.key, from: old, schemas.old, to: pointers.value, schemas.new, horizon, sink)
      try sink.put(table.code, pointers.key, pointers.value)
      return true
    }
    counts.hand(to: &unreferenced)
  }

  private mutating func put(_ code: TableCode) throws(StoreError) {
    let least: [UInt8] = [0]
    let format = MetadataKey.bytes(MetadataKey.format)
    let mark = MetadataKey.bytes(MetadataKey.increment)
    var described: [UInt64] = []
    try reader.scanToEnd(of: StorageTable(code: code, handle: 0), from: least.span.bytes) {
      (key, value) throws(StoreError) in
      let key = unsafePointers(copy key)
      if code == .metadata {
        if key.elementsEqual(mark) { return true }
        if key.elementsEqual(format) {
          try sink.put(code, format, increment.format.encoded())
          return true
        }
      }
      if code == .blobInfo, key.count == 8, !unreferenced.isEmpty {
        described.append(SnapshotHorizon.number(key, at: 0))
      }
      try sink.put(code, key, unsafePointers(copy value))
      return true
    }
    unreferenced.subtract(described)
  }

  // MARK: Blobs

  /// Counts references for a record that replaces the current one.
  private mutating func count(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?, _ schema: Schema
  ) throws(StoreError) {
    guard key.count == 8 else { return }
    let code = TableCode(rawValue: 0x8000 | UInt16(truncatingIfNeeded: SnapshotHorizon.number(key, at: 0) >> 48))
    var counts = BlobCounts()
    let old = try sink.get(code, key)
    try counts.change(key, from: old, oldSchema, to: value, schema, horizon, sink)
    counts.hand(to: &unreferenced)
  }

  /// Deletes the unreferenced blobs that are not in the incremental backup: they belong to a different past.
  private func dropUnreferenced() throws(StoreError) {
    let storage = StorageTransaction(lookingInto: sink.backend)
    for serial in unreferenced.sorted() {
      let key = ShortKey.blobInfo(serial)
      let pointers = unsafePointers(key.bytes)
      guard let value = try sink.get(.blobInfo, pointers), try Self.info(pointers, value).referenceCount == 0 else {
        continue
      }
      try sink.delete(.blobInfo, pointers)
      if try BlobDescriptions.exist(of: serial, newSchema.tables, in: storage) { continue }
      try sink.deleteChunks(of: serial)
    }
    for serial in lostByBranches.sorted() {
      if try !BlobDescriptions.exist(of: serial, newSchema.tables, in: storage) { try sink.deleteChunks(of: serial) }
    }
  }

  fileprivate static func info(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
    -> BlobInfo
  {
    do throws(RecordError) {
      let seed = ValueEnvelope.seed(tableCode: .blobInfo, key: key)
      return try BlobInfo(stored: RawSpan(_unsafeBytes: value), seed: seed)
    } catch {
      throw StoreError(.corrupted, "the entry of a blob is corrupted: \(error)")
    }
  }

  private func store(_ info: BlobInfo, _ key: UnsafeRawBufferPointer) throws(StoreError) {
    try BlobCounts.store(info, key, sink)
  }

  // MARK: The end

  /// Deletes preimages that only deleted snapshots needed, checks the contents of all tables, and commits.
  private consuming func finish() throws(StoreError) {
    let old = try Snapshots.all(before.storage, oldSchema.tables).map(\.value).filter { $0.epoch < since.epoch }
    var left: Set<UInt64> = []
    let snapshots = try Snapshots.all(reader, SchemaTables(rootCodes: newSchema.rootCodes))
    for snapshot in snapshots { left.insert(snapshot.value.epoch) }
    var session = StoreContext(uuid: increment.format.storeUUID).session(sink.backend, newSchema)
    let gone = Set(old.map(\.epoch)).subtracting(left)
    try PreimageSweeper.own(&session) { (sweeper) throws(StoreError) in try sweeper.sweep(gone, among: old + [since]) }
    for count in increment.value.counts {
      let found = try sink.backend.entryCount(try sink.table(count.table))
      if found != count.entries {
        throw ChainLink.broken(
          "the table \(count.table.name ?? "") would have \(found) entries instead of the \(count.entries) of "
            + "\(increment.path); the earlier backups belong to another history of the store")
      }
    }
    try session.commitStorage()
  }
}

/// Updates the reference counts of older blobs for added and removed records.
struct BlobCounts {
  /// The blobs that are no longer referenced, without those that are referenced again.
  private(set) var unreferenced: Set<UInt64> = []
  private var referenced: Set<UInt64> = []

  mutating func change(
    _ key: UnsafeRawBufferPointer, from old: UnsafeRawBufferPointer?, _ oldSchema: Schema,
    to new: UnsafeRawBufferPointer?, _ newSchema: Schema, _ horizon: SnapshotHorizon, _ sink: IncrementSink
  ) throws(StoreError) {
    let id = try oldSchema.objectID(RawSpan(_unsafeBytes: key))
    // Before any write, which moves the engine's bytes.
    let gone = try old.map { (old) throws(StoreError) in
      try Self.blobs(id, old, oldSchema, newSchema)
    }
    let come = try new.map { (new) throws(StoreError) in
      try newSchema.blobs(of: id, RawSpan(_unsafeBytes: new))
    }
    if gone == come { return }
    for blob in gone ?? [] where horizon.sees(blob: blob) { try change(blob, by: -1, sink) }
    for blob in come ?? [] where horizon.sees(blob: blob) { try change(blob, by: 1, sink) }
  }

  /// A record of the store may come from the incremental backup already: then only that knows its layout.
  private static func blobs(
    _ id: ObjectID, _ record: UnsafeRawBufferPointer, _ first: Schema, _ second: Schema
  ) throws(StoreError) -> [UInt64] {
    do throws(StoreError) {
      return try first.blobs(of: id, RawSpan(_unsafeBytes: record))
    } catch {
      return try second.blobs(of: id, RawSpan(_unsafeBytes: record))
    }
  }

  /// A missing description will come with the incremental backup.
  mutating func change(_ blob: UInt64, by difference: Int, _ sink: IncrementSink) throws(StoreError) {
    let key = ShortKey.blobInfo(blob)
    let pointers = unsafePointers(key.bytes)
    guard let value = try sink.get(.blobInfo, pointers) else { return }
    var info = try ChainStep.info(pointers, value)
    if difference > 0 {
      info.referenceCount &+= 1
    } else {
      guard info.referenceCount > 0 else {
        throw StoreError(.corrupted, "blob \(blob) has more referrers than its reference count")
      }
      info.referenceCount -= 1
    }
    if info.referenceCount == 0 {
      unreferenced.insert(blob)
      referenced.remove(blob)
    } else {
      unreferenced.remove(blob)
      referenced.insert(blob)
    }
    try Self.store(info, pointers, sink)
  }

  func hand(to all: inout Set<UInt64>) {
    all.subtract(referenced)
    all.formUnion(unreferenced)
  }

  static func store(_ info: BlobInfo, _ key: UnsafeRawBufferPointer, _ sink: IncrementSink) throws(StoreError) {
    let value = info.encoded(seed: ValueEnvelope.seed(tableCode: .blobInfo, key: key))
    try sink.put(.blobInfo, key, unsafePointers(value.span.bytes))
  }
}
