import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Every version of every model of the corpus is migrated to the next one: all compatible data is kept, or the
/// migration is rejected for the expected reasons.
///
/// `KVCLONE_SEEDS` is the number of seeds, 1 by default; a failure prints its seed.
@Suite(
  "Migrations between the versions of the corpus", .enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
struct MigrationCorpusTests {
  /// A model with several versions.
  struct Bundle: Sendable, CustomTestStringConvertible {
    let path: String
    let versions: [ManagedObjectModel]
    var testDescription: String { path.split(separator: "/").suffix(2).joined(separator: "/") }
  }

  static let bundles: [Bundle] = Corpus.modelBundles().compactMap { path in
    let versions = (try? ManagedObjectModel.loadVersions(contentsOf: path).map(\.model)) ?? []
    return versions.count > 1 ? Bundle(path: path, versions: versions) : nil
  }
  static let seeds = ProcessInfo.processInfo.environment["KVCLONE_SEEDS"].flatMap(UInt64.init)

  @Test("each version to the next", arguments: bundles)
  func pairs(bundle: Bundle) throws {
    for seed in 1...(Self.seeds ?? 1) {
      for (index, pair) in zip(bundle.versions, bundle.versions.dropFirst()).enumerated() {
        // By default, only some pairs of the long histories.
        if Self.seeds == nil, index % 4 != bundle.versions.count % 4, index > 2 { continue }
        let what = "\(pair.0.versionIdentifier) to \(pair.1.versionIdentifier), seed \(seed)"
        let migrated = try MigratedStore(pair.0, seed: seed, size: seed % 4 == 0 ? 10 : 3)
        guard try migrated.migrate(to: pair.1, what) else { continue }
        try migrated.workOn(seed: seed + 100, what)
        try migrated.deleteSnapshots(what)
      }
    }
  }

  @Test("from the first to the last at once, and step by step", arguments: bundles.filter { $0.versions.count > 2 })
  func chains(bundle: Bundle) throws {
    for seed in 1...(Self.seeds ?? 1) {
      for versions in Self.runs(bundle.versions) {
        guard let first = versions.first, let last = versions.last else { continue }
        let what = "\(first.versionIdentifier) to \(last.versionIdentifier), seed \(seed)"
        let atOnce = try MigratedStore(first, seed: seed, size: 2)
        try atOnce.migrate(to: last, "\(what), at once")
        let inside = try MigratedStore(first, seed: seed, size: 2)
        let isDone = try inside.migrate(to: last, versions: versions, "\(what), in one transaction")
        let stepwise = try MigratedStore(first, seed: seed, size: 2)
        var steps = 0
        for version in versions.dropFirst() {
          if try !stepwise.migrate(to: version, "\(what), step by step") { break }
          steps += 1
          if steps % 3 == 1 { try stepwise.touch(Array(try stepwise.allObjects().prefix(5))) }
        }
        if isDone, steps == versions.count - 1 {
          try stepwise.workOn(seed: seed + 100, what)
        }
        try stepwise.deleteSnapshots(what)
      }
    }
  }

  /// Returns the longest runs of versions that can be migrated without a mapping.
  private static func runs(_ versions: [ManagedObjectModel]) -> [[ManagedObjectModel]] {
    var runs: [[ManagedObjectModel]] = []
    var run: [ManagedObjectModel] = []
    for version in versions {
      if let last = run.last, !ModelDifference(from: last, to: version).refusals.isEmpty {
        if run.count > 2 { runs.append(run) }
        run = []
      }
      run.append(version)
      // A history of 40 versions would take too long; eight are sufficient.
      if run.count == 8 {
        runs.append(run)
        run = [version]
      }
    }
    if run.count > 2 { runs.append(run) }
    return seeds == nil ? Array(runs.suffix(1)) : runs
  }
}
