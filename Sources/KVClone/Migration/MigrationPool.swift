import KVCloneCore
import KVCloneModel

/// Stages and mapping models as edges between versions, and the path along them.
struct MigrationPool {
  /// A step of a stage or a mapping model, or both.
  struct Edge {
    let from: Int
    let to: Int
    /// Indexes in the options: of the custom stage, the lightweight stage and the mapping model.
    var custom: Int?
    var lightweight: Int?
    var mapping: Int?
  }

  let versions: MigrationVersions
  let options: MigrationOptions
  /// One for each pair of versions, in the order of the options, stages first.
  private(set) var edges: [Edge] = []
  /// Mapping models that do not name two versions, by their indexes in the options.
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

  /// The edges on the path to the wanted version; without a path, those that lead nearest to it in the order of
  /// versions.
  func path() -> [Edge] {
    let all = shortestPaths { _ in true }
    if let whole = all[versions.end] { return whole }
    let near = shortestPaths { versions.leadsTowardsEnd($0.from, $0.to) }
    let last = near.keys.filter { $0 != versions.start }.min { abs($0 - versions.end) < abs($1 - versions.end) }
    return last.flatMap { near[$0] } ?? []
  }

  /// The paths with the fewest edges from the store's version to each reachable one.
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

  /// The mapping model for a step without a named one: one without versions for the only step, or for one that cannot
  /// be inferred; in those cases also one that fits, and names a version that does not exist. Core Data ignores the
  /// names, and versions are renamed.
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

  // MARK: Unused

  /// - Parameters:
  ///   - taken: the edges of the path.
  ///   - mappings: the mapping models of its steps.
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
  /// Whether the names are compatible with two versions: an unknown name may be an earlier name of any.
  func mayLead(from source: Int, to destination: Int, _ versions: MigrationVersions) -> Bool {
    func allows(_ name: String?, _ position: Int, prefersEnd: Bool) -> Bool {
      guard let name, let named = versions.position(named: name, prefersEnd: prefersEnd) else { return true }
      return named == position
    }
    return allows(sourceVersionName, source, prefersEnd: false)
      && allows(destinationVersionName, destination, prefersEnd: true)
  }
}

/// The path that uses every mapping model, as `kvclone migrate --mapping` requires.
extension MigrationPool {
  /// The edges of the path that uses every mapping model. At most one inferred step is missing: before, between or
  /// after them.
  ///
  /// - Throws: `invalidMapping`, with a mapping model that cannot be used.
  func requiredPath() throws(StoreError) -> [Edge] {
    let wanted = try options.mappings.indices.map { (index) throws(StoreError) in try edge(of: index) }
    guard let first = wanted.first else { return versions.source == versions.destination ? [] : path() }
    if versions.start == versions.end {
      throw unusable(
        first, "the store already has the version '\(versions.name(versions.end))'; remove the mapping model")
    }
    for (index, edge) in wanted.enumerated() {
      for other in wanted[..<index] where other.from == edge.from || other.to == edge.to {
        let end =
          other.from == edge.from
          ? "begins with '\(versions.name(edge.from))'" : "ends with '\(versions.name(edge.to))'"
        throw unusable(edge, "\(label(other)) \(end), too, and a path visits no version twice; remove one of them")
      }
    }
    return try order(of: try runs(of: wanted), first)
  }

