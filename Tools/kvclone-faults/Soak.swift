import Foundation
import KVClone
import KVCloneOperations
import Synchronization

/// Load of any duration: two processes with eight tasks each write and read, create and delete snapshots, while a
/// reader holds a snapshot until the store's policy evicts it.
///
/// Requirements: no error, consistent data, and a file size that reaches a plateau. A file does not shrink, but later
/// commits reuse the pages that an evicted reader retained. So the maximum size in the last third of the time is
/// compared with that of the second third: without the policy, it is 50 % larger.
struct Soak {
  let path: String
  let seconds: Int
  let seed: UInt64
  var usesCommitLog = false
  /// Whether stuck readers are evicted. The self-test disables it.
  var hasPolicy = true
  /// Called with a line of progress for each thirtieth of the time.
  var tell: @Sendable (String) -> Void = { _ in }

  /// The allowed growth in the last third, because the number of commits during a stuck reader varies.
  private static let tolerance = 1.10
  private static let processCount = 2

  private struct Sample {
    let second: Double
    let bytes: UInt64
  }

  /// - Returns: nil, or the violated requirement.
  func run() throws -> String? {
    // Long enough for a stuck reader to retain many pages (about 10 MB per second), short enough for several in each
    // third.
    let age = Duration.milliseconds(min(10_000, max(500, seconds * 1000 / 30)))
    var options = StoreOptions()
    options.journalMode = usesCommitLog ? .writeAheadLog : .copyOnWrite
    options.pinnedSnapshotMaximumAge = hasPolicy ? age : nil
    let store = try ObjectStore.create(at: path, model: SoakLoad.model, options: options)
    defer { store.close() }
    let start = ContinuousClock.now
    let endings = Mutex<[Int: ChildProcess.Ending]>([:])
    for number in 0..<Self.processCount { try startLoad(number) { ending in endings.withLock { $0[number] = ending } } }
    var samples: [Sample] = []
    var stuck: PinnedSnapshot? = try store.pinnedSnapshot(owner: "stuck")
    var nextReader = start
    var (evicted, told) = (0, 0)
    while endings.withLock({ $0.count }) < Self.processCount {
      usleep(100_000)
      let now = ContinuousClock.now
      let second = (now - start) / .seconds(1)
      samples.append(Sample(second: second, bytes: try Self.fileSize(path)))
      if let reader = stuck, reader.isExpired {
        if let reason = Self.complaint(ofExpired: reader) { return reason }
        evicted += 1
        stuck = nil
        nextReader = now + age
      } else if stuck == nil, now >= nextReader {
        stuck = try store.pinnedSnapshot(owner: "stuck")
      }
      if Int(second) * 30 / seconds > told {
        told = Int(second) * 30 / seconds
        tell(try line(store, second, evicted))
      }
    }
    stuck?.close()
    let outcomes = endings.withLock { $0 }
    for number in 0..<Self.processCount where outcomes[number] != .exit(0) {
      let words = (try? String(contentsOfFile: "\(path).\(number).err", encoding: .utf8)) ?? ""
      return "a process of the load ended with \(outcomes[number].map { "\($0)" } ?? "nothing"): \(words.suffix(500))"
    }
    if hasPolicy, evicted < 3 { return "only \(evicted) stuck readers were evicted" }
    if let left = try store.snapshots().first { return "the snapshot \(left.name) was not deleted" }
    let report = try store.check(CheckOptions(readData: true))
    if let damage = report.issues.first { return "check: \(damage.message)" }
    return plateau(samples)
  }

  private func startLoad(_ number: Int, _ ended: @escaping @Sendable (ChildProcess.Ending) -> Void) throws {
    var arguments = [
      "soak-work", "--root", path, "--seconds", "\(seconds)", "--seed", "\(seed)", "--process", "\(number)",
    ]
    if usesCommitLog { arguments.append("--commit-log") }
    let (given, path) = (arguments, path)
    Thread.detachNewThread {
      let ending = try? ChildProcess.run(
        "/proc/self/exe", given, environment: ProcessInfo.processInfo.environment, output: "\(path).\(number).out",
        errors: "\(path).\(number).err")
      ended(ending ?? .exit(127))
    }
  }

