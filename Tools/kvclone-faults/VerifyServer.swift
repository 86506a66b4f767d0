import Foundation

/// A child process that verifies one image after the other, and is started again when an image takes it down.
final class VerifyServer {
  static let secondsPerImage: UInt32 = 60

  enum Verdict: Sendable, Equatable {
    /// A sound store at this commit; −1: no store.
    case sound(Int)
    case unsound(String)
    /// The process that opened the image ended.
    case crashed(ChildProcess.Ending)
  }

  private let context: TrialContext
  private let errors: String
  private var connection: (child: ChildProcess, toChild: Int32, fromChild: Int32)?
  private var buffer: [UInt8] = []

  init(_ context: TrialContext, errors: String) {
    self.context = context
    self.errors = errors
  }

  deinit { _ = stop() }

  /// - Parameter acknowledged: the last commit that was acknowledged, −1 for none, not even the creation.
  /// - Parameter copied: the copies that were.
  func verify(root: String, acknowledged: Int, copied: [String]) throws -> Verdict {
    let connection = try connection ?? start()
    self.connection = connection
    let names = copied.isEmpty ? "-" : copied.joined(separator: ",")
    let question = Array("\(acknowledged) \(names) \(root)\n".utf8)
    let sent = question.withUnsafeBytes { write(connection.toChild, $0.baseAddress, $0.count) }
    guard sent == question.count, let answer = readLine(connection.fromChild) else { return .crashed(stop()) }
    let parts = answer.split(separator: " ", maxSplits: 1)
    switch parts.first {
    case "sound": return .sound(parts.count > 1 ? Int(parts[1]) ?? -1 : -1)
    case "unsound": return .unsound(parts.count > 1 ? String(parts[1]) : "")
    default: return .unsound("the verifier answered: \(answer)")
    }
  }

  private func start() throws -> (child: ChildProcess, toChild: Int32, fromChild: Int32) {
    try ChildProcess.converse(
      context.executable,
      ["verify", "--states-file", context.statesFile] + context.workloadArguments, environment: context.environment,
      errors: errors)
  }

  private func stop() -> ChildProcess.Ending {
    guard let connection else { return .exit(0) }
    close(connection.toChild)
    close(connection.fromChild)
    self.connection = nil
    buffer = []
    return connection.child.wait()
  }

  private func readLine(_ descriptor: Int32) -> String? {
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        defer { buffer.removeSubrange(...end) }
        return String(decoding: buffer[..<end], as: UTF8.self)
      }
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return nil }
      buffer.append(contentsOf: chunk[..<count])
    }
  }
}
