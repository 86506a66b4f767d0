import Foundation
import KVClone

private func grouped(_ store: ObjectStore) async throws {
  try await store.write { tx in
    try tx.insert("Event", ["name": .string("login"), "at": .date(Date())])
  }
}

private func insert(_ line: String, _ tx: inout WriteTransaction) throws {
  try tx.insert("Event", ["name": .string(line)])
}

private func savepoints(_ store: ObjectStore, _ lines: [String]) throws -> [String] {
  var rejected: [String] = []
  try store.write { tx in
    for line in lines {
      do {
        try tx.savepoint { tx in try insert(line, &tx) }
      } catch {
        rejected.append(line)
      }
    }
  }
  return rejected
}
