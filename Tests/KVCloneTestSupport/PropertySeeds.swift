import Foundation

/// The number and the seeds of the runs of property tests.
package enum PropertySeeds {
  private static let givenSeeds = (ProcessInfo.processInfo.environment["KVCLONE_SEEDS"] ?? "")
    .split(separator: ",").compactMap { UInt64($0) }
  package static let hasGivenSeeds = !givenSeeds.isEmpty
  package static let seeds: [UInt64] =
    hasGivenSeeds
    ? givenSeeds : isShort ? [.random(in: 0 ... .max)] : [1, .random(in: 0 ... .max), .random(in: 0 ... .max)]

  package static let operationCount = count(3000)

  /// Returns the number of operations that `KVCLONE_OPERATIONS` gives, or else `standard`; a fifth of it for stores in
  /// a cluster, which take several times as long.
  package static func count(_ standard: Int) -> Int {
    Int(ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] ?? "") ?? (isShort ? standard / 5 : standard)
  }

  private static var isShort: Bool { !TestStore.hasDataFile }
}
