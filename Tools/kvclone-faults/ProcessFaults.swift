import Foundation

/// Interactions of processes, and unusual store directories: killed readers and writers, forks, a store that is opened
/// twice, a read-only file system, links, wrong modes and owners, and process ids of another namespace.
///
/// Requirements: a typed error, or recovery without waiting; committed data is unchanged; and the file does not grow
/// more than usual.
enum ProcessFaults: FaultClass {
  static let name = "processes"
  static let number = "G10"

  private static let scenes = [
    Scene(id: "reader", title: "readers killed, then a writer", count: 60, play: killedReaders),
    Scene(id: "late-reader", title: "readers killed during writes", count: 20, play: killedReadersBesideWriter),
    Scene(id: "writer", title: "writer killed in its transaction", count: 60, play: killedWriter),
    Scene(id: "fork", title: "forked child uses its parent's store", count: 20, play: fork),
    Scene(id: "twice", title: "store opened twice by one process", count: 20, play: openedTwice),
    Scene(id: "links", title: "symbolic and hard links", count: 40, play: links),
    Scene(id: "modes", title: "wrong modes and owners", count: 40, play: modes),
    Scene(
      id: "readonly", title: "read-only file system", count: 20, wrapper: readOnlyMount, play: readOnly),
    Scene(
      id: "namespace", title: "same process id in another namespace", count: 20, wrapper: namespace,
      play: namespaces),
  ]

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    try Scene.groups(scenes, campaign, stream: 11_000_000)
  }

  // MARK: Killed processes

  /// The growth limit for commits of one tag each that reuse the pages of earlier commits.
  private static let growthLimit = 512 << 10
  private static let commits = 40

  private static func growth(_ writer: Player, _ commits: Int) throws -> Int {
    let before = try writer.number("size")
    if let reason = try writer.expect("write \(commits)", "ok") { throw Finding(reason) }
    return try writer.number("size") - before
  }

  private static func killedReaders(_ stage: Stage) throws -> String? {
    for _ in 0...stage.random.below(3) {
      let reader = stage.enter()
      if let reason = try reader.expect("open", "ok") ?? reader.expect("pin", "ok") { return reason }
      if stage.random.chance(50), let reason = try reader.expect("read", stage.tags) { return reason }
      try reader.kill()
    }
    let writer = stage.enter()
    if let reason = try writer.expect("open", "ok") { return reason }
    let growth = try growth(writer, commits)
    return growth <= growthLimit ? nil : "the file grew by \(growth) bytes in \(commits) commits with stale readers"
  }

  /// A process with the store open checks for stale readers every 256 commits.
  private static func killedReadersBesideWriter(_ stage: Stage) throws -> String? {
    let (writer, reader) = (stage.enter(), stage.enter())
    if let reason = try writer.expect("open", "ok") ?? reader.expect("open", "ok") ?? reader.expect("pin", "ok") {
      return reason
    }
    try reader.kill()
    if let reason = try writer.expect("write 260", "ok") { return reason }
    let growth = try growth(writer, commits)
    return growth <= growthLimit ? nil : "the file still grew by \(growth) bytes after 260 commits with a stale reader"
  }

  /// Repeats the commits with an open reader. They must exceed the growth limit, or the limit could not detect stale
  /// readers.
  static func besideLivingReader(_ campaign: Campaign) throws -> [Trial] {
    let scene = Scene(id: "living-reader", title: "", count: 5, quickCount: 1) { stage in
      let (reader, writer) = (stage.enter(), stage.enter())
      if let reason = try reader.expect("open", "ok") ?? reader.expect("pin", "ok") ?? writer.expect("open", "ok") {
        throw Finding(reason)
      }
      let growth = try growth(writer, commits)
      if growth <= growthLimit { return nil }
      return "the file grew by \(growth) bytes in \(commits) commits with an open reader"
    }
    return try Scene.groups([scene], campaign, stream: 11_900_000).flatMap(\.trials)
  }

  private static func killedWriter(_ stage: Stage) throws -> String? {
    let (victim, other) = (stage.enter(), stage.enter())
    let isOpenBefore = stage.random.chance(50)
    if isOpenBefore, let reason = try other.expect("open", "ok") { return reason }
    if let reason = try victim.expect("open", "ok") ?? victim.expect("hold", "holding") { return reason }
    let mayCommit = stage.random.chance(50)
    if mayCommit {
      // The kill can hit before, during or after the commit.
      victim.tell("go")
      usleep(UInt32(stage.random.below(1500)))
    }
    try victim.kill()
    if !isOpenBefore, let reason = try other.expect("open", "ok") { return reason }
    let found = try other.number("tags")
    guard let tags = Int(stage.tags), found == tags || mayCommit && found == tags + 1 else {
      return "there are \(found) tags after inserting one into \(stage.tags)"
    }
    return try other.expect("write", "ok") ?? other.expect("tags", "\(found + 1)")
  }

  // MARK: One process, one store

  private static func fork(_ stage: Stage) throws -> String? {
    let parent = stage.enter()
    if let reason = try parent.expect("open", "ok") { return reason }
    if stage.random.chance(50), let reason = try parent.expect("pin", "ok") { return reason }
    return try parent.expect("fork", "child exit 15") ?? parent.expect("read", stage.tags)
      ?? parent.expect("write", "ok")
  }

  private static func openedTwice(_ stage: Stage) throws -> String? {
    let process = stage.enter()
    if let reason = try process.expect("open", "ok") ?? process.expect("pin", "ok") { return reason }
    for _ in 0...stage.random.below(3) {
      if let reason = try process.expect("twice", "error alreadyOpen") { return reason }
    }
    // The locks of the first opening still exist and block another process.
    let other = stage.enter()
    return try other.expect("open", "ok") ?? other.expect("write 5", "ok") ?? process.expect("read", stage.tags)
      ?? process.expect("write", "ok")
  }

  // MARK: Files that are not what they should be

  private static func links(_ stage: Stage) throws -> String? {
    let manager = FileManager.default
    let (store, aside) = (stage.root + "/store", stage.root + "/aside")
    let name = stage.random.element(["", "data.mdb", "lock.mdb", "writer.lock", "stagers.lock", "commit.log"]) ?? ""
    let place = name.isEmpty ? store : store + "/" + name
    let isHard = name == "data.mdb" && stage.random.chance(50)
    if manager.fileExists(atPath: place) {
      try manager.moveItem(atPath: place, toPath: aside)
    } else {
      guard manager.createFile(atPath: aside, contents: Data("victim".utf8), attributes: [.posixPermissions: 0o600])
      else { throw Finding("cannot write \(aside)") }
    }
    let before = name.isEmpty ? nil : manager.contents(atPath: aside)
    if isHard {
      try manager.linkItem(atPath: aside, toPath: place)
    } else {
      try manager.createSymbolicLink(atPath: place, withDestinationPath: aside)
    }
    let process = stage.enter()
    // A log file is opened only with a write-ahead log.
    let step = name == "commit.log" ? "open log" : "open"
    let answer = try process.answer(step)
    if answer != "error notAStore" {
      return "\(name.isEmpty ? "the directory" : name) is a link, and \(step) returned: \(answer)"
    }
    try process.leave()
    if let before, manager.contents(atPath: aside) != before { return "the target of the link was written" }
    try manager.removeItem(atPath: place)
    if name == "data.mdb" || name.isEmpty { try manager.moveItem(atPath: aside, toPath: place) }
    return nil
  }

  private static func modes(_ stage: Stage) throws -> String? {
    let manager = FileManager.default
    let isDirectory = stage.random.chance(40)
    let place = stage.root + "/store" + (isDirectory ? "" : "/data.mdb")
    let right = isDirectory ? 0o700 : 0o600
    if geteuid() == 0, stage.random.chance(30) {
      guard chown(place, 1, 1) == 0 else { throw Finding("cannot change the owner of \(place)") }
    } else {
      // Always grants some permission to others.
      let mode = right | (stage.random.element([0o1, 0o2, 0o4, 0o10, 0o20, 0o40, 0o44, 0o66, 0o77]) ?? 0o4)
      try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: place)
    }
    if let reason = try stage.enter().expect("open", "error notAStore") { return reason }
    guard chown(place, geteuid(), getegid()) == 0 else { throw Finding("cannot restore the owner of \(place)") }
    try manager.setAttributes([.posixPermissions: right], ofItemAtPath: place)
    return nil
  }

  /// A command that mounts the store's directory read-only. The mount ends with the process.
  @Sendable private static func readOnlyMount(_ root: String) -> [String] {
    let script = "mount --bind \(root) \(root) && mount -o remount,ro,bind \(root) && exec \"$@\""
    return ["unshare", "--mount", "--", "sh", "-c", script, "sh"]
  }

  private static func readOnly(_ stage: Stage) throws -> String? {
    let process = stage.enter()
    let answer = try process.answer("open")
    if answer != "error io" { return "opening for writing on a read-only file system returned: \(answer)" }
    return try process.expect("open readonly", "ok") ?? process.expect("tags", stage.tags)
      ?? process.expect("digest", stage.digest) ?? process.expect("write", "error readOnly")
  }

  // MARK: Namespaces

  @Sendable private static func namespace(_ root: String) -> [String] {
    ["unshare", "--fork", "--pid", "--kill-child", "--"]
  }

  /// All processes have process id 1 in their namespaces.
  private static func namespaces(_ stage: Stage) throws -> String? {
    let (first, second) = (stage.enter(), stage.enter())
    if let reason = try first.expect("open", "ok") ?? first.expect("pin", "ok") { return reason }
    // The error message asks to share the namespace.
    let answer = try second.answer("open")
    if answer != "error readersFull" { return "opening with a reader of the same process id returned: \(answer)" }
    if let reason = try first.expect("read", stage.tags) ?? first.expect("close", "ok") { return reason }
    try first.leave()
    return try second.expect("open", "ok") ?? second.expect("read", stage.tags)
  }
}