  private static func fileSize(_ path: String) throws -> UInt64 {
    let attributes = try FileManager.default.attributesOfItem(atPath: path + "/data.mdb")
    return attributes[.size] as? UInt64 ?? 0
  }

  private static func complaint(ofExpired reader: PinnedSnapshot) -> String? {
    do {
      _ = try reader.read { tx in try tx.fetchIDs(FetchRequest("Tag")) }
      return "an evicted reader can still read"
    } catch let error as StoreError {
      return error.kind == .snapshotExpired ? nil : "an evicted reader got \(error.kind)"
    } catch {
      return "an evicted reader got \(error)"
    }
  }

  private func line(_ store: ObjectStore, _ second: Double, _ evicted: Int) throws -> String {
    let facts = try store.statistics()
    return
      "\(Int(second)) s: commit \(facts.commit), \(facts.objectCount) objects, \(facts.snapshotCount) snapshots, "
      + "\(facts.readerCount) readers, \(evicted) evicted, \(facts.fileBytes >> 10) KiB"
  }

  private func plateau(_ samples: [Sample]) -> String? {
    func greatest(_ third: Int) -> UInt64 {
      samples.filter { Int($0.second * 3) / seconds == third }.map(\.bytes).max() ?? 0
    }
    let (second, last) = (greatest(1), samples.map(\.bytes).max() ?? 0)
    guard second > 0 else { return "the run was too short" }
    tell("file size: \(second >> 10) KiB after two thirds of the time, \(last >> 10) KiB at the end")
    if Double(last) <= Double(second) * Self.tolerance { return nil }
    return "no plateau: the file grew from \(second >> 10) KiB to \(last >> 10) KiB in the last third of the time"
  }
}

/// A short load in full mode; `Tools/faults --soak` runs the long one.
enum SoakFaults: FaultClass {
  static let name = "load"
  static let number = "load"

  /// A shorter load does not reach a plateau, so quick mode has none.
  private static let seconds = 45

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    let usesCommitLog = campaign.options.flags.contains("--commit-log")
    let seed = campaign.seed
    let trial = Trial(id: "load:\(seconds)") { lane in
      try Soak(path: lane.root + "-load", seconds: seconds, seed: seed, usesCommitLog: usesCommitLog).run()
    }
    return [TrialGroup(title: "two processes, stuck readers and snapshots", trials: campaign.isQuick ? [] : [trial])]
  }

  /// Runs the load without eviction of the stuck reader, which must be detected.
  static func withoutPolicy(_ campaign: Campaign) -> Trial {
    let seed = campaign.seed
    return Trial(id: "stuck") { lane in
      let found = try Soak(path: lane.root + "-stuck", seconds: 15, seed: seed, hasPolicy: false).run()
      // Other findings do not count as detection.
      return found.flatMap { $0.hasPrefix("no plateau") ? $0 : nil }
    }
  }

  /// Runs `Tools/faults --soak`.
  static func runAlone(_ options: Options) throws -> Int32 {
    let seconds = try options.number("--seconds", from: 10) ?? 1800
    let soak = Soak(
      path: try options.text("--scratch") + "/soak", seconds: seconds, seed: UInt64(try options.number("--seed") ?? 1),
      usesCommitLog: options.flags.contains("--commit-log")
    ) { line in Worker.say(line) }
    if let reason = try soak.run() {
      Worker.say("FAILED: \(reason)")
      return 1
    }
    let loads = (0..<2).compactMap { try? String(contentsOfFile: "\(soak.path).\($0).out", encoding: .utf8) }
    let sums = loads.map { $0.split(whereSeparator: \.isWhitespace).compactMap { Int($0) } }
    let total = (0..<3).map { index in sums.reduce(0) { $0 + ($1.count > index ? $1[index] : 0) } }
    Worker.say(
      "passed in \(seconds) s: \(total[0]) transactions, \(total[1]) reads, \(total[2]) snapshots created and deleted, clean check"
    )
    return 0
  }
}
