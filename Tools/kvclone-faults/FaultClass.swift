import Foundation

/// A kind of fault: one file each, named after it. `Campaign.classes` lists them.
protocol FaultClass {
  /// Its name for `--class`.
  static var name: String { get }
  /// The number that `FailureModel.md` has for what its rows show.
  static var number: String { get }
  /// Its trials, in groups: one row of the table each.
  static func groups(_ campaign: Campaign) throws -> [TrialGroup]
}

/// Trials that are one row of the table.
struct TrialGroup: Sendable {
  /// What the row calls the fault.
  let title: String
  /// Where it is not that of its class.
  var number: String?
  let trials: [Trial]
  /// Why there are none, or fewer than one would expect.
  var note: String?
  /// Decides on all trials together, where one alone says nothing: nil, or what is wrong.
  var verdict: (@Sendable (_ failures: Int, _ trials: Int) -> String?)?
}

/// One fault, and what has to hold after it.
struct Trial: Sendable {
  /// Its name within its class, for `--trial`; the same on every run with the same seed.
  let id: String
  /// Nil when everything held, else what did not.
  let run: @Sendable (Lane) throws -> String?
}

/// What one thread of the campaign has to itself.
final class Lane {
  /// Where its trials take place.
  let directory: String
  /// By their workloads' directories.
  private var servers: [String: VerifyServer] = [:]
  private var examiner: AnsweringProcess?

  init(directory: String) {
    self.directory = directory
  }

  /// The directory that a trial's store is made in.
  var root: String { directory + "/root" }

  /// Verifies a store that a trial left.
  ///
  /// - Parameters:
  ///   - acknowledged: the last commit that was, −1 when not even the creation was.
  ///   - copied: the copies whose making was acknowledged, by their names.
  func verify(_ context: TrialContext, root: String, acknowledged: Int, copied: [String] = []) throws -> String? {
    let server = servers[context.directory] ?? VerifyServer(context, errors: directory + "/verify.err")
    servers[context.directory] = server
    switch try server.verify(root: root, acknowledged: acknowledged, copied: copied) {
    case .sound: return nil
    case .unsound(let reason): return reason
    case .crashed(let ending): return "the process that opened the store ended: \(ending)"
    }
  }

  enum ExaminationResult {
    case examined(Examination)
    /// The process that examined the store ended.
    case ended(ChildProcess.Ending)
  }

  /// Examines a store that a trial has damaged, and changes it.
  ///
  /// - Parameter faults: the shim's variables, without their prefix, for what happens to its files meanwhile.
  func examine(
    _ context: TrialContext, root: String, _ manner: Examiner.Manner, faults: [String: String] = [:]
  ) throws -> ExaminationResult {
    let process: AnsweringProcess
    if faults.isEmpty {
      process = examiner ?? AnsweringProcess(context, ["examine"], errors: directory + "/examine.err")
      examiner = process
    } else {
      process = AnsweringProcess(
        context, ["examine"], errors: directory + "/examine.err",
        variables: context.shimVariables(root: root + "/store", faults))
    }
    switch try process.ask("\(manner.rawValue) \(root)") {
    case .ended(let ending): return .ended(ending)
    case .line(let answer): return .examined(try JSONDecoder().decode(Examination.self, from: Data(answer.utf8)))
    }
  }
}
