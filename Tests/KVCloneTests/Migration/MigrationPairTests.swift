import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Every version of every bundle of the corpus is migrated to every other one in one inferred step: neighbours and
/// jumps, forwards and back.
///
/// A default run takes a random sample, and a failure prints its seed: `KVCLONE_PAIRS=seed` repeats the sample,
/// `KVCLONE_PAIRS=all` tests all pairs. `KVCLONE_SEEDS` is the number of graphs for each pair.
@Suite(
  "Pairs of versions of the corpus, in one inferred step",
  .enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
struct MigrationPairTests {
  private static let wanted = ProcessInfo.processInfo.environment["KVCLONE_PAIRS"]
  private static let isWhole = wanted == "all"

  private struct Pair {
    let bundle: MigrationCorpusTests.Bundle
    let from: Int
    let to: Int
  }

  private static let pairs: [Pair] = MigrationCorpusTests.bundles.flatMap { bundle in
    bundle.versions.indices.flatMap { from in
      bundle.versions.indices.filter { $0 != from && bundle.versions[$0].modelHash != bundle.versions[from].modelHash }
        .map { Pair(bundle: bundle, from: from, to: $0) }
    }
  }

  @Test("what both ends have survives, and the oracle agrees")
  func pairs() throws {
    let sample = Self.wanted.flatMap(UInt64.init) ?? UInt64(Date().timeIntervalSince1970)
    var generator = SeededGenerator(seed: sample)
    let chosen = Self.isWhole ? Self.pairs : Self.pairs.shuffled(using: &generator)
    #expect(Self.pairs.count > 400)
    var (done, refused, survivors) = (0, 0, 0)
    for (index, pair) in chosen.enumerated() {
      // Several in a row can be pairs that cannot be inferred.
      if !Self.isWhole, index >= 6, done > 0, survivors > 0 { break }
      for round in 1...(MigrationCorpusTests.seeds ?? 1) {
        let seed = sample &+ UInt64(index) &+ round &* 1_000
        let (source, destination) = (pair.bundle.versions[pair.from], pair.bundle.versions[pair.to])
        let what =
          "\(pair.bundle.testDescription): \(source.versionIdentifier) to \(destination.versionIdentifier), seed \(seed) of sample \(sample)"
        let migrated = try MigratedStore(source, seed: seed, size: 3)
        let before = try migrated.graph()
        let others = pair.bundle.versions.filter { $0.modelHash != destination.modelHash }
        guard try migrated.migrate(to: destination, through: others, what) else {
          refused += 1
          continue
        }
        done += 1
        let survival = Survival(from: source, to: destination)
        let problems = survival.problems(before, try migrated.graph())
        #expect(problems.isEmpty, "\(what): \(problems.prefix(5))")
        survivors += survival.valueCount(before)
        if index % 4 == 0 {
          try migrated.workOn(seed: seed &+ 1, what)
          try migrated.deleteSnapshots(what)
        }
      }
    }
    #expect(done > 0 && survivors > 0, "seed \(sample)")
    if Self.isWhole {
      print(
        "\(done) migrations of \(chosen.count) pairs, \(refused) refused, \(survivors) values and links kept; seed \(sample)"
      )
    }
  }

  @Test("ArtsyPartner to ArtsyPartner 2 is one step, over no version of another name")
  func artsy() throws {
    let bundle = try #require(MigrationCorpusTests.bundles.first { $0.path.hasSuffix("ArtsyPartner.xcdatamodeld") })
    let source = try #require(bundle.versions.first { $0.versionIdentifier == "ArtsyPartner" })
    let destination = try #require(bundle.versions.first { $0.versionIdentifier == "ArtsyPartner 2" })
    let migrated = try MigratedStore(source, seed: 1, size: 3)
    migrated.store.close()
    let plan = try migrated.test.planMigration(
      to: destination, migration: MigrationOptions(versions: bundle.versions))
    #expect(plan.steps.map(\.to) == ["ArtsyPartner 2"])
    try migrated.test.reopen()
    #expect(try migrated.migrate(to: destination, through: bundle.versions, "Artsy"))
  }
}

/// The data that a migration must keep because of equal names at both ends, computed from the two models alone.
///
/// Weaker than ``MigrationOracle``, and independent of its rules: an entity, an attribute of the same type or a link
/// that both versions have by a name that no renaming identifier touches keeps its objects, values and members.
private struct Survival {
  private let entities: [String]
  private let attributes: [String: [String]]
  private let relationships: [String: [String]]

  init(from source: ManagedObjectModel, to destination: ManagedObjectModel) {
    let identifiers = Set((source.entities + destination.entities).compactMap(\.renamingIdentifier))
    func isPlain(_ name: String) -> Bool {
      guard let old = source.entity(named: name), let new = destination.entity(named: name) else { return false }
      return old.renamingIdentifier == nil && new.renamingIdentifier == nil && !identifiers.contains(name)
        && old.superentityName == new.superentityName && (old.superentityName.map(isPlain) ?? true)
    }
    let plain = source.entities.map(\.name).filter { isPlain($0) }
    entities = plain.filter { source.entity(named: $0)?.isAbstract == false }
    var attributes: [String: [String]] = [:]
    var relationships: [String: [String]] = [:]
    for entity in entities {
      let (old, new) = (source.attributes(of: entity), destination.attributes(of: entity))
      let renamed = Set((old + new).compactMap(\.renamingIdentifier))
      attributes[entity] = old.filter { attribute in
        let isStored = !attribute.isTransient && attribute.derivationExpression == nil && attribute.type != .composite
        return isStored && attribute.renamingIdentifier == nil && !renamed.contains(attribute.name)
          && new.contains {
            $0.name == attribute.name && $0.type == attribute.type && !$0.isTransient && $0.derivationExpression == nil
              && $0.renamingIdentifier == nil
          }
      }.map(\.name)
      let (links, newLinks) = (source.relationships(of: entity), destination.relationships(of: entity))
      let renamedLinks = Set((links + newLinks).compactMap(\.renamingIdentifier))
      relationships[entity] = links.filter { link in
        !link.isTransient && link.renamingIdentifier == nil && !renamedLinks.contains(link.name)
          && newLinks.contains {
            $0.name == link.name && !$0.isTransient && $0.renamingIdentifier == nil
              && $0.destinationEntityName == link.destinationEntityName
          }
      }.map(\.name)
    }
    self.attributes = attributes
    self.relationships = relationships
  }

  func valueCount(_ before: ReferenceGraph) -> Int {
    entities.reduce(0) { count, entity in
      count + (before.counts[entity] ?? 0) * ((attributes[entity] ?? []).count + (relationships[entity] ?? []).count)
    }
  }

  func problems(_ before: ReferenceGraph, _ after: ReferenceGraph) -> [String] {
    var problems: [String] = []
    let kept = Set(entities)
    for (label, object) in before.objects where kept.contains(label.entity) {
      guard let now = after[label] else {
        problems.append("\(label) is gone")
        continue
      }
      for name in attributes[label.entity] ?? [] {
        guard let value = object.attributes[name] else { continue }
        if now.attributes[name] != value { problems.append("\(label).\(name) has another value") }
      }
      for name in relationships[label.entity] ?? [] {
        let members = Set(object.targets(name).filter { kept.contains($0.entity) })
        if !members.isSubset(of: now.targets(name)) { problems.append("\(label).\(name) lost members") }
      }
    }
    return problems
  }
}
