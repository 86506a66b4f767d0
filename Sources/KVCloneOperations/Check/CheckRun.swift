#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The findings of one check so far.
///
/// Its sets grow with the number of issues, which `maximumIssues` bounds; only the reference counts of blobs grow with
/// the store.
final class CheckRun {
  let schema: Schema
  let options: CheckOptions
  private(set) var damages: [IntegrityIssue] = []
  /// Objects with unreadable records. Consequences of that are not reported.
  private var unreadable: Set<ObjectID> = []
  /// Keys that corrupted pages hide. Consequences of that are not reported either.
  private(set) var lost = LostKeys()
  /// The file, if it is read directly.
  private(set) var pages: PageFileBackend?
  /// Tables with neither objects nor their data: history, snapshots, operations.
  private(set) var historyTables: [StorageTable] = []
  /// The tables of branches; nil if the store never had one.
  private(set) var branchTables: BranchTables?
  /// The branches, and what the check of their tables has found.
  var branches = BranchCensus()
  /// Whether a branch is checked, which shares uploads and most metadata with its store.
  let isOnBranch: Bool
  /// Corrupted lists, as their owners have them.
  private var brokenLists: Set<ListAddress> = []
  /// Layouts that do not match their entity; reading a record by one could trap.
  var badLayouts: Set<UInt16> = []
  private(set) var objectCount = 0
  /// The store's UUID, if it was known before.
  var expectedUUID: UUID?
  /// The blobs of uploads in progress, with the uploads' bytes; those that the blobs' descriptions confirm are removed.
  var staged: [UInt64: UInt64] = [:]
  /// Whether a newer library wrote the file in a format that this one may read.
  var isNewerFormat = false
  /// Whether derived attributes are maintained, and can be compared with their sources.
  var checksDerived = false
  /// The commit counter; nil if unreadable.
  var commit: UInt64?
  /// The required index entries, and the existing ones.
  var indexEntries = Balance()
  /// The number of fields in readable records that reference a blob, by serial.
  var references = BlobTally()
  /// The blobs without an object that snapshots need.
  var retained = BlobTally()
  /// Property code → name, for properties that the model no longer has.
  let propertyNames: [UInt16: String]
  /// The codes of hidden referrer lists.
  private let referrers: Set<UInt16>
  /// Corrupted blobs, by serial: their owners are looked up at the end.
  private var damagedBlobs: [UInt64: [Int]] = [:]
  private let progress: (@Sendable (OperationProgress) -> Void)?
  private let cancellation: Cancellation?

  init(
    schema: Schema, options: CheckOptions, progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation? = nil
  ) {
    self.schema = schema
    self.options = options
    self.progress = progress
    self.cancellation = cancellation
    isOnBranch = false
    var names: [UInt16: String] = [:]
    for codes in [schema.codes.properties, schema.codes.referrers] {
      for properties in codes.values {
        for (name, code) in properties { names[code] = name }
      }
    }
    for (code, name) in schema.codes.former?.properties ?? [:] {
      if let code = UInt16(code) { names[code] = name }
    }
    propertyNames = names
    referrers = Set(schema.codes.referrers.values.flatMap(\.values))
  }

  /// Begins the check of a branch, which does not report the consequences of the store's own issues.
  init(ofBranchOf store: CheckRun) {
    schema = store.schema
    options = CheckOptions(
      readData: store.options.readData, maximumIssues: store.options.maximumIssues - store.damages.count)
    // The progress counts the store's objects.
    (progress, cancellation) = (nil, store.cancellation)
    isOnBranch = true
    propertyNames = store.propertyNames
    referrers = store.referrers
    historyTables = store.historyTables.filter { $0.code != .operations && $0.code != .redirects }
    (pages, lost) = (store.pages, store.lost)
    (unreadable, brokenLists, badLayouts) = (store.unreadable, store.brokenLists, store.badLayouts)
    (checksDerived, commit) = (store.checksDerived, store.commit)
  }

  /// Takes the issues of a branch, without those that the store has, too.
  func take(_ run: CheckRun, ofBranch name: String) {
    let known = Set(damages.map { BranchCensus.place(of: $0) })
    for issue in run.damages where !known.contains(BranchCensus.place(of: issue)) {
      damages.append(
        IntegrityIssue(
          kind: issue.kind, object: issue.object, property: issue.property, page: issue.page,
          message: "on the branch \(name): \(issue.message)", isDerived: issue.isDerived, branch: name))
    }
  }

  /// Sets what is read, and which parts are unreadable.
  func begin(
    _ historyTables: [StorageTable], _ branchTables: BranchTables? = nil, _ pages: PageFileBackend? = nil,
    lost: LostKeys = LostKeys()
  ) {
    self.historyTables = historyTables
    self.branchTables = branchTables
    self.pages = pages
    self.lost = lost
  }

  /// Whether nothing was found so far, and nothing is hidden.
  var isClean: Bool { damages.isEmpty && lost.isEmpty && unreadable.isEmpty }

  /// Whether the check ends: the maximum number of issues is reached, or it was cancelled.
  var isFull: Bool { damages.count >= max(1, options.maximumIssues) || cancellation?.isCancelled == true }

  func report(pageCount: Int, isTruncated: Bool = false) -> CheckReport {
    CheckReport(
      objectCount: objectCount, pageCount: pageCount, issues: damages, isTruncated: isTruncated || isFull)
  }

