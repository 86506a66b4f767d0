import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The findings of one salvage so far. Besides the content of the report, it stores a bit for each object that was
/// found on unreferenced pages, and the lists that have lost chunks.
final class SalvageRun {
  let options: SalvageOptions
  let steps: BackupRun
  var report = SalvageReport()
  /// Objects that were found on unreferenced pages, which may be stale.
  private(set) var doubtful = ObjectSet()
  /// Owners of lists with chunks that were found so.
  private(set) var doubtfulOwners = ObjectSet()
  /// Lists with lost chunks: their members are searched for on the other side.
  private(set) var brokenLists: [ListAddress: BrokenList] = [:]
  /// Objects with corrupted records for which nothing better was found.
  private(set) var damagedRecords: [ObjectID: (page: Int?, message: String)] = [:]
  /// The highest commit number found.
  private(set) var lastCommit: UInt64 = 0
  private var hasDoubts = false

  struct BrokenList {
    let object: String
    let relationship: CompiledRelationship
    /// The number of members according to its record.
    let expected: Int
    /// The number of members found on the other side.
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

  /// No store reaches such numbers: they are corrupted.
  func note(commit: UInt64) {
    if commit < UInt64(Int64.max) >> 1 { lastCommit = max(lastCommit, commit) }
  }

  // MARK: Possibly outdated data

  func doubt(_ id: ObjectID) {
    hasDoubts = true
    _ = doubtful.insert(id)
  }

  /// Marks an object as certain: it was found where the state references it.
  func believe(_ id: ObjectID) {
    if hasDoubts { _ = doubtful.remove(id) }
  }

  func doubtList(of owner: ObjectID) {
    hasDoubts = true
    _ = doubtfulOwners.insert(owner)
  }

  /// Whether chunks of an object's lists may be outdated, while the object itself is not.
  func hasDoubtfulLists(_ id: ObjectID) -> Bool {
    hasDoubts && doubtfulOwners.contains(id) && !doubtful.contains(id)
  }

  func isDoubtful(_ id: ObjectID) -> Bool { hasDoubts && doubtful.contains(id) }

  /// Whether an object's side of a link is uncertain: it, or chunks of its lists, may be outdated.
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
