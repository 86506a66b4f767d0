import KVCloneModel

extension CompiledRequest {
  /// What is done for the request, a line for each step.
  ///
  /// - Parameter highest: how many objects the entity has at most.
  func explanation(_ predicate: QueryPredicate?, _ sort: [QuerySortDescriptor], highest: Int) -> [String] {
    var lines = explanation(of: source, estimate, highest)
    if let predicate {
      let text = predicate.predicateFormat
      lines.append(
        isSourceExact ? "take all of them: they are those for which \(text)" : "keep those for which \(text)")
    }
    let keys = sort.map { "\($0.key.expressionFormat) \($0.ascending ? "ascending" : "descending")" }
    if case .ordered(let ordered) = source {
      let told = keys.prefix(ordered.sortedCount).joined(separator: ", ")
      lines.append("in the order of the index, which is that of \(told)")
      if ordered.sortedCount < keys.count {
        let rest = keys.dropFirst(ordered.sortedCount).joined(separator: ", ")
        lines.append("sort what that does not tell apart by \(rest), then by id")
      }
    } else if sortsResults {
      let kept = wanted.map { "the first \($0)" } ?? "all"
      lines.append("sort by \(keys.joined(separator: ", ")), then by id, keeping \(kept) of them in memory")
    } else {
      lines.append("in the order of ids")
    }
    if offset > 0 { lines.append("leave out the first \(offset)") }
    if let limit { lines.append("stop after \(limit)") }
    return lines
  }

  private func explanation(of source: Source, _ estimate: Int?, _ highest: Int) -> [String] {
    let counted = estimate.map { " (about \(Self.objects($0)))" } ?? ""
    switch source {
    case .entity:
      let others = includesSubentities ? " and its sub-entities" : ""
      return ["look at every object of \(entity.name)\(others) (at most \(Self.objects(highest)))"]
    case .objects(let ids): return ["look up \(Self.objects(ids.count)) by id"]
    case .members(let owners, let link):
      return ["look at the members of \(link.name) of \(Self.objects(owners.count))\(counted)"]
    case .index(let scan): return [explanation(of: scan) + counted]
    case .ordered(let ordered):
      return [explanation(of: ordered.scan) + (ordered.isReversed ? ", from its end" : "") + counted]
    case .union(let branches):
      return ["join the objects of \(branches.count) searches\(counted)"]
        + branches.flatMap { explanation(of: $0.source, $0.estimate, highest) }.map { "  " + $0 }
    }
  }

  private func explanation(of scan: IndexScan) -> String {
    let columns = scan.index.columns.prefix(scan.limitedCount).map(\.name).joined(separator: ", ")
    let title = scan.index.title
    if columns.isEmpty { return "go through \(title)" }
    let places = scan.intervals.count == 1 ? "" : " in \(scan.intervals.count) places"
    return "search \(title) by \(columns)\(places)"
  }

  private static func objects(_ count: Int) -> String { count == 1 ? "1 object" : "\(count) objects" }
}
