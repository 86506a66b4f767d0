import Foundation

/// The actions of several processes on a store, and the expected results: one row of the table.
struct Scene: Sendable {
  let id: String
  let title: String
  /// The number of trials in full mode.
  let count: Int
  var quickCount = 2
  /// A command that starts the processes, in words; it may require privileges.
  var wrapper: (@Sendable (_ root: String) -> [String])?
  /// Returns nil if all requirements held, otherwise an explanation.
  let play: @Sendable (Stage) throws -> String?

  static func groups(_ scenes: [Scene], _ campaign: Campaign, stream: UInt64) throws -> [TrialGroup] {
    let subject = try campaign.subject(try campaign.context(), .everything)
    return scenes.enumerated().map { number, scene in
      let isPossible = scene.wrapper.map { isAllowed($0(campaign.scratch), campaign) } ?? true
      let count = !isPossible ? 0 : campaign.isQuick ? scene.quickCount : scene.count
      return TrialGroup(
        title: scene.title,
        trials: (0..<count).map { scene.trial(subject, $0, stream: stream + UInt64(number * 10_000 + $0)) },
        note: isPossible ? nil : "skipped: needs root with the right to mount and create namespaces")
    }
  }

  private static func isAllowed(_ wrapper: [String], _ campaign: Campaign) -> Bool {
    let log = campaign.scratch + "/wrapper-probe"
    let ending = try? ChildProcess.run(
      "/usr/bin/env", wrapper + ["true"], environment: ProcessInfo.processInfo.environment, output: log + ".out",
      errors: log + ".err")
    return ending == .exit(0)
  }

  private func trial(_ subject: DamageSubject, _ index: Int, stream: UInt64) -> Trial {
    Trial(id: "\(id):\(index)") { lane in
      try DamageSubject.write(subject.map.bytes, to: lane.root)
      let stage = Stage(
        subject, root: lane.root, errors: lane.directory + "/actor.err", wrapper: wrapper?(lane.root) ?? [],
        SeededGenerator(seed: subject.context.workload.seed, stream: stream))
      if let reason = try play(stage) { return reason }
      try stage.end()
      return try Self.epilogue(stage)
    }
  }

  /// Verifies after every scene that the store is intact and writable.
  private static func epilogue(_ stage: Stage) throws -> String? {
    let last = stage.enter(wrapped: false)
    let reason =
      try last.expect("open", "ok") ?? last.expect("check", "clean") ?? last.expect("write", "ok")
      ?? last.expect("close", "ok")
    if reason == nil { try stage.end() }
    return reason
  }
}

/// A store and the processes of a scene.
final class Stage {
  let root: String
  var random: SeededGenerator
  /// The initial number of tags, and of projects.
  let tags: String
  let projects: Int
  /// The initial digest of the contents.
  let digest: String
  private let subject: DamageSubject
  private let errors: String
  private let wrapper: [String]
  private var players: [Player] = []

  /// - Parameter wrapper: a command that starts the processes, in words.
  init(_ subject: DamageSubject, root: String, errors: String, wrapper: [String], _ random: SeededGenerator) {
    self.subject = subject
    self.root = root
    self.errors = errors
    self.wrapper = wrapper
    self.random = random
    let names = subject.sound.objects.keys
    tags = "\(names.count { $0.hasPrefix("Tag/") })"
    projects = names.count { $0.hasPrefix("Project/") }
    digest = subject.sound.reading?.digest ?? ""
  }

  /// Starts a process that executes commands until the scene ends.
  func enter(wrapped: Bool = true) -> Player {
    let player = Player(subject.context, root: root, errors: errors, wrapper: wrapped ? wrapper : [])
    players.append(player)
    return player
  }

  /// Ends all remaining processes.
  ///
  /// - Throws: ``Finding`` if one did not end properly.
  func end() throws {
    defer { players = [] }
    for player in players { try player.leave() }
  }
}

/// The campaign's side of a ``Performer``.
final class Player {
  private let process: AnsweringProcess

  init(_ context: TrialContext, root: String, errors: String, wrapper: [String]) {
    process = AnsweringProcess(context, ["act", "--root", root], errors: errors, wrapper: wrapper)
  }

  /// Sends a line, and waits for the answer.
  func answer(_ line: String) throws -> String {
    switch try process.ask(line) {
    case .line(let answer): return answer
    case .ended(let ending): return "ended: \(ending)"
    }
  }

  /// Returns nil if the answer is the expected one.
  func expect(_ line: String, _ expected: String) throws -> String? {
    let answer = try answer(line)
    return answer == expected ? nil : "\(line) said: \(answer), instead of: \(expected)"
  }

  func number(_ line: String) throws -> Int {
    let answer = try answer(line)
    guard let number = Int(answer) else { throw Finding("\(line) said: \(answer)") }
    return number
  }

  /// Sends a line without waiting for the answer.
  func tell(_ line: String) { process.tell(line) }

  /// - Throws: ``Finding`` if the process had already ended.
  func kill() throws {
    let ending = process.kill()
    guard ending == .signal(SIGKILL) else {
      throw Finding("a process to be killed had already ended: \(ending.map { "\($0)" } ?? "not started")")
    }
  }

  /// Ends the process, and waits until it exits.
  ///
  /// - Throws: ``Finding`` if it did not end properly.
  func leave() throws {
    let ending = process.stop()
    guard ending == .exit(0) else { throw Finding("a process that should exit normally ended with: \(ending)") }
  }
}
