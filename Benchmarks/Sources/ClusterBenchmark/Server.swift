import BenchmarkSupport
import Foundation

/// The server of the benchmarks, for statements of its own.
struct Server {
  let address: String

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Runs statements by `psql` in one session, each in a transaction of its own unless they begin one.
  ///
  /// - Returns: the output: unaligned rows.
  @discardableResult
  func run(_ statements: String...) throws -> String {
    guard let psql = Command.find("psql") else { throw Failure(description: "psql is not installed") }
    let words = [psql, "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", address] + statements.flatMap { ["-c", $0] }
    let result = try Command.run(words)
    guard result.status == 0 else { throw Failure(description: String(result.errors.suffix(500))) }
    return String(decoding: result.output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Runs statements in one session, and returns their duration in seconds, by the server's clock.
  func seconds(_ statements: [String]) throws -> Double {
    let clock = "SELECT extract(epoch FROM clock_timestamp())::float8"
    guard let psql = Command.find("psql") else { throw Failure(description: "psql is not installed") }
    var words = [psql, "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", clock]
    for statement in statements { words += ["-c", statement] }
    let result = try Command.run(words + ["-c", clock])
    guard result.status == 0 else { throw Failure(description: String(result.errors.suffix(500))) }
    let times = String(decoding: result.output, as: UTF8.self).split(separator: "\n").compactMap { Double($0) }
    guard let first = times.first, let last = times.last, times.count > 1 else { return 0 }
    return last - first
  }
}
