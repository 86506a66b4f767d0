import KVCloneRecords

/// Planted bugs of merges. Some appear in the content after a merge, others only in the entries that it leaves.
enum MergeMistakes {
  static func groups(_ context: TrialContext, _ count: Int) throws -> [TrialGroup] {
    let numbers = 1...context.workload.commitCount
    guard let number = numbers.first(where: { context.workload.kind($0) == .publish }) else { return [] }
    let mistakes: [(mistake: MergeMistake, title: String)] = [
      (.lostAddition, "addition lost in a merge"), (.unreportedConflict, "conflict not reported"),
      (.stolenPartner, "partner stolen by a merge"),
    ]
    let (before, after) = (
      try LostWrites.values(context, after: number - 1), try LostWrites.values(context, after: number)
    )
    return mistakes.map { group("planted: \($0.title)", [trial(context, $0.mistake, number)]) } + [
      group("planted: base that does not move", [unmovedBase(context, number, before, after)]),
      group("planted: blob counted twice", countedTwice(context, number, before, after, count)),
    ]
  }

  private static func group(_ title: String, _ trials: [Trial]) -> TrialGroup {
    TrialGroup(title: title, trials: trials) { failures, trials in
      failures == trials && trials > 0 ? nil : "\(trials - failures) of \(trials) were not detected"
    }
  }

  private static func trial(_ context: TrialContext, _ mistake: MergeMistake, _ last: Int) -> Trial {
    Trial(id: "\(mistake):\(last)") { lane in
      let arguments = ["--commits", "\(last)", "--planted", mistake.rawValue]
      let run = try WorkerRun(context, root: lane.root, faults: [:], arguments: arguments)
      // The workload itself requires that conflicts are reported.
      if run.ending != .exit(0) { return "the workload failed: \(run.errors)" }
      return try lane.verify(context, root: lane.root, acknowledged: run.acknowledged)
    }
  }

  /// The description of the branch keeps its base from before the merge.
  private static func unmovedBase(
    _ context: TrialContext, _ number: Int, _ before: LostWrites.Values, _ after: LostWrites.Values
  ) -> Trial {
    let places = (after["branches"] ?? [:]).map { key, value in
      LostWrites.Place(commit: number, table: "branches", key: key, before: before["branches"]?[key], after: value)
    }
    return Trial(id: "unmoved-base:\(number)") { lane in
      try WorkerRun.sound(context, root: lane.root, arguments: ["--commits", "\(number)"])
      for place in places { try place.leave(place.before, lane.root + "/store") }
      return try lane.verify(context, root: lane.root, acknowledged: number)
    }
  }

  /// The merge counts a reference to a published blob twice.
  private static func countedTwice(
    _ context: TrialContext, _ number: Int, _ before: LostWrites.Values, _ after: LostWrites.Values, _ count: Int
  ) -> [Trial] {
    let known = before["blobinfo"] ?? [:]
    let published = (after["blobinfo"] ?? [:]).filter { known[$0.key] == nil }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
    return published.prefix(count).enumerated().map { index, entry in
      Trial(id: "counted-twice:\(index)") { lane in
        try WorkerRun.sound(context, root: lane.root, arguments: ["--commits", "\(number)"])
        let seed = ValueEnvelope.seed(tableCode: .blobInfo, key: entry.key)
        var info = try BlobInfo(stored: entry.value.span.bytes, seed: seed)
        info.referenceCount += 1
        let place = LostWrites.Place(
          commit: number, table: "blobinfo", key: entry.key, before: nil, after: entry.value)
        try place.leave(info.encoded(seed: seed), lane.root + "/store")
        return try lane.verify(context, root: lane.root, acknowledged: number)
      }
    }
  }
}
