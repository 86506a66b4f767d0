import KVCloneCore
import KVCloneModel

/// A step of a migration: from one version of the model to the next, in a transaction that other steps share.
struct MigrationStep {
  let matching: ModelMatching
  let old: StoreCatalog
  let new: StoreCatalog
  /// The mapping model that creates the objects of the destination, resolved; nil for an inferred step.
  let mapping: MappingModel?

  /// - Parameter versions: other versions of the model, through which renaming identifiers are followed.
  init(
    from old: StoreCatalog, to model: ManagedObjectModel, by mapping: MappingModel? = nil,
    through versions: [ManagedObjectModel] = []
  ) throws(StoreError) {
    matching =
      mapping == nil
      ? ModelMatching(from: old.model, to: model, through: versions)
      : ModelMatching(unrelated: old.model, to: model)
    self.old = old
    self.mapping = mapping
    new = try old.migrated(matching)
  }

  /// Codes of the concrete entities that the destination lacks.
  var removedEntities: Set<UInt16> {
    Set(
      old.model.entities.filter { !$0.isAbstract && matching.laterEntities[$0.name] == nil }
        .compactMap { old.codes.entities[$0.name] })
  }

  /// Whether all entities of a root's table are removed: such tables are kept unchanged for snapshots. If one of the
  /// entities remains, under another root or as one, others may be linked to the deleted objects.
  func isRetired(rootCode: UInt16) -> Bool {
    !new.rootCodes.contains(rootCode)
      && old.model.entities.allSatisfy { entity in
        matching.laterEntities[entity.name] == nil
          || old.model.rootEntity(of: entity.name).flatMap { old.codes.entities[$0] } != rootCode
      }
  }

  /// Concrete entities that get another root: their code, and the old and the new root's.
  var moves: [(entity: UInt16, from: UInt16, to: UInt16)] {
    matching.entities.compactMap { later, earlier in
      guard let code = old.codes.entities[earlier], old.model.entity(named: earlier)?.isAbstract == false,
        let from = old.model.rootEntity(of: earlier).flatMap({ old.codes.entities[$0] }),
        let to = matching.destination.rootEntity(of: later).flatMap({ new.codes.entities[$0] }), from != to
      else { return nil }
      return (code, from, to)
    }.sorted { $0.entity < $1.entity }
  }
}

/// The results of a step.
struct MigrationTally: Equatable {
  var deletedCount = 0
  var movedCount = 0
  var rewrittenCount = 0
  /// The number of objects that mapping models have created.
  var createdCount = 0
  /// The bytes of written keys and values, including preimages.
  var byteCount: UInt64 = 0
  /// The snapshot that was created first.
  var snapshot: String?
}

/// Steps that are done together: each but the first deletes and moves no objects, and each but the last only changes
/// values of records. A record is therefore rewritten once, whatever the number of versions.
struct MigrationStride {
  /// The number of the first step.
  let first: Int
  private(set) var steps: [MigrationStep]
  /// The stages with handlers to run before the first step and after the last.
  let stageBefore: CustomMigrationStage?
  private(set) var stageAfter: CustomMigrationStage?

  init(_ first: Int, _ step: MigrationStep, _ stage: CustomMigrationStage?) {
    self.first = first
    steps = [step]
    (stageBefore, stageAfter) = (stage, stage)
  }

  mutating func add(_ step: MigrationStep, _ stage: CustomMigrationStage?) {
    steps.append(step)
    stageAfter = stage
  }

  /// The mapping model that creates the objects of the destination; a step with one is not combined with others.
  var mapping: MappingModel? { steps[0].mapping }
}
