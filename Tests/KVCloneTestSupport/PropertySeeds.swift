import Foundation

/// The number and the seeds of the runs of property tests.
package enum PropertySeeds {
  private static let givenSeeds = (ProcessInfo.processInfo.environment["KVCLONE_SEEDS"] ?? "")
    .split(separator: ",").compactMap { UInt64($0) }
  package static let hasGivenSeeds = !givenSeeds.isEmpty
  package static let seeds: [UInt64] =
    hasGivenSeeds ? givenSeeds : [1, .random(in: 0 ... .max), .random(in: 0 ... .max)]

  package static let operationCount = Int(ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] ?? "") ?? 3000
}
