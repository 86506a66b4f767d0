package import KVCloneLMDB
package import KVCloneRecords
package import KVCloneTracing

/// The storage engine for LMDB.
package final class LMDBEngine: StorageEngine, EngineSpace, EngineFiles {
  package let environment: LMDBEnvironment

  package init(_ environment: LMDBEnvironment) {
    self.environment = environment
  }

  package var productName: String { "LMDB" }

  package var spanTarget: SpanTarget { SpanTarget(directory: directory) }

  package func openTables(_ tables: [TableCode], create: Bool) throws(StoreError) -> [StorageTable] {
    try storeErrors { () throws(LMDBError) in
      let handles = try environment.openTables(tables.map { $0.name ?? "" }, create: create)
      return zip(tables, handles).map { StorageTable(code: $0, handle: $1.dbi) }
    }
  }

  package func beginRead() throws(StoreError) -> any StorageBackend {
    do throws(LMDBError) { return LMDBBackend(try environment.beginRead()) } catch { throw StoreError(error) }
  }

  package func beginPinnedRead(owner: String) throws(StoreError) -> any StorageBackend {
    do throws(LMDBError) {
      return LMDBBackend(try environment.beginPinnedRead(owner: owner))
    } catch {
      throw StoreError(error)
    }
  }

  package func readers() throws(StoreError) -> [StorageReader]? {
    try storeErrors { () throws(LMDBError) in try environment.activeReaders() }
  }

  package func clearStaleReaders() throws(StoreError) -> Int {
    try storeErrors { () throws(LMDBError) in try environment.clearDeadReaders() }
  }

  package func writer() -> WriteLockHolder? { environment.currentWriter.map(WriteLockHolder.init) }

  package func beginWrite(label: String, timeout: Duration, isDryRun: Bool) throws(StoreError) -> any StorageBackend {
    do throws(LMDBError) {
      return LMDBBackend(try environment.beginWrite(timeout: timeout, label: label), isDryRun: isDryRun)
    } catch {
      throw StoreError(error)
    }
  }

  package func facts() throws(StoreError) -> StorageFacts {
    try storeErrors { () throws(LMDBError) in StorageFacts(try environment.info(), try environment.room()) }
  }

  package func makeRoom(for byteCount: UInt64) throws(StoreError) {
    try storeErrors { () throws(LMDBError) in try environment.makeRoom(for: byteCount) }
  }

  package func checkRoom(for byteCount: UInt64) throws(StoreError) {
    try storeErrors { () throws(LMDBError) in try environment.checkRoom(for: byteCount) }
  }

  package func lastFreedByteCount() throws(StoreError) -> UInt64 {
    try storeErrors { () throws(LMDBError) in
      UInt64(try environment.lastFreedPageCount()) * UInt64(LMDBLimits.pageSize)
    }
  }

  package func watchCommits(_ body: @escaping @Sendable () -> Void) -> (any CommitWatch)? {
    environment.watchWrites(body)
  }

  package func uploadLeases() throws(StoreError) -> (any UploadLeases)? {
    try LMDBUploadLeases(directory: directory, beside: identity)
  }

  package var space: (any EngineSpace)? { self }

  package var files: (any EngineFiles)? { self }

  package var directory: String { environment.directory }

  package var currentDirectory: String { environment.currentDirectory }

  package var identity: FileSystem.Identity { environment.identity }

  package func close() {
    environment.close()
  }
}

extension FileWatcher: CommitWatch {}

/// Uploads hold their bytes in `stagers.lock`.
private final class LMDBUploadLeases: UploadLeases {
  private let file: StagerLockFile

  init(directory: String, beside data: FileSystem.Identity) throws(StoreError) {
    file = try storeErrors { () throws(LMDBError) in try StagerLockFile(directory: directory, beside: data) }
  }

  func hold(_ byte: UInt16) throws(StoreError) -> Bool {
    try storeErrors { () throws(LMDBError) in try file.lock(byte) }
  }

  func release(_ byte: UInt16) { file.unlock(byte) }
}

