/// The power goes at a random moment, and takes a random part of what was not synced with it.
enum PowerLossFaults: FaultClass {
  static let name = "power-loss"

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    // Several workloads, because one journal has only so many places at which it can end.
    let (journals, images) = campaign.isQuick ? (1, 60) : (4, 1000)
    var trials: [Trial] = []
    for index in 0..<journals {
      let context = try campaign.context(offset: index)
      let journal = try record(context, faults: [:])
      trials += (0..<images / journals).map { trial(context, journal, id: "\(index):\($0)", stream: UInt64($0)) }
    }
    return [TrialGroup(title: "power loss: images of what was and was not synced", trials: trials)]
  }

  /// A run with a journal, to its end.
  static func record(_ context: TrialContext, faults: [String: String], arguments: [String] = []) throws -> Journal {
    let root = context.directory + "/journalled"
    let file = context.directory + "/journal"
    var faults = faults
    faults["JOURNAL"] = file
    let run = try WorkerRun(context, root: root, faults: faults, arguments: arguments)
    guard run.ending == .exit(0) else { throw Finding("the journalled run ended with \(run.ending): \(run.errors)") }
    return try Journal(contentsOf: file)
  }

  /// One image: where the journal is cut and what arrives is drawn from the seed and `stream`.
  static func trial(_ context: TrialContext, _ journal: Journal, id: String, stream: UInt64) -> Trial {
    Trial(id: id) { lane in
      var random = SeededGenerator(seed: context.workload.seed, stream: 1_000_000 + stream)
      let end = random.below(journal.entries.count + 1)
      let disk = SimulatedDisk(journal, upTo: end, &random)
      try Scratch.empty(lane.root)
      let loss = PowerLoss(&random)
      try disk.write(to: lane.root, after: loss, &random)
      return try lane.verify(context, root: lane.root, acknowledged: disk.acknowledged)
    }
  }
}
