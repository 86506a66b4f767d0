/// Kills the process before each I/O call in turn.
enum KillFaults: FaultClass {
  static let name = "kill"
  static let number = "G2"

  /// The phases of the workload, one row of the table each.
  private enum Phase: String, CaseIterable {
    case create = "create", write = "write", clone = "clone", delete = "delete"
    case savepoints = "savepoints", groups = "group commits"
    case snapshot = "creating and deleting snapshots"
    case rollback = "rollback", migration = "migration"
    case branches = "creating, changing and deleting branches", merge = "merging branches and drafts"

    init(_ commit: Int, _ workload: Workload) {
      self =
        switch commit == 0 ? nil : workload.kind(commit) {
        case nil: .create
        case .clone, .draft: .clone
        case .snapshot, .someSnapshots, .allSnapshots: .snapshot
        case .rollback, .objectRollback: .rollback
        case .migration, .automaticMigration, .mappingMigration, .chainedMigration: .migration
        case .deletion, .cleaning: .delete
        case .savepoints: .savepoints
        case .grouped: .groups
        case .publish, .update, .draftMerge: .merge
        case .base, .changes, .spilling, .staged, .large, .rival, .draftChanges: .write
        default: .branches
        }
    }
  }

  /// The sampling interval of a phase in quick mode; some phases have many calls.
  private static func quickPart(_ phase: Phase) -> Int {
    switch phase {
    case .clone: 1
    case .delete: 3
    case .create, .migration: 6
    case .merge: 8
    case .snapshot, .rollback, .groups, .branches, .write, .savepoints: 10
    }
  }

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    let context = try campaign.context()
    let groups = groups(campaign, context)
    if campaign.isQuick || context.workload.usesCommitLog { return groups }
    // With a write-ahead log, a commit makes other calls, and the data file is written at other times.
    return try groups
      + self.groups(campaign, campaign.context(withLog: true), suffix: ", with a write-ahead log", prefix: "log-")
  }

  /// - Parameter prefix: a prefix for the ids of the trials.
  private static func groups(
    _ campaign: Campaign, _ context: TrialContext, suffix: String = "", prefix: String = ""
  ) -> [TrialGroup] {
    Phase.allCases.map { phase in
      let calls = context.calls.indices.filter { Phase(context.calls[$0].commit, context.workload) == phase }
      return TrialGroup(
        title: "SIGKILL before each I/O call of \(phase.rawValue)\(suffix)",
        trials: campaign.sample(calls, oneOf: quickPart(phase)).map { call in
          Trial(id: "\(prefix)\(call + 1)", run: trial(context, call: call + 1).run)
        })
    }
  }

  static func trial(_ context: TrialContext, call: Int, arguments: [String] = []) -> Trial {
    Trial(id: "\(call)") { lane in
      let run = try WorkerRun(context, root: lane.root, faults: ["KILL": "\(call)"], arguments: arguments)
      guard run.ending == .signal(9) else {
        throw Finding("the process was not killed but ended with \(run.ending): \(run.errors)")
      }
      if let reason = run.disorder(context.workload) { return reason }
      return try lane.verify(context, root: lane.root, acknowledged: run.acknowledged, copied: run.copied)
    }
  }
}
