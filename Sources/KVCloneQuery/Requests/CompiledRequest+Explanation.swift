import KVCloneCore
package import KVCloneModel

enum RequestExplanation {
  /// Returns the query plan of a request, one line per step.
  static func explain(_ request: FetchRequest, in session: borrowing Session) throws(StoreError) -> [String] {
    let answer = try RequestResolver.lookUp(request, in: session)
    let compiled = if let answer { answer.found } else { try FetchExecutor.compile(request, in: session) }
    return compiled.explanation(
      request.predicate, request.sortDescriptors, highest: try IndexReader.upperBound(compiled.entity, in: session),
      lookup: answer?.lookup)
  }

  /// Returns the query plan of a prepared request.
  static func explain(_ prepared: PreparedRequest, _ values: QueryVariables, in session: borrowing Session)
    throws(StoreError) -> [String]
  {
    let answer = try RequestResolver.lookUp(prepared, values, in: session)
    let compiled = if let answer { answer.found } else { try FetchExecutor.compile(prepared, values, in: session) }
    let request = prepared.request
    var predicate: QueryPredicate?
    if let open = request.predicate {
      predicate = try QueryBinder(compiler: QueryCompiler(compiled.entity, in: session), values: values).predicate(open)
    }
    return compiled.explanation(
      predicate, request.sortDescriptors, highest: try IndexReader.upperBound(compiled.entity, in: session),
      lookup: answer?.lookup)
  }
}

extension CompiledRequest {
  /// Returns the query plan of the request, one line per step.
  ///
  /// - Parameters:
  ///   - highest: the maximum number of the entity's objects.
  ///   - lookup: the lookup that found the objects, if no access was planned.
  package func explanation(
    _ predicate: QueryPredicate?, _ sort: [QuerySortDescriptor], highest: Int, lookup: KeyLookup? = nil
  ) -> [String] {
    var lines = lookup.map { [explanation(of: $0)] } ?? explanation(of: source, estimate, highest)
    if let predicate {
      let text = predicate.predicateFormat
      if isSourceExact {
        lines.append("no filter: the search is exact for \(text)")
      } else if lookup != nil {
        lines.append("filter by entity \(kinds); the search is exact for \(text)")
      } else {
        lines.append("filter by \(text)")
      }
    }
    let keys = sort.map { "\($0.key.expressionFormat)\($0.shownOptions) \($0.ascending ? "ascending" : "descending")" }
    if case .ordered(let ordered) = source {
      let told = keys.prefix(ordered.sortedCount).joined(separator: ", ")
      lines.append("in index order: \(told)")
      if ordered.sortedCount < keys.count {
        let rest = keys.dropFirst(ordered.sortedCount).joined(separator: ", ")
        lines.append("sort equal keys by \(rest), then by id")
      }
    } else if sortsResults {
      let kept = wanted.map { "the first \($0)" } ?? "all"
      let isNumeric = sort.contains { $0.options.contains(.numeric) }
      lines.append(
        "sort by \(keys.joined(separator: ", ")), then by id, keeping \(kept) objects in memory"
          + (isNumeric ? "; no index has the order of [numeric]" : ""))
    } else {
      lines.append("in the order of ids")
    }
    if offset > 0 { lines.append("skip the first \(offset)") }
    if let limit { lines.append("stop after \(limit)") }
    return lines
  }

  private func explanation(of lookup: KeyLookup) -> String {
    let columns = lookup.index.columns.prefix(lookup.sources.count).map(\.name).joined(separator: ", ")
    return "look up \(columns) in \(lookup.index.title), without planning\(Self.counted(estimate))"
  }

  private func explanation(of source: Source, _ estimate: Int?, _ highest: Int) -> [String] {
    let counted = Self.counted(estimate)
    switch source {
    case .entity: return ["scan all objects of \(kinds) (at most \(Self.objects(highest)))"]
    case .objects(let ids): return ["look up \(Self.objects(ids.count)) by id"]
    case .members(let owners, let link):
      return ["read the members of \(link.name) of \(Self.objects(owners.count))\(counted)"]
    case .linked(let search):
      let found = "look up \(search.entity.name) in \(search.scan.index.title)\(Self.counted(search.found.count))"
      let members = estimate.map { "about \(Self.objects($0))" } ?? "their members"
      return ["\(found); follow \(search.inverse.name) to \(members)"]
    case .index(let scan): return [explanation(of: scan) + counted]
    case .ordered(let ordered):
      return [explanation(of: ordered.scan) + (ordered.isReversed ? ", in reverse" : "") + counted]
    case .union(let branches):
      return ["merge the results of \(branches.count) searches\(counted)"]
        + branches.flatMap { explanation(of: $0.source, $0.estimate, highest) }.map { "  " + $0 }
    }
  }

  private func explanation(of scan: IndexScan) -> String {
    let columns = scan.index.columns.prefix(scan.limitedCount).map(\.name).joined(separator: ", ")
    let title = scan.index.title
    if columns.isEmpty { return "scan \(title)" }
    let places = scan.intervals.count == 1 ? "" : " in \(scan.intervals.count) ranges"
    return "search \(title) by \(columns)\(places)"
  }

  private var kinds: String { entity.name + (includesSubentities ? " and its sub-entities" : "") }

  private static func counted(_ estimate: Int?) -> String { estimate.map { " (about \(objects($0)))" } ?? "" }

  private static func objects(_ count: Int) -> String { count == 1 ? "1 object" : "\(count) objects" }
}

extension QuerySortDescriptor {
  /// The options in the notation of predicate formats.
  fileprivate var shownOptions: String {
    let letters = (options.contains(.caseInsensitive) ? "c" : "") + (options.contains(.diacriticInsensitive) ? "d" : "")
    return (letters.isEmpty ? "" : "[\(letters)]") + (options.contains(.numeric) ? "[numeric]" : "")
  }
}
