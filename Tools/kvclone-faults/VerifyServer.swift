/// A child process that verifies images one after another.
final class VerifyServer {
  static let secondsPerImage: UInt32 = 60

  enum Verdict: Sendable, Equatable {
    /// An intact store at this commit; −1: no store.
    case sound(Int)
    case unsound(String)
    /// The process that opened the image ended.
    case crashed(ChildProcess.Ending)
  }

  private let process: AnsweringProcess

  init(_ context: TrialContext, errors: String) {
    process = AnsweringProcess(
      context, ["verify", "--states-file", context.statesFile] + context.workloadArguments, errors: errors)
  }

  /// - Parameters:
  ///   - acknowledged: the last acknowledged commit, −1 for none, not even the creation.
  ///   - copied: the acknowledged copies.
  func verify(root: String, acknowledged: Int, copied: [String]) throws -> Verdict {
    let names = copied.isEmpty ? "-" : copied.joined(separator: ",")
    switch try process.ask("\(acknowledged) \(names) \(root)") {
    case .ended(let ending): return .crashed(ending)
    case .line(let answer):
      let parts = answer.split(separator: " ", maxSplits: 1)
      switch parts.first {
      case "sound": return .sound(parts.count > 1 ? Int(parts[1]) ?? -1 : -1)
      case "unsound": return .unsound(parts.count > 1 ? String(parts[1]) : "")
      default: return .unsound("the verifier answered: \(answer)")
      }
    }
  }
}