  /// - Parameter isDerived: for kinds with either subject: whether the issue concerns derived data.
  func report(
    _ kind: IntegrityIssue.Kind, object: String? = nil, property: String? = nil, page: Int? = nil,
    isDerived: Bool = false, branch: String? = nil, _ message: @autoclosure () -> String
  ) {
    guard !isFull else { return }
    let isDerived =
      switch kind.subject {
      case .derived: true
      case .primary: false
      case .either: isDerived
      }
    damages.append(
      IntegrityIssue(
        kind: kind, object: object, property: property, page: page, message: message(), isDerived: isDerived,
        branch: branch))
  }

  func report(
    _ kind: IntegrityIssue.Kind, _ id: ObjectID, _ entity: CompiledEntity, property: String? = nil, page: Int? = nil,
    isDerived: Bool = false, _ message: @autoclosure () -> String
  ) {
    report(
      kind, object: "\(entity.name)/\(id.serial)", property: property, page: page, isDerived: isDerived, message())
  }

  /// The page with the value of a key.
  func page(_ table: StorageTable, _ key: borrowing RawSpan) -> Int? {
    pages?.page(table, key.withUnsafeBytes { Array($0) })
  }

  /// The page with an object's record.
  func page(_ id: ObjectID) -> Int? {
    guard let table = schema.objectTable(rootCode: id.rootCode) else { return nil }
    return pages?.page(table, ShortKey.object(id).array)
  }

  /// Codes of the tables in the file.
  var storedTables: [TableCode] { pages?.tableCodes ?? [] }

  // MARK: Objects

  /// Counts an object that is about to be checked.
  func noteObject() {
    objectCount += 1
    if objectCount.isMultiple(of: 1024) { progress?(OperationProgress(phase: .objects, completed: objectCount)) }
  }

  func reportUnreadable(_ id: ObjectID, page: Int?, _ message: String) {
    guard unreadable.insert(id).inserted else { return }
    report(.record, object: schema.rootName(of: id), page: page, message)
  }

  /// Whether an object may exist that is unreadable.
  @inline(__always)
  func isUnreadable(_ id: ObjectID) -> Bool {
    if unreadable.isEmpty && lost.isEmpty { return false }
    return unreadable.contains(id) || isLost(id)
  }

  private func isLost(_ id: ObjectID) -> Bool {
    guard !lost.isEmpty, let table = schema.objectTable(rootCode: id.rootCode) else { return false }
    return lost.contains(table, ShortKey.object(id).array)
  }

  /// Whether every object can be read.
  var readsAllObjects: Bool { unreadable.isEmpty && !lost.anyObject }

  // MARK: Lists

  func reportList(_ list: ListAddress, _ entity: CompiledEntity, _ problem: ListProblem) {
    brokenLists.insert(list)
    // The problem identifies the list by its numbers; here it has a name.
    let prefix = "list \(list.relationship) of object \(list.owner)"
    var text = problem.message[...]
    if text.hasPrefix(prefix + ": ") {
      text = text.dropFirst(prefix.count + 2)
    } else if text.hasPrefix(prefix + " ") {
      text = "the list" + text.dropFirst(prefix.count)
    }
    let page = problem.key.flatMap { pages?.page(list.links, $0.array) }
    report(
      .list, list.owner, entity, property: propertyNames[list.relationship], page: page,
      isDerived: isReferrers(list.relationship), String(text))
  }

  /// Whether lists with a code are hidden referrer lists, which are derived from other objects' relationships.
  func isReferrers(_ code: UInt16) -> Bool { referrers.contains(code) }

  func isBroken(_ list: ListAddress) -> Bool {
    if brokenLists.isEmpty && lost.isEmpty { return false }
    return brokenLists.contains(list) || isLost(list)
  }

  /// Whether a chunk of a list may be on a corrupted page.
  func isLost(_ list: ListAddress) -> Bool {
    guard !lost.isEmpty else { return false }
    return lost.intersects(
      list.links, prefix: ShortKey.linkPrefix(owner: list.owner, relationship: list.relationship).array)
  }

  // MARK: Blobs

  func reportBlob(_ serial: UInt64, page: Int? = nil, _ message: String) {
    guard !isFull else { return }
    damagedBlobs[serial, default: []].append(damages.count)
    report(.blob, page: page, message)
  }

  /// Whether the owner of a corrupted blob is unknown.
  var seeksReferrers: Bool { !damagedBlobs.isEmpty }

  /// Records the first object that references a corrupted blob.
  func noteReferrer(of serial: UInt64, _ id: ObjectID, _ entity: CompiledEntity, property: String?) {
    for index in damagedBlobs.removeValue(forKey: serial) ?? [] {
      damages[index] = IntegrityIssue(
        kind: .blob, object: "\(entity.name)/\(id.serial)", property: property, page: damages[index].page,
        message: damages[index].message)
    }
  }

  /// Runs a step. A read error ends the step and is reported; the next one may still find its own pages sound.
  func reading(_ what: @autoclosure () -> String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
    if isFull { return }
    do throws(StoreError) {
      try body()
    } catch {
      guard error.kind == .corrupted else { throw error }
      // The walk has reported the page.
      guard lost.isEmpty else { return }
      report(.unreadableTable, "\(what()) could not be read to the end: \(error.message)")
    }
  }
}

/// Counts by blob serial, in blocks, because serials are dense: some 12 bytes a blob, and at most 200 if they are not.
struct BlobTally {
  private static let blockShift: UInt64 = 4
  private var blocks: [UInt64: [UInt64]] = [:]

  mutating func add(_ serial: UInt64) {
    let index = Int(serial & (1 << Self.blockShift - 1))
    blocks[serial >> Self.blockShift, default: Array(repeating: 0, count: 1 << Self.blockShift)][index] += 1
  }

  func count(_ serial: UInt64) -> UInt64 {
    blocks[serial >> Self.blockShift]?[Int(serial & (1 << Self.blockShift - 1))] ?? 0
  }
}
