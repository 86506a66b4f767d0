import Foundation
import KVClone
import KVCloneLMDB

/// The campaign's own test: planted bugs that it must detect. A row passes if at least one of its trials detects the
/// bug.
enum SelfTestFaults: FaultClass {
  static let name = "self-test"
  static let number = "G16"

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    let context = try campaign.context()
    let images = campaign.isQuick ? 8 : 60
    var groups: [TrialGroup] = []
    for (swallowed, title) in [
      ("sync", "syncs do nothing"), ("meta", "meta pages written without a sync"),
      ("dirsync", "directories never synced"),
    ] {
      // With a write-ahead log, the record contains the meta page, and meta pages are not synced separately.
      if swallowed == "meta", context.workload.usesCommitLog { continue }
      let journal = try PowerLossFaults.record(context, faults: ["SWALLOW": swallowed])
      groups.append(planted(title, powerLosses(context, journal, "swallow-\(swallowed)", images)))
    }
    groups.append(try unsyncedRenames(campaign, images))
    let early = Worker.PlantedBug.earlyAcknowledgement.rawValue
    let journal = try PowerLossFaults.record(context, faults: [:], arguments: ["--planted", early])
    groups.append(planted("commit acknowledged before it completes", powerLosses(context, journal, "early", images)))
    groups.append(earlyMigrations(context, images))
    groups.append(ignoredErrors(context, images))
    groups += groupCommits(context, images)
    groups += try MergeMistakes.groups(context, images)
    groups.append(flippedBits(context, images))
    groups.append(forgottenStates(context, images))
    groups += try LostWrites.groups(context, images, commits: campaign.isQuick ? 3 : 9)
    groups.append(SkippedChecksums.group(try campaign.subject(context, .everything), images))
    groups.append(WrongRanks.group(try campaign.subject(context, .longLists), images))
    if !campaign.isQuick {
      groups.append(planted("stuck reader not evicted", [SoakFaults.withoutPolicy(campaign)]))
    }
    groups.append(livingReader(try ProcessFaults.besideLivingReader(campaign)))
    groups.append(lateSnapshot(context))
    groups.append(wrongAcknowledgement(context))
    return groups
  }

  private static func planted(_ title: String, _ trials: [Trial]) -> TrialGroup {
    TrialGroup(title: "planted: \(title)", trials: trials) { failures, trials in
      failures > 0 ? nil : "none of \(trials) trials detected the planted bug"
    }
  }

  private static func powerLosses(_ context: TrialContext, _ journal: Journal, _ name: String, _ count: Int) -> [Trial]
  {
    (0..<count).map { PowerLossFaults.trial(context, journal, id: "\(name):\($0)", stream: 500_000 + UInt64($0)) }
  }

  private static func unsyncedRenames(_ campaign: Campaign, _ count: Int) throws -> TrialGroup {
    let context = try campaign.contextWithCopies()
    let journal = try PowerLossFaults.record(context, faults: ["SWALLOW": "hidden"])
    let ends = journal.endsAfterNaming
    return planted(
      "rename before the content is synced",
      (0..<count).map {
        PowerLossFaults.trial(context, journal, id: "rename:\($0)", stream: 600_000 + UInt64($0), ends: ends)
      })
  }

  private static func earlyMigrations(_ context: TrialContext, _ count: Int) -> TrialGroup {
    let calls = context.calls.indices.filter {
      context.calls[$0].commit > 0 && context.workload.kind(context.calls[$0].commit).isMigration
    }
    let trials = calls.prefix(count).map { call in
      let trial = KillFaults.trial(
        context, call: call + 1, arguments: ["--planted", Worker.PlantedBug.earlyMigration.rawValue])
      return Trial(id: "early-migration:\(trial.id)", run: trial.run)
    }
    return planted("migration acknowledged before it completes", trials)
  }

  private static func ignoredErrors(_ context: TrialContext, _ count: Int) -> TrialGroup {
    let writes = context.calls.indices.filter { context.calls[$0].commit > 0 && context.calls[$0].operation == "sync" }
    let trials = writes.prefix(count).map { call in
      ErrorFaults.trial(
        context, ErrorFaults.variants[0], call: call + 1,
        arguments: ["--planted", Worker.PlantedBug.ignoredError.rawValue])
    }
    return planted("error ignored and commit acknowledged", Array(trials))
  }

  /// Planted bugs in group commits and savepoints.
  private static func groupCommits(_ context: TrialContext, _ count: Int) -> [TrialGroup] {
    let workload = context.workload
    // The last calls of a group include its commit.
    let early = context.calls.indices.filter { context.kind(ofCall: $0) == .grouped }.suffix(count).map { call in
      let bug = GroupRun.PlantedBug.earlyGroup.rawValue
      let trial = KillFaults.trial(context, call: call + 1, arguments: ["--planted", bug])
      return Trial(id: "\(bug):\(trial.id)", run: trial.run)
    }
    // Groups with a write in the middle and a failing write.
    let ends = workload.groups.filter { $0.count > 3 }.map(\.upperBound)
    let savepoints = (1...workload.commitCount).filter { workload.kind($0) == .savepoints }
    let mistakes: [(bug: String, title: String, ends: [Int])] = [
      (GroupRun.PlantedBug.lostWrite.rawValue, "acknowledged write of a group is lost", ends),
      (GroupRun.PlantedBug.skippedWrite.rawValue, "write in the middle of a group is lost", ends),
      (GroupRun.PlantedBug.keptFailure.rawValue, "failed write of a group leaves changes", ends),
      (GroupRun.PlantedBug.unorderedCommits.rawValue, "commit numbers of a group out of order", ends),
      (Worker.PlantedBug.keptSavepoint.rawValue, "savepoint not rolled back", Array(savepoints.prefix(1))),
    ]
    return [planted("write of a group acknowledged before the commit", early)]
      + mistakes.map { mistake in
        let trials = mistake.ends.map { wrongContent(context, mistake.bug, last: $0) }
        return TrialGroup(title: "planted: \(mistake.title)", trials: trials) { failures, trials in
          failures == trials ? nil : "\(trials - failures) of \(trials) were not detected"
        }
      }
  }

  /// A planted bug that shows without a fault, in the content of the store after a commit or in the output of the
  /// worker.
  private static func wrongContent(_ context: TrialContext, _ bug: String, last: Int) -> Trial {
    Trial(id: "\(bug):\(last)") { lane in
      let run = try WorkerRun.sound(
        context, root: lane.root, arguments: ["--commits", "\(last)", "--planted", bug])
      if let reason = run.disorder(context.workload) { return reason }
      return try lane.verify(context, root: lane.root, acknowledged: run.acknowledged)
    }
  }

  /// Flips a bit of a stored image in each trial; every trial must detect it.
  private static func flippedBits(_ context: TrialContext, _ count: Int) -> TrialGroup {
    let trials = (0..<count).map { index in
      Trial(id: "flip:\(index)") { lane in
        try WorkerRun.sound(context, root: lane.root)
        var random = SeededGenerator(seed: context.workload.seed, stream: 2_000_000 + UInt64(index))
        try flip(lane.root, &random)
        return try lane.verify(context, root: lane.root, acknowledged: context.workload.commitCount)
      }
    }
    return TrialGroup(title: "planted: bit flip in a stored value", trials: trials) { failures, trials in
      failures == trials ? nil : "\(trials - failures) of \(trials) flipped bits were not detected"
    }
  }

  /// Flips one bit of an image in all its copies in the file, including older ones in free pages.
  private static func flip(_ root: String, _ random: inout SeededGenerator) throws {
    let store = try ObjectStore.open(at: root + "/store")
    let image = try store.read { transaction -> Data? in
      let photos = try Workload.ids(of: "Photo", in: transaction)
      for photo in photos.shuffled(using: &random) {
        if let image = try transaction.data(photo, "image") { return image }
      }
      return nil
    }
    store.close()
    guard let image else { throw Finding("the store has no image to corrupt") }
    let path = root + "/store/data.mdb"
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    // The random bytes of the value identify it in the file.
    let offset = random.below(1_000)
    let mark = image.prefix(offset + 16).suffix(16)
    let bit = UInt8(1 << random.below(8))
    var rest = data.startIndex..<data.endIndex
    while let found = data.range(of: mark, in: rest) {
      data[found.lowerBound] ^= bit
      rest = found.upperBound..<data.endIndex
    }
    try data.write(to: URL(fileURLWithPath: path))
  }

  /// Deletes a preimage in each trial; every trial must detect it.
  private static func forgottenStates(_ context: TrialContext, _ count: Int) -> TrialGroup {
    // The last commit before the deletion of all snapshots.
    let numbers = 1...context.workload.commitCount
    let last = (numbers.first { context.workload.kind($0) == .allSnapshots } ?? numbers.upperBound + 1) - 1
    let arguments = ["--commits", "\(last)"]
    let trials = (0..<(last < 4 ? 0 : count)).map { index in
      Trial(id: "forget:\(index)") { lane in
        try WorkerRun.sound(context, root: lane.root, arguments: arguments)
        var random = SeededGenerator(seed: context.workload.seed, stream: 3_000_000 + UInt64(index))
        try forget(lane.root, &random)
        return try lane.verify(context, root: lane.root, acknowledged: last)
      }
    }
    return TrialGroup(title: "planted: missing preimage", trials: trials) { failures, trials in
      failures == trials ? nil : "\(trials - failures) of \(trials) missing preimages were not detected"
    }
  }

  /// An intact snapshot that shows a later commit than it should, which only its content reveals.
  private static func lateSnapshot(_ context: TrialContext) -> TrialGroup {
    // The run ends before anything uses the snapshot.
    let last = 4
    let arguments = ["--commits", "\(last)", "--planted", Worker.PlantedBug.lateSnapshot.rawValue]
    let trial = Trial(id: "late-snapshot") { lane in
      let run = try WorkerRun.sound(context, root: lane.root, arguments: arguments)
      return try lane.verify(context, root: lane.root, acknowledged: run.acknowledged)
    }
    return planted(
      "snapshot shows later changes", context.workload.commitCount < last ? [] : [trial])
  }

  private static func forget(_ root: String, _ random: inout SeededGenerator) throws {
    let environment = try LMDBEnvironment.open(at: root + "/store")
    defer { environment.close() }
    guard let table = try environment.openTables(["preimages"], create: false).first else { return }
    var keys: [[UInt8]] = []
    try environment.beginRead().scan(table) { key, _ in
      keys.append(key.withUnsafeBytes { Array($0) })
      return true
    }
    var transaction = try environment.beginWrite(label: "forget")
    guard let key = random.element(keys) else { throw Finding("no preimage was recorded for a snapshot") }
    _ = try transaction.delete(table, key.span.bytes)
    try transaction.commit()
  }

  /// Runs trials with an open reader that retains its pages; every trial must exceed the growth limit.
  private static func livingReader(_ trials: [Trial]) -> TrialGroup {
    TrialGroup(title: "planted: reader that retains its pages", trials: trials) { failures, trials in
      failures == trials ? nil : "the file stayed small with \(trials - failures) of \(trials) open readers"
    }
  }

  private static func wrongAcknowledgement(_ context: TrialContext) -> TrialGroup {
    let trial = Trial(id: "wrong-acknowledgement") { lane in
      try WorkerRun.sound(context, root: lane.root)
      return try lane.verify(context, root: lane.root, acknowledged: context.workload.commitCount + 1)
    }
    return planted("acknowledged commit that does not exist", [trial])
  }
}
