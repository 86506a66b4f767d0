import Foundation
import KVClone

/// What a second process does on the level of objects.
let storeCommands: [String: @Sendable ([String]) throws -> Void] = [
  "stage": { try stage(at: $0[0], mebibytes: Int($0[1]) ?? 1) }
]

/// Stages data piece by piece: a line is read before each mebibyte and before the end, and one is printed after each.
/// The line `use Note/1 data` at the end makes the data a value; `drop` lets go of it, and the process lives on until
/// the next line.
private func stage(at path: String, mebibytes: Int) throws {
  let store = try ObjectStore.open(at: path)
  defer { store.close() }
  say("open")
  var staged: StagedData? = try store.stageData { writer in
    for number in 0..<mebibytes {
      guard readLine() != nil else { return }
      try writer.append(Data(repeating: UInt8(truncatingIfNeeded: number), count: 1 << 20))
      say("piece \(number)")
    }
    // What is left is written when the closure returns, which holds the writer's lock.
    _ = readLine()
  }
  say("staged \(staged?.byteCount ?? 0)")
  while let line = readLine() {
    let words = line.split(separator: " ").map(String.init)
    switch words.first {
    case "use":
      try store.write { transaction in
        guard let staged else { return }
        try transaction.setData(try transaction.objectID(named: words[1]), words[2], staged)
      }
      say("used")
    case "drop":
      staged = nil
      say("dropped")
    default: return
    }
  }
}

/// Prints a line at once: the test waits for it.
private func say(_ line: String) {
  FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
