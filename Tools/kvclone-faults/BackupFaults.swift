/// Faults during the copying of a store: full and incremental backups, restores, reflink copies and compacted copies.
///
/// After a fault, a copy is complete or does not exist, the store is unchanged, and the copy can be created at the same
/// path.
enum BackupFaults: FaultClass {
  static let name = "backup"
  static let number = "G2"

  /// The phases, one row of the table each.
  private static let phases: [(name: String, copies: [Copies.Copy])] = [
    ("backup and reflink copy", [.backup, .file]), ("incremental backup", [.increment]),
    ("restore", [.restored, .chained]), ("compaction", [.compacted]),
  ]

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    let context = try campaign.contextWithCopies()
    var groups = phases.map { name, copies in
      let calls = context.calls.indices.filter { call in copies.contains { $0.rawValue == context.calls[call].copy } }
      return TrialGroup(
        title: "SIGKILL before each I/O call of \(name)",
        trials: campaign.sample(calls, oneOf: 12).map { KillFaults.trial(context, call: $0 + 1) })
    }
    let copying = context.calls.indices.filter { context.calls[$0].copy != nil }
    for variant in ErrorFaults.variants where ["EIO", "ENOSPC-sticky", "short"].contains(variant.name) {
      let calls = copying.filter { !variant.onlyWrites || context.calls[$0].operation == "write" }
      groups.append(
        TrialGroup(
          title: "\(variant.title), while copying a store", number: ErrorFaults.number,
          trials: campaign.sample(calls, oneOf: 25).map { ErrorFaults.trial(context, variant, call: $0 + 1) }))
    }
    let journal = try PowerLossFaults.record(context, faults: [:])
    let ends = journal.endsAmongCopies
    groups.append(
      TrialGroup(
        title: "power loss during or after a copy", number: PowerLossFaults.number,
        trials: (0..<(campaign.isQuick ? 4 : 300)).map {
          PowerLossFaults.trial(context, journal, id: "power:\($0)", stream: 4_000_000 + UInt64($0), ends: ends)
        }))
    return groups
  }
}
