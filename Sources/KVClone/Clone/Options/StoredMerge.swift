#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneRecords

/// The result of a merge with an idempotency key, as JSON: keys of clones and of merges share a table.
package struct StoredMerge: Codable {
  /// The numbers of inserted, updated and deleted objects by entity.
  package let counts: [String: [Int]]
  package let snapshots: [String]
  package let seconds: Double
  /// The number of the merged branch; nil for a draft.
  package let branch: UInt32?

  package init(counts: [String: [Int]], snapshots: [String], seconds: Double, branch: UInt32?) {
    self.counts = counts
    self.snapshots = snapshots
    self.seconds = seconds
    self.branch = branch
  }

  package func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return Array(try encoder.encode(self))
  }

  package static func decode(_ operation: OperationValue) -> StoredMerge? {
    guard let stored = try? JSONDecoder().decode(StoredMerge.self, from: Data(operation.result)),
      (0...1e12).contains(stored.seconds)
    else { return nil }
    return stored
  }
}
