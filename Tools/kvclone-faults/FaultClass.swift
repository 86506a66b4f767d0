import Foundation

/// A class of faults, one file each. `Campaign.classes` lists them.
protocol FaultClass {
  /// The name for `--class`.
  static var name: String { get }
  /// The number of the corresponding guarantee in `FailureModel.md`.
  static var number: String { get }
  /// The trials in groups, one row of the table each.
  static func groups(_ campaign: Campaign) throws -> [TrialGroup]
}

/// The trials of one row of the table.
struct TrialGroup: Sendable {
  /// The name of the fault in the row.
  let title: String
  /// The number of the guarantee, if it differs from that of the class.
  var number: String?
  let trials: [Trial]
  /// The reason for a missing or reduced set of trials.
  var note: String?
  /// Evaluates all trials together, if a single one is not conclusive: returns nil or an explanation.
  var verdict: (@Sendable (_ failures: Int, _ trials: Int) -> String?)?
}

/// One fault, and the verification after it.
struct Trial: Sendable {
  /// The name within the class, for `--trial`; the same on every run with the same seed.
  let id: String
  /// Returns nil if all requirements held, otherwise an explanation.
  let run: @Sendable (Lane) throws -> String?
}

/// The resources of one thread of the campaign.
final class Lane {
  /// The directory for the files of the trials.
  let directory: String
  /// Verifiers by the directories of their workloads.
  private var servers: [String: VerifyServer] = [:]
  private var examiner: AnsweringProcess?

  init(directory: String) {
    self.directory = directory
  }

  /// The directory that contains a trial's store.
  var root: String { directory + "/root" }

  /// Verifies the store that a trial left.
  ///
  /// - Parameters:
  ///   - acknowledged: the last acknowledged commit, −1 if not even the creation was acknowledged.
  ///   - copied: the names of the acknowledged copies.
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

  /// Examines a store that a trial has corrupted; the examination may change it.
  ///
  /// - Parameter faults: the shim's variables, without their prefix, for faults during the examination.
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
