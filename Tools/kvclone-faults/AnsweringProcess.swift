import Foundation

/// A child process of this program that answers a line for each line that it is asked, and is started again when a question
/// takes it down.
final class AnsweringProcess {
  enum Answer: Sendable, Equatable {
    case line(String)
    /// The process ended before it had answered.
    case ended(ChildProcess.Ending)
  }

  private let executable: String
  private let arguments: [String]
  private let environment: [String: String]
  private let errors: String
  private var connection: (child: ChildProcess, toChild: Int32, lines: PipeLines)?

  /// - Parameters:
  ///   - errors: the file that its standard error goes to.
  ///   - wrapper: the words of a command that starts it.
  ///   - variables: its environment's, besides those that it has anyhow.
  init(
    _ context: TrialContext, _ arguments: [String], errors: String, wrapper: [String] = [],
    variables: [String: String] = [:]
  ) {
    executable = wrapper.isEmpty ? context.executable : "/usr/bin/env"
    environment = TrialContext.environment.merging(variables) { $1 }
    self.arguments = wrapper.isEmpty ? arguments : wrapper + [context.executable] + arguments
    self.errors = errors
  }

  deinit { stop() }

  /// - Parameter question: without the end of the line.
  func ask(_ question: String) throws -> Answer {
    if connection == nil {
      let started = try ChildProcess.converse(executable, arguments, environment: environment, errors: errors)
      connection = (started.child, started.toChild, PipeLines(started.fromChild))
    }
    guard tell(question) else { return .ended(stop()) }
    reportLateness()
    guard let answer = connection?.lines.next() else { return .ended(stop()) }
    return .line(answer)
  }

  /// Waits for an answer, and tells on standard error what the process is at when it takes so long that its clock will end it.
  private func reportLateness() {
    guard let connection, !connection.lines.hasNext(within: Self.patience) else { return }
    StandardError.write("no answer within \(Self.patience): \(LateProcess.description(of: connection.child.id))\n")
    if LateProcess.waitsForMachine(connection.child.id) { Standstill.shared.noteWait() }
  }

  /// Less than a process has for what takes long. Of those that have five seconds for a step nothing is told but that they ended late.
  private static let patience = Duration.seconds(25)

  /// Writes a line, and waits for nothing; false where there is no process any more.
  @discardableResult
  func tell(_ question: String) -> Bool {
    guard let connection else { return false }
    let line = Array((question + "\n").utf8)
    return line.withUnsafeBytes { write(connection.toChild, $0.baseAddress, $0.count) } == line.count
  }

  /// - Returns: how it ended: by this, or before; nil where it had not begun.
  func kill() -> ChildProcess.Ending? {
    guard let connection else { return nil }
    _ = Foundation.kill(connection.child.id, SIGKILL)
    return stop()
  }

  /// Lets it come to its end, and waits for that.
  @discardableResult
  func stop() -> ChildProcess.Ending {
    guard let connection else { return .exit(0) }
    close(connection.toChild)
    close(connection.lines.descriptor)
    self.connection = nil
    return connection.child.wait()
  }
}
