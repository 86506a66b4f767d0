import KVCloneBranches
import KVCloneCore
import KVCloneRecords

/// The branches of a file, and the entries that belong to each.
struct BranchCensus {
  /// The entries of one layer.
  struct Tally: Equatable {
    var entryCount: UInt64 = 0
    var byteCount: UInt64 = 0
    var changedObjectCount: UInt64 = 0
  }

  private(set) var branches: [(name: String, value: BranchValue)] = []
  /// The snapshots by their names, of which branches use some as bases.
  var bases: [String: SnapshotValue] = [:]
  /// Whether every branch and every snapshot was readable.
  var knowsAllBranches = true
  var knowsAllBases = true
  /// The branches, by their numbers and the numbers of their layers.
  private var owners: [UInt32: Int] = [:]
  /// The branches with issues in their own entries, which are not checked further.
  private var broken: Set<String> = []
  /// By layer.
  private(set) var tallies: [UInt32: Tally] = [:]

  mutating func add(_ name: String, _ value: BranchValue) {
    for number in value.numbers { owners[number] = branches.count }
    branches.append((name, value))
  }

  /// The branch that has the entries under a number.
  func owner(of number: UInt32) -> (name: String, value: BranchValue)? { owners[number].map { branches[$0] } }

  mutating func noteBroken(_ name: String) { broken.insert(name) }

  func isBroken(_ name: String) -> Bool { broken.contains(name) }

  mutating func count(_ number: UInt32, _ table: TableCode, byteCount: Int) {
    tallies[number, default: Tally()].entryCount += 1
    tallies[number, default: Tally()].byteCount += UInt64(byteCount)
    if table.rootCode != nil { tallies[number, default: Tally()].changedObjectCount += 1 }
  }

  /// Whether a range of a branch has entries of a table: those of a layer, or those of all layers.
  static func mayHave(_ table: TableCode, _ key: RawSpan, ofAllLayers: Bool) -> Bool {
    if ofAllLayers { return table == .changes || table == .metadata && isEqual(key, MetadataKey.historyKey) }
    if table == .metadata { return isEqual(key, MetadataKey.youngestSnapshotKey) }
    return SnapshotHorizon.isVersioned(table) || table == .preimages || table == .snapshots
  }

  private static func isEqual(_ key: RawSpan, _ name: ShortKey) -> Bool {
    unsafePointers(key).elementsEqual(unsafePointers(name.bytes))
  }

  /// The place of an issue: the same fault of the base and of a branch has the same place.
  static func place(of issue: IntegrityIssue) -> [String] {
    [issue.kind.rawValue, issue.object ?? "", issue.property ?? "", issue.object == nil ? issue.message : ""]
  }
}
