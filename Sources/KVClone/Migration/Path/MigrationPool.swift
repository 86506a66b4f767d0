import KVCloneModel

/// Stages and mapping models as edges between versions, and the path that they give.
struct MigrationPool {
  /// A step that a stage or a mapping model, or both, are for.
  struct Edge {
    let from: Int
    let to: Int
    /// Places in the options: of the custom stage, the lightweight stage and the mapping model.
    var custom: Int?
    var lightweight: Int?
    var mapping: Int?
  }

  let versions: MigrationVersions
  let options: MigrationOptions
  /// One for each pair of versions, in the order in which they are given, stages first.
  private(set) var edges: [Edge] = []
  /// Mapping models that do not name two versions, by their places in the options.
  private var open: [Int] = []

  /// - Throws: `invalidStage` for stages that name no version, or contradict each other.
  init(_ versions: MigrationVersions, _ options: MigrationOptions) throws(StoreError) {
    self.versions = versions
    self.options = options
    for (index, stage) in options.stages.enumerated() {
      if let stage = stage as? CustomMigrationStage {
        try add(stage, index)
      } else if !(stage is LightweightMigrationStage) {
        throw StoreError(
          .invalidStage,
          "stage \(stage.label) has an unsupported type; use CustomMigrationStage or LightweightMigrationStage")
      }
    }
    for (index, stage) in options.stages.enumerated() {
      if let stage = stage as? LightweightMigrationStage { try add(stage, index) }
    }
    for (index, mapping) in options.mappings.enumerated() {
      guard let from = mapping.sourceVersionName.flatMap({ versions.position(named: $0, prefersEnd: false) }),
        let to = mapping.destinationVersionName.flatMap({ versions.position(named: $0, prefersEnd: true) })
      else {
        open.append(index)
        continue
      }
      if from == to { continue }
      update(from, to) { edge in edge.mapping = edge.mapping ?? index }
    }
  }

  private mutating func update(_ from: Int, _ to: Int, _ change: (inout Edge) -> Void) {
    let place = edges.firstIndex { $0.from == from && $0.to == to } ?? edges.count
    if place == edges.count { edges.append(Edge(from: from, to: to)) }
    change(&edges[place])
  }

  private mutating func add(_ stage: CustomMigrationStage, _ index: Int) throws(StoreError) {
    let from = try versions.position(of: stage.currentModel, in: stage)
    let to = try versions.position(of: stage.nextModel, in: stage)
    if from == to {
      throw StoreError(
        .invalidStage,
        "stage \(stage.label) begins and ends with the same version, because both have the same content; give one "
          + "version a hash modifier"
      )
    }
    if let other = edges.first(where: { $0.from == from && $0.to == to })?.custom {
      throw StoreError(
        .invalidStage,
        "the stages \(options.stages[other].label) and \(stage.label) are for the same step; a step has one stage")
    }
    update(from, to) { $0.custom = index }
  }

  private mutating func add(_ stage: LightweightMigrationStage, _ index: Int) throws(StoreError) {
    var last: Int?
    for version in stage.versions {
      let position = try versions.position(of: version, in: stage)
      defer { last = position }
      guard let from = last, from != position else { continue }
      if let custom = edges.first(where: { $0.from == from && $0.to == position })?.custom {
        throw StoreError(
          .invalidStage,
          "the lightweight stage \(stage.label) contains the step of the custom stage "
            + "\(options.stages[custom].label); end the lightweight stage where the custom stage begins")
      }
      update(from, position) { $0.lightweight = $0.lightweight ?? index }
    }
  }

  // MARK: Paths

  /// The edges that lead to the wanted version; or, where none do, those that lead as near to it as the order of
  /// versions shows.
  func path() -> [Edge] {
    let all = shortestPaths { _ in true }
    if let whole = all[versions.end] { return whole }
    let near = shortestPaths { versions.leadsTowardsEnd($0.from, $0.to) }
    let last = near.keys.filter { $0 != versions.start }.min { abs($0 - versions.end) < abs($1 - versions.end) }
    return last.flatMap { near[$0] } ?? []
  }

  /// The paths with the fewest edges from the store's version to each that can be reached.
  private func shortestPaths(_ isAllowed: (Edge) -> Bool) -> [Int: [Edge]] {
    var paths: [Int: [Edge]] = [versions.start: []]
    var waiting = [versions.start]
    while !waiting.isEmpty {
      var next: [Int] = []
      for position in waiting {
        for edge in edges where edge.from == position && isAllowed(edge) && paths[edge.to] == nil {
          paths[edge.to] = (paths[position] ?? []) + [edge]
          next.append(edge.to)
        }
      }
      waiting = next
    }
    return paths
  }

  /// The mapping model for a step that no named one is for: one without versions for the only step, or for one that
  /// cannot be inferred; and there also one that fits, and names a version that there is no more. Core Data does not
  /// look at the names, and versions are renamed.
  func openMapping(from start: Int, to end: Int, isOnly: Bool) -> Int? {
    if open.isEmpty { return nil }
    let (source, destination) = (versions.model(start), versions.models[end])
    let isRefused = !ModelDifference(from: source, to: destination, through: options.versions).refusals.isEmpty
    let unnamed = open.first {
      options.mappings[$0].sourceVersionName == nil && options.mappings[$0].destinationVersionName == nil
    }
    if let unnamed, isOnly || isRefused { return unnamed }
    if !isRefused { return nil }
    return open.first { index in
      let mapping = options.mappings[index]
      return mapping.mayLead(from: start, to: end, versions)
        && (try? mapping.resolved(from: source, to: destination)) != nil
    }
  }

  // MARK: What is left

  /// - Parameters:
  ///   - taken: the edges of the path.
  ///   - mappings: the mapping models that do one of its steps.
  ///   - path: the names of its versions.
  func unused(_ taken: [Edge], mappings: Set<Int>, path: [String]) -> [MigrationPlan.Unused] {
    let way =
      path.count > 1
      ? "the path is \(path.joined(separator: " → "))" : "the store already has the version \(path.first ?? "")"
    let used = Set(taken.flatMap { [$0.custom, $0.lightweight].compactMap { $0 } })
    let stages = options.stages.indices.filter { !used.contains($0) }.map { index in
      MigrationPlan.Unused(kind: .stage, label: options.stages[index].label, from: nil, to: nil, reason: way)
    }
    let rest = options.mappings.indices.filter { !mappings.contains($0) }.map { index in
      let mapping = options.mappings[index]
      let isDouble = !open.contains(index) && taken.contains { mapping.mayLead(from: $0.from, to: $0.to, versions) }
      return MigrationPlan.Unused(
        kind: .mapping, label: mapping.name ?? "", from: mapping.sourceVersionName, to: mapping.destinationVersionName,
        reason: isDouble ? "another mapping model covers this step" : way)
    }
    return stages + rest
  }
}

extension MappingModel {
  /// Whether the names do not contradict two versions: a name that no version has may be an earlier name of any.
  func mayLead(from source: Int, to destination: Int, _ versions: MigrationVersions) -> Bool {
    func allows(_ name: String?, _ position: Int, prefersEnd: Bool) -> Bool {
      guard let name, let named = versions.position(named: name, prefersEnd: prefersEnd) else { return true }
      return named == position
    }
    return allows(sourceVersionName, source, prefersEnd: false)
      && allows(destinationVersionName, destination, prefersEnd: true)
  }
}