/// A read or write transaction of LMDB. It ends with its last reference.
///
/// Every call passes through this class, so it saves instructions, which `Benchmarks/seam` counts. It is one final
/// class for both kinds, because the compiler would merge the methods of two classes into one with another jump. Errors
/// are created only when they occur. The write transaction is behind a pointer, which avoids dynamic exclusivity
/// checks; `StorageTransaction` cannot be copied and is borrowed, which prevents overlapping access at compile time.
private final class LMDBBackend: StorageBackend, TransactionSpace {
  private let pointers: LMDBPointerReader
  private let reader: LMDBReadTransaction?
  /// Reads pages directly in a read transaction. LMDB's calls serve all other reads, and produce all errors.
  private let map: LMDBMapReader?
  private let writer: UnsafeMutablePointer<LMDBWriteTransaction>?
  /// Read-ahead of a write transaction. A read transaction's is the map's.
  private let readAhead: LMDBWriterReadAhead?
  /// The page that a write transaction's last lookup found.
  private var lastPage: UInt = 0
  let stateNumber: UInt64
  private var hasFailed = false
  private var keepsPlaces = false

  init(_ transaction: consuming LMDBReadTransaction) {
    stateNumber = transaction.commitNumber
    pointers = transaction.pointers
    map = transaction.map
    reader = consume transaction
    writer = nil
    readAhead = nil
  }

  init(_ transaction: consuming LMDBWriteTransaction, isDryRun: Bool) {
    pointers = transaction.pointers
    readAhead = transaction.readAhead
    map = nil
    reader = nil
    // Its state changes as it writes.
    stateNumber = 0
    let writer = UnsafeMutablePointer<LMDBWriteTransaction>.allocate(capacity: 1)
    writer.initialize(to: transaction)
    if isDryRun { writer.pointee.markDryRun() }
    self.writer = writer
  }

  deinit {
    writer?.deinitialize(count: 1)
    writer?.deallocate()
  }

  var nextIndexID: UInt16 { .max }

