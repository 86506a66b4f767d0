/// The process is killed before each single I/O call in turn.
enum KillFaults: FaultClass {
  static let name = "kill"

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    let context = try campaign.context()
    let create = context.calls.indices.filter { context.calls[$0].commit == 0 }
    let clone = context.calls.indices.filter { context.workload.kind(context.calls[$0].commit) == .clone }
    let write = context.calls.indices.filter { !create.contains($0) && !clone.contains($0) }
    return [("create", create), ("write", write), ("clone", clone)].map { phase, calls in
      TrialGroup(
        title: "killed before an I/O call of \(phase), each in turn",
        trials: calls.map { trial(context, call: $0 + 1) })
    }
  }

  private static func trial(_ context: TrialContext, call: Int) -> Trial {
    Trial(id: "\(call)") { lane in
      let run = try WorkerRun(context, root: lane.root, faults: ["KILL": "\(call)"])
      guard run.ending == .signal(9) else {
        return "the process was not killed but ended with \(run.ending): \(run.errors)"
      }
      return try lane.verify(context, root: lane.root, acknowledged: run.acknowledged)
    }
  }
}
