import KVCloneModel
import KVCloneRecords

/// What one check has found so far.
///
/// Its sets are as large as the damage, which `maximumDamages` bounds; only the blobs' counts grow with the store.
final class CheckRun {
  let schema: Schema
  let options: CheckOptions
  private(set) var damages: [Damage] = []
  /// Objects whose record cannot be read. Nothing is said about what follows from that.
  private(set) var unreadable: Set<ObjectID> = []
  /// Lists that are damaged, as their owners have them.
  private var brokenLists: Set<ListAddress> = []
  /// Layouts that do not fit their entity; to read a record by one could trap.
  var badLayouts: Set<UInt16> = []
  var objectCount = 0
  /// The commit counter; nil where it cannot be read.
  var commit: UInt64?
  /// Fields of readable records that name a blob, by the blob's serial.
  var references = BlobTally()
  /// Property code → name, for what no entity of the model has any more.
  let propertyNames: [UInt16: String]
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
    propertyNames = names
  }

  /// Whether there is no need to look on.
  var isFull: Bool { damages.count >= max(1, options.maximumDamages) }

  func report(
    _ kind: Damage.Kind, object: String? = nil, property: String? = nil, _ message: @autoclosure () -> String
  ) {
    guard !isFull else { return }
    damages.append(Damage(kind: kind, object: object, property: property, page: nil, message: message()))
  }

  func report(
    _ kind: Damage.Kind, _ id: ObjectID, _ entity: CompiledEntity, property: String? = nil,
    _ message: @autoclosure () -> String
  ) {
    report(kind, object: "\(entity.name)/\(id.serial)", property: property, message())
  }

  func reportUnreadable(_ id: ObjectID, _ message: String) {
    guard unreadable.insert(id).inserted else { return }
    report(.record, object: schema.rootName(of: id), message)
  }

  func reportList(_ list: ListAddress, _ entity: CompiledEntity, _ problem: String) {
    brokenLists.insert(list)
    // The problem names the list by its numbers; here it has a name.
    let prefix = "list \(list.relationship) of object \(list.owner)"
    var text = problem[...]
    if text.hasPrefix(prefix + ": ") {
      text = text.dropFirst(prefix.count + 2)
    } else if text.hasPrefix(prefix + " ") {
      text = "the list" + text.dropFirst(prefix.count)
    }
    report(.list, list.owner, entity, property: propertyNames[list.relationship], String(text))
  }

  func reportBlob(_ serial: UInt64, _ message: String) {
    guard !isFull else { return }
    damagedBlobs[serial, default: []].append(damages.count)
    report(.blob, message)
  }

  /// Whether it is unknown of a damaged large value whose it is.
  var seeksReferrers: Bool { !damagedBlobs.isEmpty }

  /// Names the first object that has a damaged large value.
  func noteReferrer(of serial: UInt64, _ id: ObjectID, _ entity: CompiledEntity, property: String?) {
    for index in damagedBlobs.removeValue(forKey: serial) ?? [] {
      damages[index] = Damage(
        kind: .blob, object: "\(entity.name)/\(id.serial)", property: property, page: nil,
        message: damages[index].message)
    }
  }

  func isBroken(_ list: ListAddress) -> Bool { !brokenLists.isEmpty && brokenLists.contains(list) }

  /// Runs a step. What LMDB cannot read ends the step and is told; the next one may still find its own pages sound.
  func reading(_ what: @autoclosure () -> String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
    if isFull { return }
    do throws(StoreError) {
      try body()
    } catch {
      guard error.kind == .damaged else { throw error }
      report(.unreadableTable, "\(what()) could not be read to the end: \(error.message)")
    }
  }
}

/// Counts by blob serial, in blocks, because serials are dense: 8 bytes a blob.
struct BlobTally {
  private static let blockShift: UInt64 = 7
  private var blocks: [UInt64: [UInt64]] = [:]

  mutating func add(_ serial: UInt64) {
    let index = Int(serial & (1 << Self.blockShift - 1))
    blocks[serial >> Self.blockShift, default: Array(repeating: 0, count: 1 << Self.blockShift)][index] += 1
  }

  func count(_ serial: UInt64) -> UInt64 {
    blocks[serial >> Self.blockShift]?[Int(serial & (1 << Self.blockShift - 1))] ?? 0
  }
}

extension Session {
  /// Visits a table's entries, until `body` answers false; those with keys of a wrong form too.
  borrowing func forEachEntry(
    _ table: StorageTable, _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    // The least key that a table can have.
    let first: [UInt8] = [0]
    try storage.scan(table, from: first.span.bytes, body)
  }

  /// Whether a table has an entry.
  borrowing func has(_ table: StorageTable, _ key: [UInt8]) throws(StoreError) -> Bool {
    try storage.get(table, key.span.bytes) != nil
  }
}
