import Foundation

/// What some processes do with a store, and what must come of it: one row of the table.
struct Scene: Sendable {
  let id: String
  let title: String
  /// In the full run.
  let count: Int
  var quickCount = 2
  /// The words of a command that its processes are started by; it takes what not every machine and user has.
  var wrapper: (@Sendable (_ root: String) -> [String])?
  /// Nil when everything held, else what did not.
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

  /// Whatever was played: the store is sound, and bears a write.
  private static func epilogue(_ stage: Stage) throws -> String? {
    let last = stage.enter(wrapped: false)
    let reason =
      try last.expect("open", "ok") ?? last.expect("check", "clean") ?? last.expect("write", "ok")
      ?? last.expect("close", "ok")
    if reason == nil { try stage.end() }
    return reason
  }
}

/// Where a scene is played: a store, and the processes that come and go.
final class Stage {
  let root: String
  var random: SeededGenerator
  /// How many tags and projects the store has at first.
  let tags: String
  let projects: Int
  /// What it holds at first.
  let digest: String
  private let subject: DamageSubject
  private let errors: String
  private let wrapper: [String]
  private var players: [Player] = []

  /// - Parameter wrapper: the words of a command that processes are started by.
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

  /// A process that obeys, until the scene ends.
  func enter(wrapped: Bool = true) -> Player {
    let player = Player(subject.context, root: root, errors: errors, wrapper: wrapped ? wrapper : [])
    players.append(player)
    return player
  }

  /// All leave that are still there.
  ///
  /// - Throws: ``Finding`` where one could not.
  func end() throws {
    defer { players = [] }
    for player in players { try player.leave() }
  }
}

/// The campaign's hand on an ``Performer``.
final class Player {
  private let process: AnsweringProcess

  init(_ context: TrialContext, root: String, errors: String, wrapper: [String]) {
    process = AnsweringProcess(context, ["act", "--root", root], errors: errors, wrapper: wrapper)
  }

  /// Says a line, and waits for the answer.
  func answer(_ line: String) throws -> String {
    switch try process.ask(line) {
    case .line(let answer): return answer
    case .ended(let ending): return "ended: \(ending)"
    }
  }

  /// Nil where the answer is the expected one.
  func expect(_ line: String, _ expected: String) throws -> String? {
    let answer = try answer(line)
    return answer == expected ? nil : "\(line) said: \(answer), instead of: \(expected)"
  }

  func number(_ line: String) throws -> Int {
    let answer = try answer(line)
    guard let number = Int(answer) else { throw Finding("\(line) said: \(answer)") }
    return number
  }

  /// Says a line, and does not wait.
  func tell(_ line: String) { process.tell(line) }

  /// - Throws: ``Finding`` where it was not there any more.
  func kill() throws {
    let ending = process.kill()
    guard ending == .signal(SIGKILL) else {
      throw Finding("a process to be killed had already ended: \(ending.map { "\($0)" } ?? "not started")")
    }
  }

  /// Lets it end, and waits for that.
  ///
  /// - Throws: ``Finding`` where it did not end well.
  func leave() throws {
    let ending = process.stop()
    guard ending == .exit(0) else { throw Finding("a process that should exit normally ended with: \(ending)") }
  }
}
