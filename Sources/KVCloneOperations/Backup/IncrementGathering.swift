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

/// Collects an incremental backup: the entries that convert a store in the state of a snapshot to the reader's state.
/// Time and space depend on the number of changes, not on the store's size. The metadata and the tables of snapshots,
/// operations and redirects are short, and included completely.
struct IncrementGathering: ~Copyable {
  /// The reader's state, with its model.
  private let session: Session
  private let name: String
  private let since: SnapshotValue
  private let horizon: SnapshotHorizon
  private let sink: IncrementSink
  private let format: FormatRecord
  /// The table `redirects`, which nothing else opens.
  private let redirects: StorageTable
  /// Nil if the store never had a branch.
  private let branches: BranchTables?

  /// - Parameter session: a session for the whole operation.
  init(
    _ session: consuming Session, since name: String, redirects: StorageTable, _ branches: BranchTables?, path: String,
    _ sink: IncrementSink
  ) throws(StoreError) {
    guard let format = try Metadata.format(session.storage, session.schema.tables.metadata) else {
      throw Metadata.corrupted(MetadataKey.format, .badKey)
    }
    if format.version > FormatLimits.formatVersion {
      throw StoreError(
        .newerFormat,
        "\(path) has the newer format \(format.version), so this library cannot determine its changes; make a full "
          + "backup, or use the library version that wrote it")
    }
    since = try Snapshots.existing(session.storage, session.schema.tables, name)
    horizon = SnapshotHorizon(since, session.schema.orderedLists)
    self.name = name
    self.format = format
    self.redirects = redirects
    self.branches = branches
    self.sink = sink
    self.session = session
  }

  /// - Parameter created: the recorded creation time.
  borrowing func run(created: Date = Date()) throws(StoreError) -> IncrementValue {
    let tables = session.schema.tables
    let least: [UInt8] = [0]
    for table in [tables.metadata, tables.snapshots, tables.operations, redirects] {
      try sink.copy(table, from: least.span.bytes, of: session)
    }
    try sink.put(.metadata, MetadataKey.bytes(MetadataKey.format), format.ofIncrement.encoded())
    let later = ShortKey.change(commit: since.commit + 1, part: 0)
    try sink.copy(tables.changes, from: later.bytes, of: session)
    try gatherSaved()
    try gatherBorn()
    try gatherUploads()
    try gatherBranches()
    let value = try header(created)
    let key = MetadataKey.bytes(MetadataKey.increment)
    try sink.put(.metadata, key, value.encoded(seed: ValueEnvelope.seed(tableCode: .metadata, key: key)))
    return value
  }

  // MARK: Entries that the snapshot contains

  /// Collects all preimages since the snapshot, unchanged, and the current values of their keys.
  private borrowing func gatherSaved() throws(StoreError) {
    let preimages = session.schema.tables.preimages
    var windows = ReadWindows(session.storage)
    var next: SavedKeysKey? = SavedKeysKey(epoch: since.epoch, commit: 0, part: 0)
    while let start = next, let list = try PreimageKeyList(session, from: start, before: .max) {
      let place = list.place.bytes
      if let value = try session.storage.get(preimages, place.bytes) {
        try sink.put(.preimages, unsafePointers(place.bytes), unsafePointers(value))
      }
      for (table, key) in list.keys {
        windows.next()
        let state = PreimageKey.encode(table: table, key: key.span.bytes, epoch: list.place.epoch)
        guard let value = try session.storage.get(preimages, state.span.bytes) else {
          throw PreimageReader.corrupted(.badKey)
        }
        try sink.put(.preimages, unsafePointers(state.span.bytes), unsafePointers(value))
        // Newer keys have preimages for newer snapshots.
        if key.withUnsafeBytes({ horizon.sees(table, $0) }) { try gatherPresent(table, key) }
        if table == .blobInfo, try !isPresent(value, state) { try gatherChunks(key) }
      }
      next = list.place.following
    }
  }

  private borrowing func isPresent(_ value: RawSpan, _ key: [UInt8]) throws(StoreError) -> Bool {
    do throws(RecordError) {
      return try PreimageView(value, seed: ValueEnvelope.seed(tableCode: .preimages, key: key)).isPresent
    } catch {
      throw PreimageReader.corrupted(error)
    }
  }

  /// Adds the current value of a key, or its deletion.
  private borrowing func gatherPresent(_ code: TableCode, _ key: [UInt8]) throws(StoreError) {
    guard let table = session.schema.table(code) else { throw PreimageReader.corrupted(.badKey) }
    guard let value = try session.storage.get(table, key.span.bytes) else {
      return try sink.noteDeletion(code, unsafePointers(key.span.bytes))
    }
    try sink.put(code, unsafePointers(key.span.bytes), unsafePointers(value))
    if code.rootCode != nil { try gatherBlobs(of: unsafePointers(key.span.bytes), value) }
  }

