import Foundation

/// The interpreter, where there is one.
package enum Python {
  /// Whether it has SQLite.
  package static let hasSQLite = (try? run(["-c", "import sqlite3"])) == 0

  /// Runs it, and answers its exit code.
  package static func run(_ arguments: [String]) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3"] + arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }
}
