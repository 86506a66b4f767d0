import Foundation

/// The Python interpreter, if one is installed.
package enum Python {
  /// Whether the interpreter has the SQLite module.
  package static let hasSQLite = (try? run(["-c", "import sqlite3"])) == 0

  /// Runs the interpreter, and returns its exit code.
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
