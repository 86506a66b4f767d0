/// The memory map is full: the process cannot reserve more address space, or another process has grown the file beyond
/// the map.
///
/// Requirements: the map grows, or the error is `mapFull` and the store is unchanged; a caller's body runs once, and a
/// clone at most twice; when address space is available, the same process continues.
enum MapFaults: FaultClass {
  static let name = "map"
  static let number = "G7"

  private static let scenes = [
    Scene(id: "full", title: "map of fixed size is filled", count: 100, quickCount: 1, play: full),
    Scene(id: "clone", title: "clone exceeds the map", count: 100, quickCount: 1, play: clone),
    Scene(
      id: "resized", title: "another process grows the file beyond the map", count: 100, quickCount: 1,
      play: resized),
  ]

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    try Scene.groups(scenes, campaign, stream: 12_000_000)
  }

  /// The additional address space in mebibytes: enough for a map of 64 and the process itself, but not for a map of
  /// 128.
  private static let room = 64 + 48
  private static let mapped = 64

  /// A process with a small map that cannot grow.
  private static func enterLimited(_ stage: Stage) throws -> Player {
    let process = stage.enter()
    if let reason = try process.expect("room \(room)", "ok") ?? process.expect("open", "ok") { throw Finding(reason) }
    return process
  }

  /// - Returns: the number of blobs that fitted.
  private static func fill(_ process: Player, _ stage: Stage) throws -> Int {
    for count in 0..<mapped {
      let size = 3 + stage.random.below(6)
      let answer = try process.answer("large \(size)")
      if answer == "error mapFull" { return count }
      guard answer == "ok" else { throw Finding("a value of \(size) MiB in a map with little room: \(answer)") }
    }
    throw Finding("a map of \(mapped) MiB was never full")
  }

  private static func full(_ stage: Stage) throws -> String? {
    let process = try enterLimited(stage)
    let count = try fill(process, stage)
    if stage.random.chance(50), let reason = try process.expect("large 8", "error mapFull") { return reason }
    return try process.expect("projects", "\(stage.projects + count)") ?? process.expect("check", "clean")
      ?? process.expect("write", "ok") ?? process.expect("room 0", "ok") ?? grown(process, "large 8")
      ?? process.expect("projects", "\(stage.projects + count + 1)")
  }

  private static func clone(_ stage: Stage) throws -> String? {
    let process = try enterLimited(stage)
    let count = try fill(process, stage)
    var clones = 0
    while true {
      let answer = try process.answer("clone")
      if answer == "error mapFull" { break }
      guard answer == "ok" else { return "a clone in a map with little room: \(answer)" }
      clones += 1
      if clones == mapped { return "\(clones) clones of a blob fit into a map of \(mapped) MiB" }
    }
    return try process.expect("projects", "\(stage.projects + count + clones)") ?? process.expect("check", "clean")
      ?? process.expect("room 0", "ok") ?? grown(process, "clone")
      ?? process.expect("projects", "\(stage.projects + count + clones + 1)")
  }

  /// The operation that failed makes the map grow: with enough address space, the second attempt succeeds at the
  /// latest.
  private static func grown(_ process: Player, _ line: String) throws -> String? {
    let answer = try process.answer(line)
    return answer == "error mapFull" ? try process.expect(line, "ok") : answer == "ok" ? nil : "\(line) said: \(answer)"
  }

  private static func resized(_ stage: Stage) throws -> String? {
    let process = try enterLimited(stage)
    let isPinned = stage.random.chance(50)
    if isPinned, let reason = try process.expect("pin", "ok") { return reason }
    let other = stage.enter()
    if let reason = try other.expect("open", "ok") ?? other.expect("large \(mapped)", "ok")
      ?? other.expect("large 8", "ok")
    {
      return reason
    }
    // Neither operation fits the current map; data that was read before stays readable.
    if isPinned, let reason = try process.expect("read", stage.tags) { return reason }
    if let reason = try process.expect("write", "error mapFull") ?? process.expect("projects", "error mapFull") {
      return reason
    }
    if let reason = try process.expect("room 0", "ok") { return reason }
    if isPinned, let reason = try process.expect("read", stage.tags) ?? process.expect("unpin", "ok") { return reason }
    return try process.expect("projects", "\(stage.projects + 2)") ?? process.expect("write", "ok")
      ?? other.expect("write", "ok") ?? process.expect("check", "clean")
  }
}
