import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// What one salvage has found so far. Besides what the report describes, it remembers a bit for each object that was found beside the
/// trees, and lists that have lost pieces.
final class SalvageRun {
  let options: SalvageOptions
  let steps: BackupRun
  var report = SalvageReport()
  /// Objects that were found beside the trees, where stale pages cannot be told from others.
  private(set) var doubtful = ObjectSet()
  /// Owners of lists of which pieces were found so.
  private(set) var doubtfulOwners = ObjectSet()
  /// Lists of which pieces are lost: their members are looked for on the other side.
  private(set) var brokenLists: [ListAddress: BrokenList] = [:]
  /// Objects whose own records are damaged, and nothing better was found of them.
  private(set) var damagedRecords: [ObjectID: (page: Int?, message: String)] = [:]
  /// The highest commit that anything tells of.
  private(set) var lastCommit: UInt64 = 0
  private var hasDoubts = false

  struct BrokenList {
    let object: String
    let relationship: CompiledRelationship
    /// How many members its record says.
    let expected: Int
    /// Members that were found on the other side.
    var foundCount = 0
  }

  init(_ options: SalvageOptions, _ steps: BackupRun) {
    self.options = options
    self.steps = steps
  }

  func lose(
    _ kind: SalvageLoss.Kind, object: String? = nil, property: String? = nil, page: Int? = nil,
    breaksRule: Bool = false, _ message: @autoclosure () -> String
  ) {
    report.lossCounts[kind, default: 0] += 1
    guard report.losses.count < options.maximumLosses else { return }
    report.losses.append(
      SalvageLoss(
        kind: kind, object: object, property: property, page: page, breaksRule: breaksRule, message: message()))
  }

  func noteDamaged(_ id: ObjectID, page: Int?, _ message: String) { damagedRecords[id] = (page, message) }

  func isDamaged(_ id: ObjectID) -> Bool { !damagedRecords.isEmpty && damagedRecords[id] != nil }

  func noteFound(_ id: ObjectID) {
    if !damagedRecords.isEmpty { damagedRecords[id] = nil }
  }

  /// Numbers that no store reaches are somebody's invention.
  func note(commit: UInt64) {
    if commit < UInt64(Int64.max) >> 1 { lastCommit = max(lastCommit, commit) }
  }

  // MARK: What may be older than the state

  func doubt(_ id: ObjectID) {
    hasDoubts = true
    _ = doubtful.insert(id)
  }

  /// It was found where the state names it, after all.
  func believe(_ id: ObjectID) {
    if hasDoubts { _ = doubtful.remove(id) }
  }

  func doubtList(of owner: ObjectID) {
    hasDoubts = true
    _ = doubtfulOwners.insert(owner)
  }

  /// Whether pieces of an object's lists may be older than the state, and the object itself is not.
  func hasDoubtfulLists(_ id: ObjectID) -> Bool {
    hasDoubts && doubtfulOwners.contains(id) && !doubtful.contains(id)
  }

  func isDoubtful(_ id: ObjectID) -> Bool { hasDoubts && doubtful.contains(id) }

  /// Whether an object's side of a link says little: it, or pieces of its lists, may be older than the state.
  func isDoubtful(_ id: ObjectID, _ relationship: CompiledRelationship) -> Bool {
    guard hasDoubts else { return false }
    return doubtful.contains(id) || relationship.isToMany && doubtfulOwners.contains(id)
  }

  // MARK: Lists

  func noteBroken(_ list: ListAddress, _ broken: BrokenList) { brokenLists[list] = broken }

  func isBroken(_ list: ListAddress) -> Bool { !brokenLists.isEmpty && brokenLists[list] != nil }

  func noteFound(_ list: ListAddress) {
    guard !brokenLists.isEmpty else { return }
    brokenLists[list]?.foundCount += 1
  }
}
