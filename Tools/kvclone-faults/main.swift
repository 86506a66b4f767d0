import Foundation

/// Runs the campaign, or one of its child processes: `KVCloneFaultTool work …`, `verify …` and others.
func run(_ arguments: [String]) throws -> Int32 {
  switch arguments.first {
  case "work":
    let options = try Options(Array(arguments.dropFirst()))
    alarm(ChildProcess.secondsPerTrial)
    var worker = Worker(root: try options.text("--root"), workload: try options.workload())
    worker.plantedBug = options.values["--planted"].flatMap(Worker.PlantedBug.init)
    if worker.plantedBug == .keptSavepoint { worker.workload.savepointUse = .kept }
    worker.workload.mergeMistake = options.values["--planted"].flatMap(MergeMistake.init)
    worker.plantedBugOfGroups = options.values["--planted"].flatMap(GroupRun.PlantedBug.init)
    if options.values["--states-file"] != nil {
      worker.states = try options.states()
    } else {
      worker.workload.savepointUse = .leftOut
    }
    try worker.run()
    return 0
  case "fill":
    let options = try Options(Array(arguments.dropFirst()))
    alarm(ChildProcess.secondsPerTrial)
    try DiskFiller(
      root: try options.text("--root"), workload: try options.workload(),
      isRoomExact: options.flags.contains("--exact-room")
    ).run()
    return 0
  case "verify":
    let options = try Options(Array(arguments.dropFirst()))
    Verifier(states: try options.states(), workload: try options.workload()).serve()
    return 0
  case "act":
    Performer(root: try Options(Array(arguments.dropFirst())).text("--root")).serve()
    return 0
  case "soak-work":
    try SoakLoad.run(Options(Array(arguments.dropFirst())))
    return 0
  case "examine":
    Examiner.serve()
    return 0
  default:
    let options = try Options(arguments)
    return try options.flags.contains("--soak") ? SoakFaults.runAlone(options) : Campaign(options).run()
  }
}

do {
  exit(try run(Array(CommandLine.arguments.dropFirst())))
} catch {
  StandardError.write("\(error)\n")
  exit(error is Options.Wrong ? 64 : 1)
}
