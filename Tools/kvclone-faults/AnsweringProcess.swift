import Foundation

/// A child process of this program that answers each request line with one line. It is restarted after a request that
/// crashes it.
final class AnsweringProcess {
  enum Answer: Sendable, Equatable {
    case line(String)
    /// The process ended without an answer.
    case ended(ChildProcess.Ending)
  }

  private let executable: String
  private let arguments: [String]
  private let environment: [String: String]
  private let errors: String
  private var connection: (child: ChildProcess, toChild: Int32, lines: PipeLines)?

  /// - Parameters:
  ///   - errors: the file that receives its standard error.
  ///   - wrapper: a command that starts it, in words.
  ///   - variables: environment variables in addition to those of the trial context.
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

  /// - Parameter question: the request, without the newline.
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

  /// Waits for an answer, and reports the state of the process on standard error if its alarm is about to end it.
  private func reportLateness() {
    guard let connection, !connection.lines.hasNext(within: Self.patience) else { return }
    StandardError.write("no answer within \(Self.patience): \(LateProcess.description(of: connection.child.id))\n")
    if LateProcess.waitsForMachine(connection.child.id) { Standstill.shared.noteWait() }
  }

  /// Less than the alarm of a process with long steps. Processes with five seconds for a step end before this report.
  private static let patience = Duration.seconds(25)

  /// Writes a line without waiting for an answer; returns false if the process has ended.
  @discardableResult
  func tell(_ question: String) -> Bool {
    guard let connection else { return false }
    let line = Array((question + "\n").utf8)
    return line.withUnsafeBytes { write(connection.toChild, $0.baseAddress, $0.count) } == line.count
  }

  /// - Returns: the exit status or signal, or nil if the process was not started.
  func kill() -> ChildProcess.Ending? {
    guard let connection else { return nil }
    _ = Foundation.kill(connection.child.id, SIGKILL)
    return stop()
  }

  /// Closes the input of the process and waits until it exits.
  @discardableResult
  func stop() -> ChildProcess.Ending {
    guard let connection else { return .exit(0) }
    close(connection.toChild)
    close(connection.lines.descriptor)
    self.connection = nil
    return connection.child.wait()
  }
}
