#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// What one check has found so far.
///
/// Its sets are as large as the damage, which `maximumIssues` bounds; only the blobs' counts grow with the store.
final class CheckRun {
  let schema: Schema
  let options: CheckOptions
  private(set) var damages: [IntegrityIssue] = []
  /// Objects whose record cannot be read. Nothing is said about what follows from that.
  private var unreadable: Set<ObjectID> = []
  /// What damaged pages hide. Nothing is said about what follows from that either.
  private(set) var lost = LostKeys()
  /// The file by itself, where that is what is read.
  private(set) var pages: PageFileBackend?
  /// Tables that have neither objects nor anything that belongs to one: history, snapshots, operations.
  private(set) var historyTables: [StorageTable] = []
  /// Lists that are damaged, as their owners have them.
  private var brokenLists: Set<ListAddress> = []
  /// Layouts that do not fit their entity; to read a record by one could trap.
  var badLayouts: Set<UInt16> = []
  var objectCount = 0
  /// The store's identity, where it was known before.
  var expectedUUID: UUID?
  /// Blobs that uploads have under way, with the uploads' bytes; those that the blobs' descriptions confirm are taken out.
  var staged: [UInt64: UInt64] = [:]
  /// Whether a newer library wrote the file, which this one may read.
  var isNewerFormat = false
  /// Whether derived attributes are maintained, and can be held against what they are derived from.
  var checksDerived = false
  /// The commit counter; nil where it cannot be read.
  var commit: UInt64?
  /// The entries that objects have to have in indexes, and those that are there.
  var indexEntries = Balance()
  /// Fields of readable records that name a blob, by the blob's serial.
  var references = BlobTally()
  /// Large values that no object has any more, and snapshots need.
  var retained = BlobTally()
  /// Property code → name, for what no entity of the model has any more.
  let propertyNames: [UInt16: String]
  /// Codes of hidden lists of referrers.
  private let referrers: Set<UInt16>
  /// Damages of large values, by serial: whose values they are is looked up at the end.
  private var damagedBlobs: [UInt64: [Int]] = [:]

  init(schema: Schema, options: CheckOptions) {
    self.schema = schema
    self.options = options
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

  /// Notes what is read, and what of it cannot be.
  func begin(_ historyTables: [StorageTable], _ pages: PageFileBackend? = nil, lost: LostKeys = LostKeys()) {
    self.historyTables = historyTables
    self.pages = pages
    self.lost = lost
  }

  /// Whether nothing was found so far, and nothing is hidden.
  var isClean: Bool { damages.isEmpty && lost.isEmpty }

  /// Whether there is no need to look on.
  var isFull: Bool { damages.count >= max(1, options.maximumIssues) }

  func report(pageCount: Int, isTruncated: Bool = false) -> CheckReport {
    CheckReport(
      objectCount: objectCount, pageCount: pageCount, issues: damages, isTruncated: isTruncated || isFull)
  }

  /// - Parameter isDerived: of kinds that may be about what objects are made of: whether it is about what follows from them.
  func report(
    _ kind: IntegrityIssue.Kind, object: String? = nil, property: String? = nil, page: Int? = nil,
    isDerived: Bool = false,
    _ message: @autoclosure () -> String
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
        kind: kind, object: object, property: property, page: page, message: message(),
        isDerived: isDerived))
  }

  func report(
    _ kind: IntegrityIssue.Kind, _ id: ObjectID, _ entity: CompiledEntity, property: String? = nil, page: Int? = nil,
    isDerived: Bool = false, _ message: @autoclosure () -> String
  ) {
    report(
      kind, object: "\(entity.name)/\(id.serial)", property: property, page: page, isDerived: isDerived, message())
  }

  /// The page that has the value of a key.
  func page(_ table: StorageTable, _ key: borrowing RawSpan) -> Int? {
    pages?.page(table, key.withUnsafeBytes { Array($0) })
  }

  /// The page that has an object's record.
  func page(_ id: ObjectID) -> Int? {
    guard let table = schema.objectTable(rootCode: id.rootCode) else { return nil }
    return pages?.page(table, ShortKey.object(id).array)
  }

  /// Codes of the tables that the file has.
  var storedTables: [TableCode] { pages?.tableCodes ?? [] }

  // MARK: Objects

  func reportUnreadable(_ id: ObjectID, page: Int?, _ message: String) {
    guard unreadable.insert(id).inserted else { return }
    report(.record, object: schema.rootName(of: id), page: page, message)
  }

  /// Whether an object may exist that cannot be read.
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
    // The problem names the list by its numbers; here it has a name.
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

  /// Whether lists under a code are hidden ones of referrers, which follow from other objects' relationships.
  func isReferrers(_ code: UInt16) -> Bool { referrers.contains(code) }

  func isBroken(_ list: ListAddress) -> Bool {
    if brokenLists.isEmpty && lost.isEmpty { return false }
    return brokenLists.contains(list) || isLost(list)
  }

  /// Whether a piece of a list may be on a damaged page.
  func isLost(_ list: ListAddress) -> Bool {
    guard !lost.isEmpty else { return false }
    return lost.intersects(
      list.links, prefix: ShortKey.linkPrefix(owner: list.owner, relationship: list.relationship).array)
  }

  // MARK: Large values

  func reportBlob(_ serial: UInt64, page: Int? = nil, _ message: String) {
    guard !isFull else { return }
    damagedBlobs[serial, default: []].append(damages.count)
    report(.blob, page: page, message)
  }

  /// Whether it is unknown of a damaged large value whose it is.
  var seeksReferrers: Bool { !damagedBlobs.isEmpty }

  /// Names the first object that has a damaged large value.
  func noteReferrer(of serial: UInt64, _ id: ObjectID, _ entity: CompiledEntity, property: String?) {
    for index in damagedBlobs.removeValue(forKey: serial) ?? [] {
      damages[index] = IntegrityIssue(
        kind: .blob, object: "\(entity.name)/\(id.serial)", property: property, page: damages[index].page,
        message: damages[index].message)
    }
  }

  /// Runs a step. What cannot be read ends the step and is told; the next one may still find its own pages sound.
  func reading(_ what: @autoclosure () -> String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
    if isFull { return }
    do throws(StoreError) {
      try body()
    } catch {
      guard error.kind == .corrupted else { throw error }
      // The page on which it fell was told by the walk.
      guard lost.isEmpty else { return }
      report(.unreadableTable, "\(what()) could not be read to the end: \(error.message)")
    }
  }
}

/// Counts by blob serial, in blocks, because serials are dense: some 12 bytes a blob, and at most 200 where they are not.
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
