import KVCloneModel

/// What a plan says of a step besides its numbers: unmatched renaming identifiers, what is removed, and another way
/// where it is refused.
extension MigrationPlanner {
  /// - Parameters:
  ///   - index: the step's number.
  ///   - counts: objects by the codes of their entities.
  /// - Throws: `invalidMapping` where objects need an expression that cannot be computed.
  func annotated(
    _ step: MigrationPlan.Step, _ index: Int, _ counts: [UInt16: Int]
  ) throws(StoreError) -> MigrationPlan.Step {
    let work = works[index]
    let codes = work.step.old.codes.entities
    if let mapping = work.step.mapping {
      try mapping.requireComputable { name in codes[name].flatMap { counts[$0] } ?? 0 > 0 }
      var step = step
      step.removals = removals(of: work.step.old.model, codes, counts, leaving: mapping)
      return step
    }
    var step = step
    step.warnings = work.difference.warnings
    step.removals = removals(of: work.step, counts)
    if !step.refusals.isEmpty {
      step.chain = MigrationPlan.Chain(
        from: work.step.old.model, to: work.step.new.model, through: options.versions)
    }
    return step
  }

  /// The entities with objects that no entity mapping reads: these go, with all links to them.
  private func removals(
    of model: ManagedObjectModel, _ codes: [String: UInt16], _ counts: [UInt16: Int], leaving mapping: MappingModel
  ) -> [MigrationPlan.Removal] {
    let read = Set(
      mapping.entityMappings.filter { $0.destinationEntityName != nil || $0.entityMigrationPolicyClassName != nil }
        .compactMap(\.sourceEntityName))
    return model.entities.compactMap { entity in
      guard !entity.isAbstract, !read.contains(entity.name),
        let count = codes[entity.name].flatMap({ counts[$0] }), count > 0
      else { return nil }
      return MigrationPlan.Removal(entity: entity.name, objectCount: count, links: [])
    }
  }

  private func removals(of step: MigrationStep, _ counts: [UInt16: Int]) -> [MigrationPlan.Removal] {
    let model = step.old.model
    func isKept(_ entity: String) -> Bool { step.matching.laterEntities[entity] != nil }
    let remaining = model.entities.filter { isKept($0.name) || model.subentities(of: $0.name).contains(where: isKept) }
    return model.entities.filter { !$0.isAbstract && !isKept($0.name) }.map { entity in
      let links = remaining.flatMap { owner in
        owner.relationships.filter { !$0.isTransient && model.entity(entity.name, isKindOf: $0.destinationEntityName) }
          .map { "\(owner.name).\($0.name)" }
      }
      let count = step.old.codes.entities[entity.name].flatMap { counts[$0] } ?? 0
      return MigrationPlan.Removal(entity: entity.name, objectCount: count, links: links)
    }
  }
}

extension MigrationPlan.Chain {
  /// The shortest chain of versions, each of which can be inferred from the one before, whatever a store holds; nil
  /// where none leads there.
  init?(from source: ManagedObjectModel, to destination: ManagedObjectModel, through versions: [ManagedObjectModel]) {
    var open: [ManagedObjectModel] = []
    var known: Set<ModelHash> = [source.modelHash, destination.modelHash]
    for version in versions where known.insert(version.modelHash).inserted { open.append(version) }
    var waiting: [[ManagedObjectModel]] = [[source]]
    while !waiting.isEmpty {
      for chain in waiting where chain.count > 1 {
        guard let last = chain.last, ModelDifference(from: last, to: destination).refusals.isEmpty else { continue }
        self.init(chain + [destination])
        return
      }
      var longer: [[ManagedObjectModel]] = []
      for chain in waiting {
        guard let last = chain.last else { continue }
        let reached = open.filter { ModelDifference(from: last, to: $0).refusals.isEmpty }
        let hashes = Set(reached.map(\.modelHash))
        open.removeAll { hashes.contains($0.modelHash) }
        longer += reached.map { chain + [$0] }
      }
      waiting = longer
    }
    return nil
  }

  private init(_ models: [ManagedObjectModel]) {
    versions = models.map(\.versionIdentifier)
    losses = zip(models, models.dropFirst()).flatMap { source, destination in
      ModelDifference(from: source, to: destination).changes.filter { $0.kind == .removed }.map {
        Loss(version: destination.versionIdentifier, entity: $0.entity, property: $0.property)
      }
    }
  }
}