  @inline(__always)
  func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    var found: LMDBValuePointer
    if let map {
      found = map.value(table.handle, key)
      if found.code == LMDBMapReader.askLMDB { found = pointers.value(table.handle, key) }
    } else {
      found = keepsPlaces ? placedValue(table, key) : pointers.value(table.handle, key)
      if found.code == 0, UInt(bitPattern: found.base) >> 12 != lastPage { noteRead(table, key, found) }
    }
    if found.code == 0 { return UnsafeRawBufferPointer(start: found.base, count: found.count) }
    if found.code == LMDBPointerReader.notFound { return nil }
    throw Self.lookupError(found.code, key.count)
  }

  @inline(__always)
  func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntryPointers?
  {
    var entry = StorageEntryPointers()
    var code: Int32
    if let map {
      code = map.seek(table.handle, key, mode, &entry)
      if code == LMDBMapReader.askLMDB { code = pointers.seek(table.handle, key, mode, &entry) }
    } else {
      code =
        keepsPlaces ? placedSeek(table, key, mode, &entry) : pointers.seek(table.handle, key, mode, &entry)
      if code == 0, UInt(bitPattern: entry.key.baseAddress) >> 12 != lastPage { noteSeek(table, entry) }
    }
    if code == 0 { return entry }
    if code == LMDBPointerReader.notFound { return nil }
    throw Self.lookupError(code, key.count)
  }

  @inline(__always)
  func scan(
    _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    guard let map else { return try scanByCursor(table, from: key, before: end, body) }
    var scan = map.scan(table.handle, from: key, before: end)
    while scan.next() {
      if try !body(RawSpan(_unsafeBytes: scan.entry.key), RawSpan(_unsafeBytes: scan.entry.value)) { return }
    }
    if scan.code == LMDBPointerReader.notFound { return }
    let last = scan.entry.key
    try scanByCursor(table, from: last.isEmpty ? key : last, isBehind: !last.isEmpty, before: end, body)
  }

  /// - Parameter isBehind: whether the entry of `key` itself is omitted.
  private func scanByCursor(
    _ table: StorageTable, from key: UnsafeRawBufferPointer, isBehind: Bool = false,
    before end: UnsafeRawBufferPointer,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    var entry = StorageEntryPointers()
    var code: Int32 = 0
    guard let cursor = pointers.openCursor(table.handle, from: key, &entry, &code) else {
      throw Self.lookupError(code, key.count)
    }
    defer { LMDBPointerReader.close(cursor) }
    if isBehind, code == 0, entry.key.elementsEqual(key) { code = LMDBPointerReader.step(cursor, &entry) }
    var page: UInt = 0
    var leavesToRequest: Int32 = 0
    if code == 0 {
      page = UInt(bitPattern: entry.key.baseAddress) >> 12
      noteSeek(table, entry)
    }
    while code == 0 {
      let (key, value) = (entry.key, entry.value)
      if UInt(bitPattern: key.baseAddress) >> 12 != page {
        page = UInt(bitPattern: key.baseAddress) >> 12
        leavesToRequest &-= 1
        if leavesToRequest < 0 { leavesToRequest = noteScan(table, key, before: end) }
      }
      // One ahead, so that the next entry is loaded while this one is processed.
      code = LMDBPointerReader.step(cursor, &entry)
      if code == 0 { entry.prefetch() }
      if try !body(RawSpan(_unsafeBytes: key), RawSpan(_unsafeBytes: value)) { return }
    }
    if code != LMDBPointerReader.notFound { throw Self.lookupError(code, key.count) }
  }

  @inline(__always)
  func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
    guard let writer, writer.pointee.succeedsInWriting(table.handle, key, value, isAppend: false) else {
      throw changeError()
    }
  }

  @inline(__always)
  func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
  {
    guard let writer, writer.pointee.succeedsInWriting(table.handle, key, value, isAppend: true) else {
      throw changeError()
    }
  }

  func appendRun(_ table: StorageTable, _ entries: UnsafeBufferPointer<StorageEntryPointers>) throws(StoreError) {
    guard let writer, writer.pointee.succeedsInAppending(table.handle, entries) else { throw changeError() }
  }

  /// The number of entries that memory loads in parallel. A write transaction reads without the map.
  func prefetchWindow(isAscending: Bool) -> Int { map == nil || isAscending ? 0 : 16 }

  func prefetch(_ table: StorageTable, _ keys: UnsafeRawBufferPointer, stride: Int, _ mode: StorageSeek?) {
    guard let map, mode == nil else { return }
    map.requestLeaves(table.handle, keys, stride: stride)
    // All leaves first, so that memory loads them in parallel; then the entries, which the leaves lead to.
    for place in Swift.stride(from: 0, to: keys.count, by: stride) {
      map.fetchLeaf(table.handle, UnsafeRawBufferPointer(rebasing: keys[place..<place + stride]))
    }
    for place in Swift.stride(from: 0, to: keys.count, by: stride) {
      map.fetchEntry(table.handle, UnsafeRawBufferPointer(rebasing: keys[place..<place + stride]))
    }
  }

  func retainCursors(in tables: [StorageTable]) {
    keepsPlaces = !tables.isEmpty
    writer?.pointee.retainCursors(in: tables.map(\.handle))
  }

  @inline(never)
  private func noteRead(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ found: LMDBValuePointer) {
    lastPage = UInt(bitPattern: found.base) >> 12
    readAhead?.noteRead(table.handle, key, found.base, byteCount: found.count)
  }

  @inline(never)
  private func noteSeek(_ table: StorageTable, _ entry: StorageEntryPointers) {
    guard let base = entry.key.baseAddress else { return }
    lastPage = UInt(bitPattern: base) >> 12
    readAhead?.noteRead(table.handle, entry.key, base, byteCount: 0)
  }

  @inline(never)
  private func noteScan(
    _ table: StorageTable, _ key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer
  ) -> Int32 {
    readAhead?.noteScan(table.handle, key, before: end) ?? .max
  }

  @inline(never)
  private func placedValue(_ table: StorageTable, _ key: UnsafeRawBufferPointer) -> LMDBValuePointer {
    writer?.pointee.placedValue(table.handle, key) ?? pointers.value(table.handle, key)
  }

  @inline(never)
  private func placedSeek(
    _ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek, _ entry: inout StorageEntryPointers
  ) -> Int32 {
    writer?.pointee.placedSeek(table.handle, key, mode, &entry)
      ?? pointers.seek(table.handle, key, mode, &entry)
  }

  @inline(__always)
  func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    guard let writer else { throw changeError() }
    do throws(LMDBError) {
      return try writer.pointee.delete(LMDBTable(dbi: table.handle), RawSpan(_unsafeBytes: key))
    } catch {
      hasFailed = true
      throw StoreError(error)
    }
  }

  func makeTables(_ tables: [TableCode]) throws(StoreError) -> [StorageTable] {
    guard let writer else { throw changeError() }
    do throws(LMDBError) {
      let made = try writer.pointee.makeTables(tables.map { $0.name ?? "" })
      return zip(tables, made).map { StorageTable(code: $0, handle: $1.dbi) }
    } catch {
      hasFailed = true
      throw StoreError(error)
    }
  }

  func entryCount(_ table: StorageTable) throws(StoreError) -> UInt64 {
    var count: UInt64 = 0
    let code = pointers.countEntries(table.handle, &count)
    if code != 0 { throw Self.lookupError(code, 1) }
    return count
  }

  var space: (any TransactionSpace)? { self }

  func sizes(_ tables: [StorageTable]) throws(StoreError) -> StorageSizes {
    var found: [TreeSizes] = []
    for handle in tables.map(\.handle) + [LMDBPointerReader.tableList, LMDBPointerReader.freeList] {
      var code: Int32 = 0
      guard let sizes = pointers.statistics(handle, &code) else { throw Self.lookupError(code, 1) }
      found.append(sizes)
    }
    var freed: [(commit: UInt64, pages: Int)] = []
    if writer == nil {
      var code: Int32 = 0
      freed = pointers.freedPages(&code)
      if code != 0 { throw Self.lookupError(code, 1) }
    }
    return StorageSizes(
      tables: Array(found.dropLast(2)), own: found.suffix(2), freed: freed.map { ($0.commit, $0.pages) })
  }

  func growth() throws(StoreError) -> StorageGrowth? {
    writer?.pointee.growth
  }

  func markDeleteOnly() { writer?.pointee.markDeleteOnly() }

  func refuseGrowth() { writer?.pointee.refuseGrowth() }

  func checkCommitRoom() throws(StoreError) {
    guard let writer else { return }
    try storeErrors { () throws(LMDBError) in try writer.pointee.checkCommitRoom() }
  }

  func commit() throws(StoreError) {
    do throws(LMDBError) { try writer?.pointee.commitInPlace() } catch { throw StoreError(error) }
  }

  func abort() {}

  func facts() throws(StoreError) -> StorageFacts? {
    guard let writer else { return nil }
    return try storeErrors { () throws(LMDBError) in
      let facts = try writer.pointee.facts()
      return StorageFacts(facts.info, facts.room)
    }
  }

  func makeRoom(for byteCount: UInt64) throws(StoreError) {
    guard let writer else { return }
    try storeErrors { () throws(LMDBError) in try writer.pointee.makeRoom(for: byteCount) }
  }

  /// Returns the error of a failed change: the reason of the first failure, then that the transaction is abort-only.
  @inline(never)
  private func changeError() -> StoreError {
    guard let writer else { return StoreError(.readOnly, "a read transaction cannot write; use ObjectStore.write") }
    defer { hasFailed = true }
    if !hasFailed, let failure = writer.pointee.failure { return StoreError(failure) }
    return StoreError(LMDBError.transactionFailed)
  }

  @inline(never)
  private static func lookupError(_ code: Int32, _ keyLength: Int) -> StoreError {
    StoreError(LMDBPointerReader.error(code, keyLength: keyLength))
  }
}

extension StorageFacts {
  fileprivate init(_ info: LMDBInfo, _ room: LMDBRoom) {
    func unlessUnknown(_ byteCount: Int) -> UInt64 { byteCount == .max ? .max : UInt64(byteCount) }
    self.init(
      fileBytes: UInt64(info.fileSize), pageCount: info.lastPage + 1, pageSize: LMDBLimits.pageSize,
      freeMapBytes: UInt64(room.freeMapBytes), freeDiskBytes: unlessUnknown(room.freeDiskBytes),
      mapBytes: UInt64(info.mapSize))
  }
}
