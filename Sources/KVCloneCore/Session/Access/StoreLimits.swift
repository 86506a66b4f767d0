import KVCloneRecords

/// How large a store may become by what somebody writes who opened it with limits.
///
/// A class, so that a session of a store without limits carries no more than a nil.
package final class StoreLimits: Sendable {
  let objectCount: Int?
  package let fileBytes: UInt64?

  /// Nil where there are none.
  init?(_ options: StoreOptions) {
    if options.maximumObjectCount == nil, options.maximumFileBytes == nil { return nil }
    objectCount = options.maximumObjectCount.map { max(0, $0) }
    fileBytes = options.maximumFileBytes
  }

  func tooManyObjects(_ count: Int) -> String {
    "the store would have \(count) objects, and its limit is \(objectCount ?? 0) (StoreOptions.maximumObjectCount); "
      + "delete objects, or raise the limit; nothing was saved"
  }

  func tooManyBytes(_ count: UInt64) -> String {
    "the data file of the store would have \(count) bytes, and its limit is \(fileBytes ?? 0) "
      + "(StoreOptions.maximumFileBytes); delete objects, or raise the limit; nothing was saved"
  }
}

/// Counts are the trees' own, so that nothing is walked through: some nanoseconds a table.
extension Session {
  /// Objects that there are, whatever they are.
  package borrowing func objectCount() throws(StoreError) -> Int {
    var count = 0
    for rootCode in schema.rootCodes {
      guard let table = schema.objectTable(rootCode: rootCode) else { continue }
      count += Int(clamping: try storage.entryCount(table))
    }
    return count
  }

  /// Notes what there is before a write transaction changes it.
  mutating func beginLimits() throws(StoreError) {
    guard limits != nil else { return }
    let objectCount = try objectCount()
    let usedPages = try usedPageCount() ?? 0
    changes.firstObjectCount = objectCount
    changes.firstUsedPages = usedPages
  }

  /// Pages of all trees, where the engine has pages.
  private borrowing func usedPageCount() throws(StoreError) -> Int? {
    guard let sizes = try storage.space()?.sizes(schema.tables.withRedirects) else { return nil }
    return 2 + (sizes.tables + sizes.own).reduce(0) { $0 + $1.pages }
  }

  /// Says of objects that are about to be made that they are too many. What is deleted before, in the same transaction, makes
  /// room.
  mutating func takeObjectRoom(_ count: UInt64) throws(StoreError) {
    guard let limits, let limit = limits.objectCount else { return }
    if changes.objectRoom < count { changes.objectRoom = max(0, limit - (try objectCount())) }
    guard changes.objectRoom >= count else {
      throw StoreError(.limitExceeded, limits.tooManyObjects(try objectCount() + Int(clamping: count)))
    }
    changes.objectRoom -= Int(count)
  }

  /// What keeps a clone of so many objects from being made; nil where nothing does.
  package borrowing func limitError(addingClones count: Int) throws(StoreError) -> CloneError? {
    guard let limits, let limit = limits.objectCount else { return nil }
    let (sum, overflow) = try objectCount().addingReportingOverflow(count)
    let total = overflow ? .max : sum
    return total > limit ? CloneError(.limitExceeded, limits.tooManyObjects(total)) : nil
  }

  /// Says of bytes that are about to be written that the file cannot hold them, where that is certain: even if all that is free in
  /// it were used.
  package borrowing func checkFileLimit(adding byteCount: UInt64) throws(StoreError) {
    guard let limits, let limit = limits.fileBytes, let used = try usedPageCount() else { return }
    let pageSize = UInt64(try storage.space()?.growth()?.pageSize ?? 4096)
    let total = (UInt64(used) * pageSize).saturatingAdd(byteCount)
    if total > limit { throw StoreError(.limitExceeded, limits.tooManyBytes(total)) }
  }

  /// Holds all that the transaction has done against the limits, before it is committed. Whoever makes the store smaller may
  /// commit above them.
  borrowing func checkLimits() throws(StoreError) {
    guard let limits else { return }
    let objectCount = try objectCount()
    if let limit = limits.objectCount, objectCount > limit, objectCount > changes.firstObjectCount {
      throw StoreError(.limitExceeded, limits.tooManyObjects(objectCount))
    }
    guard let limit = limits.fileBytes, let growth = try storage.space()?.growth() else { return }
    // The commit itself takes some pages: a list of what is free, 512 pages a page, and the way to it.
    let pageCount = growth.pageCount + growth.pageCount / 512 + 8
    let byteCount = UInt64(pageCount) * UInt64(growth.pageSize)
    guard growth.pageCount > growth.firstPageCount, byteCount > limit else { return }
    // Fewer objects on as many pages make room, too: it is found when more go.
    let usedPages = try usedPageCount() ?? 0
    if usedPages < changes.firstUsedPages { return }
    if objectCount < changes.firstObjectCount, usedPages == changes.firstUsedPages { return }
    storage.space()?.refuseGrowth()
    throw StoreError(.limitExceeded, limits.tooManyBytes(byteCount))
  }
}

extension SchemaTables {
  /// All tables, in the order of their codes.
  package var withRedirects: [StorageTable] { (all + [redirects]).sorted { $0.code.rawValue < $1.code.rawValue } }
}