  /// Adds the current descriptions of older blobs of a record; their reference counts may have changed with the record.
  private borrowing func gatherBlobs(of key: UnsafeRawBufferPointer, _ record: RawSpan) throws(StoreError) {
    let id = try session.schema.objectID(RawSpan(_unsafeBytes: key))
    for blob in try session.schema.blobs(of: id, record) where horizon.sees(blob: blob) {
      let key = ShortKey.blobInfo(blob)
      guard let value = try session.storage.get(session.schema.tables.blobinfo, key.bytes) else { continue }
      try sink.put(.blobInfo, unsafePointers(key.bytes), unsafePointers(value))
    }
  }

  /// Adds all chunks of a blob with a serial that is older than the snapshot, and bytes that are newer.
  private borrowing func gatherChunks(_ key: [UInt8]) throws(StoreError) {
    guard key.count == 8, key.withUnsafeBytes({ horizon.sees(.blobInfo, $0) }) else { return }
    try sink.noteDeletion(.blobs, unsafePointers(key.span.bytes))
    try sink.copy(session.schema.tables.blobs, from: key.span.bytes, within: key.span.bytes, of: session)
  }

  // MARK: Newer entries

  private borrowing func gatherBorn() throws(StoreError) {
    try BornEntries(since: since, session.schema).forEach(in: session) { (table, key, value) throws(StoreError) in
      try sink.put(table.code, key, value)
      if table.code.rootCode != nil { try gatherBlobs(of: key, RawSpan(_unsafeBytes: value)) }
    }
  }

  /// Adds uploads that began before the snapshot, and continue.
  private borrowing func gatherUploads() throws(StoreError) {
    let blobinfo = session.schema.tables.blobinfo
    var windows = ReadWindows(session.storage)
    try PendingBlobs.forEach(in: session) { (serial, _) throws(StoreError) in
      windows.next()
      guard horizon.sees(blob: serial) else { return true }
      let key = ShortKey.blobInfo(serial)
      if let value = try session.storage.get(blobinfo, key.bytes) {
        try sink.put(.blobInfo, unsafePointers(key.bytes), unsafePointers(value))
      }
      try gatherChunks(key.array)
      return true
    }
  }

  // MARK: Branches

  /// Adds the descriptions of all branches, and all entries of those that have changed.
  private borrowing func gatherBranches() throws(StoreError) {
    guard let branches else { return }
    let least: [UInt8] = [0]
    try sink.copy(branches.branches, from: least.span.bytes, of: session)
    for (_, branch) in try BranchRecords.all(session.storage, branches) {
      // A branch of an earlier snapshot may be new without any change: this is its only entry then.
      let start = OverlayKey.encode(
        layer: branch.number, table: .metadata, key: MetadataKey.historyKey.bytes)
      try sink.copy(branches.overlays, from: start.span.bytes, within: start.span.bytes, of: session)
      guard branch.hasChanged(since: since) else { continue }
      for number in branch.numbers {
        let prefix = OverlayKey.prefix(number)
        try sink.copy(branches.overlays, from: prefix.span.bytes, within: prefix.span.bytes, of: session)
        try gatherBlobs(of: number, branches.overlays)
      }
    }
  }

  /// Adds the chunks of blobs of a branch with serials that are older than the snapshot: they may have been uploads
  /// then. Newer chunks are added with those of the store.
  private borrowing func gatherBlobs(of number: UInt32, _ overlays: StorageTable) throws(StoreError) {
    let prefix = OverlayKey.prefix(number)
    var serials: Set<UInt64> = []
    var windows = ReadWindows(session.storage)
    try session.storage.scan(overlays, from: prefix.span.bytes, within: prefix.span.bytes) {
      (key, _) throws(StoreError) in
      windows.next()
      guard unsafePointers(copy key).starts(with: prefix) else { return false }
      if let blob = OverlayKey.blob(describedBy: copy key) { serials.insert(blob) }
      return true
    }
    for serial in serials.sorted() { try gatherChunks(ShortKey.blobInfo(serial).array) }
  }

  // MARK: The rest

  private borrowing func header(_ created: Date) throws(StoreError) -> IncrementValue {
    let tables = session.schema.tables
    var value = IncrementValue(
      commit: try session.counter(MetadataKey.commitCounter), created: created.timeIntervalSinceReferenceDate,
      sinceName: name, sinceEpoch: since.epoch, sinceCommit: since.commit, sinceCreated: since.created, counts: [])
    let least = ShortKey.change(commit: 0, part: 0)
    if let entry = try session.storage.seek(tables.changes, least.bytes, .atOrAfter) {
      (value.firstChangeCommit, value.firstChangePart) = try HistoryWriter.changeKey(entry.key)
    }
    for table in ([redirects] + tables.all + (branches?.all ?? [])).sorted(by: { $0.code.rawValue < $1.code.rawValue })
    {
      value.counts.append(.init(table: table.code, entries: try session.storage.entryCount(table)))
    }
    return value
  }
}

extension Schema {
  /// The serials of the blobs that a stored record references.
  func blobs(of id: ObjectID, _ record: RawSpan) throws(StoreError) -> [UInt64] {
    let view = try view(of: record, id: id)
    var blobs: [UInt64] = []
    for field in 0..<view.layout.fieldCount where view.layout.kind(field).mayBeBlob && !view.isNull(field) {
      if let blob = view.blobReference(field) { blobs.append(blob.id) }
    }
    return blobs
  }
}
