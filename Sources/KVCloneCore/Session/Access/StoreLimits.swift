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
extension StoreLimits {
  /// Objects that there are, whatever they are.
  package static func objectCount(in session: borrowing Session) throws(StoreError) -> Int {
    var count = 0
    for rootCode in session.schema.rootCodes {
      guard let table = session.schema.objectTable(rootCode: rootCode) else { continue }
      count += Int(clamping: try session.storage.entryCount(table))
    }
    return count
  }

  /// Notes what there is before a write transaction changes it.
  static func begin(in session: inout Session) throws(StoreError) {
    guard session.limits != nil else { return }
    let objectCount = try objectCount(in: session)
    let usedPages = try usedPageCount(in: session) ?? 0
    session.changes.firstObjectCount = objectCount
    session.changes.firstUsedPages = usedPages
  }

  /// Pages of all trees, where the engine has pages.
  private static func usedPageCount(in session: borrowing Session) throws(StoreError) -> Int? {
    guard let sizes = try session.storage.space()?.sizes(session.schema.tables.withRedirects) else { return nil }
    return 2 + (sizes.tables + sizes.own).reduce(0) { $0 + $1.pages }
  }

  /// Says of objects that are about to be made that they are too many. What is deleted before, in the same transaction, makes
  /// room.
  static func takeObjectRoom(_ count: UInt64, in session: inout Session) throws(StoreError) {
    guard let limits = session.limits, let limit = limits.objectCount else { return }
    if session.changes.objectRoom < count {
      session.changes.objectRoom = max(0, limit - (try objectCount(in: session)))
    }
    guard session.changes.objectRoom >= count else {
      throw StoreError(.limitExceeded, limits.tooManyObjects(try objectCount(in: session) + Int(clamping: count)))
    }
    session.changes.objectRoom -= Int(count)
  }

  /// What keeps a clone of so many objects from being made; nil where nothing does.
  package static func error(addingClones count: Int, in session: borrowing Session) throws(StoreError) -> CloneError? {
    guard let limits = session.limits, let limit = limits.objectCount else { return nil }
    let (sum, overflow) = try objectCount(in: session).addingReportingOverflow(count)
    let total = overflow ? .max : sum
    return total > limit ? CloneError(.limitExceeded, limits.tooManyObjects(total)) : nil
  }

  /// Says of bytes that are about to be written that the file cannot hold them, where that is certain: even if all that is free in
  /// it were used.
  package static func checkFileLimit(adding byteCount: UInt64, in session: borrowing Session) throws(StoreError) {
    guard let limits = session.limits, let limit = limits.fileBytes, let used = try usedPageCount(in: session) else {
      return
    }
    let pageSize = UInt64(try session.storage.space()?.growth()?.pageSize ?? 4096)
    let total = (UInt64(used) * pageSize).saturatingAdd(byteCount)
    if total > limit { throw StoreError(.limitExceeded, limits.tooManyBytes(total)) }
  }

  /// Holds all that the transaction has done against the limits, before it is committed. Whoever makes the store smaller may
  /// commit above them.
  static func check(in session: borrowing Session) throws(StoreError) {
    guard let limits = session.limits else { return }
    let objectCount = try objectCount(in: session)
    if let limit = limits.objectCount, objectCount > limit, objectCount > session.changes.firstObjectCount {
      throw StoreError(.limitExceeded, limits.tooManyObjects(objectCount))
    }
    guard let limit = limits.fileBytes, let growth = try session.storage.space()?.growth() else { return }
    // The commit itself takes some pages: a list of what is free, 512 pages a page, and the way to it.
    let pageCount = growth.pageCount + growth.pageCount / 512 + 8
    let byteCount = UInt64(pageCount) * UInt64(growth.pageSize)
    guard growth.pageCount > growth.firstPageCount, byteCount > limit else { return }
    // Fewer objects on as many pages make room, too: it is found when more go.
    let usedPages = try usedPageCount(in: session) ?? 0
    if usedPages < session.changes.firstUsedPages { return }
    if objectCount < session.changes.firstObjectCount, usedPages == session.changes.firstUsedPages { return }
    session.storage.space()?.refuseGrowth()
    throw StoreError(.limitExceeded, limits.tooManyBytes(byteCount))
  }
}

extension SchemaTables {
  /// All tables, in the order of their codes.
  package var withRedirects: [StorageTable] { (all + [redirects]).sorted { $0.code.rawValue < $1.code.rawValue } }
}
