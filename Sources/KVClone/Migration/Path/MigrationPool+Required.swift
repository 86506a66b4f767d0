import KVCloneModel

/// The path that uses every mapping model: what `kvclone migrate --mapping` demands.
extension MigrationPool {
  /// The edges of the path that uses every mapping model. One inferred step at most is missing: before, between or
  /// after them.
  ///
  /// - Throws: `invalidMapping`, naming a mapping model that cannot be used.
  func requiredPath() throws(StoreError) -> [Edge] {
    var wanted: [Edge] = []
    for index in options.mappings.indices { wanted.append(try edge(of: index)) }
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

  /// The step that a mapping model is for: by the names of its versions; where a version has another name by now, the
  /// migration's own ends, or the only two versions that it fits.
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

  /// Edges that follow each other, as runs.
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
    /// Inferred steps before, between and after the runs.
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