  /// The step of a mapping model: by the names of its versions; if a version has been renamed, the migration's own
  /// ends, or the only two versions that it fits.
  private func edge(of index: Int) throws(StoreError) -> Edge {
    let mapping = options.mappings[index]
    func edge(_ from: Int, _ to: Int) -> Edge {
      let known = edges.first { $0.from == from && $0.to == to }
      return Edge(from: from, to: to, custom: known?.custom, lightweight: known?.lightweight, mapping: index)
    }
    let from = mapping.sourceVersionName.flatMap { versions.position(named: $0, prefersEnd: false) }
    let to = mapping.destinationVersionName.flatMap { versions.position(named: $0, prefersEnd: true) }
    if let from, let to {
      if from != to { return edge(from, to) }
      throw unusable(edge(from, to), "it begins and ends with the same version; remove it")
    }
    var fitting: [Edge] = []
    for source in versions.models.indices where from == nil || from == source {
      for destination in versions.models.indices where destination != source && (to == nil || to == destination) {
        if (try? mapping.resolved(from: versions.model(source), to: versions.models[destination])) != nil {
          fitting.append(edge(source, destination))
        }
      }
    }
    let ends = fitting.filter { (from != nil || $0.from == versions.start) && (to != nil || $0.to == versions.end) }
    if let found = ends.first { return found }
    if fitting.count == 1, let found = fitting.first { return found }
    let names = [mapping.sourceVersionName, mapping.destinationVersionName].compactMap { $0 }
      .filter { !versions.knows($0) }.map { "'\($0)'" }.joined(separator: " and ")
    let problem = names.isEmpty ? "it does not name its versions" : "the model has no version \(names)"
    if fitting.isEmpty {
      throw unusable(
        edge(from ?? versions.start, to ?? versions.end),
        "\(problem), and it matches no two available versions; add the version that it was created for")
    }
    let choices = fitting.prefix(4).map { "\(versions.name($0.from)) → \(versions.name($0.to))" }
    throw unusable(
      edge(from ?? versions.start, to ?? versions.end),
      "\(problem), and it fits several steps (\(choices.joined(separator: "; "))) of paths with the same length; name "
        + "its versions")
  }

  /// Consecutive edges, as runs.
  private func runs(of wanted: [Edge]) throws(StoreError) -> [[Edge]] {
    var runs: [[Edge]] = []
    for edge in wanted where !wanted.contains(where: { $0.to == edge.from }) {
      var run = [edge]
      while let last = run.last, let next = wanted.first(where: { $0.from == last.to }) { run.append(next) }
      runs.append(run)
    }
    let placed = runs.joined().compactMap(\.mapping)
    if let edge = wanted.first(where: { edge in !placed.contains { $0 == edge.mapping } }) {
      throw unusable(edge, "it is part of a cycle, and a path visits no version twice; remove it")
    }
    return runs
  }

  /// The edges of the runs in the order of the path.
  ///
  /// - Parameter first: one of them.
  private func order(of runs: [[Edge]], _ first: Edge) throws(StoreError) -> [Edge] {
    for edge in runs.joined() {
      if edge.to == versions.start {
        throw unusable(edge, "it leads to the store's version, and a path visits no version twice; remove it")
      }
      if edge.from == versions.end {
        throw unusable(edge, "it begins with the target version, and a path visits no version twice; remove it")
      }
    }
    /// The number of inferred steps before, between and after the runs.
    func gaps(_ order: [[Edge]]) -> Int {
      var position = versions.start
      var count = 0
      for run in order {
        if run.first?.from != position { count += 1 }
        position = run.last?.to ?? position
      }
      return count + (position == versions.end ? 0 : 1)
    }
    // Two runs fit in one order at most: they begin with different versions. Three have two gaps between them.
    let orders: [[[Edge]]] = runs.count == 2 ? [runs, runs.reversed()] : [runs]
    if let path = orders.first(where: { gaps($0) <= 1 }) { return path.flatMap { $0 } }
    // Names a mapping model that needs an inferred step before it.
    let edge = runs.first { $0.first?.from != versions.start }?.first ?? first
    throw unusable(
      edge,
      "the path from '\(versions.name(versions.start))' to '\(versions.name(versions.end))' would have several "
        + "inferred steps, but only one is allowed; migrate to '\(versions.name(edge.from))' or "
        + "'\(versions.name(edge.to))' first, or remove the mapping model")
  }

  private func label(_ edge: Edge) -> String {
    let name = edge.mapping.flatMap { options.mappings[$0].name }.map { " \($0)" } ?? ""
    return "the mapping model\(name) (\(versions.name(edge.from)) → \(versions.name(edge.to)))"
  }

  private func unusable(_ edge: Edge, _ reason: String) -> StoreError {
    let mapping = edge.mapping.map { options.mappings[$0] }
    let names = [mapping?.sourceVersionName, mapping?.destinationVersionName].map { $0 ?? "?" }.joined(separator: " → ")
    return StoreError(
      .invalidMapping,
      "the mapping model\(mapping?.name.map { " \($0)" } ?? "") (\(names)) cannot be used: \(reason)")
  }
}
