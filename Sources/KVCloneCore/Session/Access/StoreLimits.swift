import KVCloneRecords

/// The size limits of a store, for writes of the process that opened it with them.
///
/// A class, so that a session of a store without limits only has a nil.
package final class StoreLimits: Sendable {
  /// The use of the limits by one write transaction.
  struct Use {
    /// The number of objects that may be inserted before the limit has to be checked again.
    var objectRoom = 0
    /// The numbers of objects and used pages when the transaction began.
    var firstObjectCount = 0
    var firstUsedPages = 0
  }

  let objectCount: Int?
  package let fileBytes: UInt64?

  /// Returns nil if no limits are set.
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

/// Checks of the limits. Counts are those of the B+trees, so nothing is scanned: a few nanoseconds per table.
extension StoreLimits {
  /// Returns the number of objects of all entities.
  package static func objectCount(in session: borrowing Session) throws(StoreError) -> Int {
    var count = 0
    for rootCode in session.schema.rootCodes {
      guard let table = session.schema.objectTable(rootCode: rootCode) else { continue }
      count += Int(clamping: try session.storage.entryCount(table))
    }
    return count
  }

  /// Records the size of the store before a write transaction changes it.
  static func begin(in session: inout Session) throws(StoreError) {
    guard session.limits != nil else { return }
    let objectCount = try objectCount(in: session)
    let usedPages = try usedPageCount(in: session) ?? 0
    session.state.limitUse.firstObjectCount = objectCount
    session.state.limitUse.firstUsedPages = usedPages
  }

  /// Returns the number of pages of all B+trees, if the engine has pages.
  private static func usedPageCount(in session: borrowing Session) throws(StoreError) -> Int? {
    guard let space = session.storage.space() else { return nil }
    var tables = session.schema.tables.withRedirects
    // A read transaction cannot open them, and counts fewer pages.
    if try BlobDescriptions.hasLayers(session.schema.tables, in: session.storage),
      let branches = try? session.storage.backend.makeTables(TableCode.ofBranches)
    {
      tables += branches
    }
    let sizes = try space.sizes(tables)
    return 2 + (sizes.tables + sizes.own).reduce(0) { $0 + $1.pages }
  }

  /// Throws if the objects to insert exceed the limit. Earlier deletions of the same transaction free space for them.
  static func takeObjectRoom(_ count: UInt64, in session: inout Session) throws(StoreError) {
    guard let limits = session.limits, let limit = limits.objectCount else { return }
    if session.state.limitUse.objectRoom < count {
      session.state.limitUse.objectRoom = max(0, limit - (try objectCount(in: session)))
    }
    guard session.state.limitUse.objectRoom >= count else {
      throw StoreError(.limitExceeded, limits.tooManyObjects(try objectCount(in: session) + Int(clamping: count)))
    }
    session.state.limitUse.objectRoom -= Int(count)
  }

  /// Returns the error that prevents a clone of this many objects; nil if the limits allow it.
  package static func error(addingClones count: Int, in session: borrowing Session) throws(StoreError) -> CloneError? {
    guard let limits = session.limits, let limit = limits.objectCount else { return nil }
    let (sum, overflow) = try objectCount(in: session).addingReportingOverflow(count)
    let total = overflow ? .max : sum
    return total > limit ? CloneError(.limitExceeded, limits.tooManyObjects(total)) : nil
  }

  /// Throws if the file certainly cannot hold the bytes to write, even if all free space in it were used.
  package static func checkFileLimit(adding byteCount: UInt64, in session: borrowing Session) throws(StoreError) {
    guard let limits = session.limits, let limit = limits.fileBytes, let used = try usedPageCount(in: session) else {
      return
    }
    let pageSize = UInt64(try session.storage.space()?.growth()?.pageSize ?? 4096)
    let total = (UInt64(used) * pageSize).saturatingAdd(byteCount)
    if total > limit { throw StoreError(.limitExceeded, limits.tooManyBytes(total)) }
  }

  /// Checks all changes of the transaction against the limits, before the commit. A commit that shrinks the store is
  /// allowed above them.
  package static func check(in session: borrowing Session) throws(StoreError) {
    guard let limits = session.limits else { return }
    let objectCount = try objectCount(in: session)
    if let limit = limits.objectCount, objectCount > limit, objectCount > session.state.limitUse.firstObjectCount {
      throw StoreError(.limitExceeded, limits.tooManyObjects(objectCount))
    }
    guard let limit = limits.fileBytes, let growth = try session.storage.space()?.growth() else { return }
    // The commit itself needs some pages: the free list, with 512 pages per page, and the path to it.
    let pageCount = growth.pageCount + growth.pageCount / 512 + 8
    let byteCount = UInt64(pageCount) * UInt64(growth.pageSize)
    guard growth.pageCount > growth.firstPageCount, byteCount > limit else { return }
    // Fewer objects on as many pages also free space, which later deletions make available.
    let usedPages = try usedPageCount(in: session) ?? 0
    if usedPages < session.state.limitUse.firstUsedPages { return }
    if objectCount < session.state.limitUse.firstObjectCount, usedPages == session.state.limitUse.firstUsedPages {
      return
    }
    session.storage.space()?.refuseGrowth()
    throw StoreError(.limitExceeded, limits.tooManyBytes(byteCount))
  }
}

extension SchemaTables {
  /// All tables, in the order of their codes.
  package var withRedirects: [StorageTable] { (all + [redirects]).sorted { $0.code.rawValue < $1.code.rawValue } }
}
