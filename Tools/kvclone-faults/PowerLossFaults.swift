/// The power fails at a random moment, and a random part of the unsynced writes is lost.
enum PowerLossFaults: FaultClass {
  static let name = "power-loss"
  static let number = "G3"

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    // Several workloads, because one journal has a limited number of possible ends.
    let (journals, images, spills) = campaign.isQuick ? (1, 36, 18) : (4, 10_000, 1000)
    var anywhere: [Trial] = []
    var afterSpills: [Trial] = []
    var inGroups: [Trial] = []
    for index in 0..<journals {
      let context = try campaign.context(offset: index)
      let journal = try record(context, faults: [:])
      anywhere += (0..<images / journals).map { trial(context, journal, id: "\(index):\($0)", stream: UInt64($0)) }
      let endsInGroups = context.workload.groups.flatMap { journal.ends(during: $0) }
      inGroups += (0..<(endsInGroups.isEmpty ? 0 : spills / journals)).map {
        trial(context, journal, id: "group-\(index):\($0)", stream: 350_000 + UInt64($0), ends: endsInGroups)
      }
      let ends = journal.endsAfterSpills
      guard !ends.isEmpty else { continue }
      // The file has spilled pages of an unfinished transaction, a state that random ends seldom reach.
      afterSpills += (0..<spills / journals).map {
        trial(context, journal, id: "spill-\(index):\($0)", stream: 250_000 + UInt64($0), ends: ends)
      }
    }
    let withLog = try groupCommitsWithLog(campaign, spills)
    return [
      TrialGroup(title: "power loss: images with any part of the unsynced writes", trials: anywhere),
      TrialGroup(
        title: "power loss after a forced spill, before its commit is acknowledged", trials: afterSpills,
        note: afterSpills.isEmpty ? "skipped: this LMDB cannot be made to spill" : nil),
      TrialGroup(title: "power loss during a group commit", trials: inGroups),
    ] + withLog
  }

  /// Trials with a write-ahead log, in which the commit of a group makes other calls.
  private static func groupCommitsWithLog(_ campaign: Campaign, _ count: Int) throws -> [TrialGroup] {
    if try campaign.context().workload.usesCommitLog { return [] }
    let context = try campaign.context(withLog: true)
    let journal = try record(context, faults: [:])
    let ends = context.workload.groups.flatMap { journal.ends(during: $0) }
    let trials = (0..<(ends.isEmpty ? 0 : count)).map {
      trial(context, journal, id: "log-group:\($0)", stream: 360_000 + UInt64($0), ends: ends)
    }
    return [TrialGroup(title: "power loss during a group commit, with a write-ahead log", trials: trials)]
  }

  /// Runs the workload to its end and returns its journal.
  static func record(_ context: TrialContext, faults: [String: String], arguments: [String] = []) throws -> Journal {
    let root = context.directory + "/journalled"
    let file = context.directory + "/journal"
    var faults = faults
    faults["JOURNAL"] = file
    let run = try WorkerRun(context, root: root, faults: faults, arguments: arguments)
    guard run.ending == .exit(0) else { throw Finding("the journalled run ended with \(run.ending): \(run.errors)") }
    return try Journal(contentsOf: file)
  }

  /// Creates a trial with one image: the seed and `stream` determine the end of the journal and the writes that arrive.
  ///
  /// - Parameter ends: the possible ends of the journal, as numbers of entries; nil: anywhere.
  static func trial(
    _ context: TrialContext, _ journal: Journal, id: String, stream: UInt64, ends: [Int]? = nil
  ) -> Trial {
    Trial(id: id) { lane in
      var random = SeededGenerator(seed: context.workload.seed, stream: 1_000_000 + stream)
      let end = ends.flatMap { random.element($0) } ?? random.below(journal.entries.count + 1)
      let disk = SimulatedDisk(journal, upTo: end, &random)
      try Scratch.empty(lane.root)
      let loss = PowerLoss(&random)
      try disk.write(to: lane.root, after: loss, &random)
      return try lane.verify(context, root: lane.root, acknowledged: disk.acknowledged, copied: disk.copied)
    }
  }
}
