import ArgumentParser
import KVClone

struct QueryCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "query", abstract: "Finds objects that match a predicate.",
    discussion: """
      The predicate uses the format language of NSPredicate: name BEGINSWITH[cd] 'a' AND ANY tags.name == 'red'. Write \
      an object as a string: album == 'Album/3'. TRUEPREDICATE matches every object. With --select, prints values \
      instead of objects. The predicate and option values may begin with -.

      In CSV, nil is an empty field, and the empty string is "". In rows with a single column, nil is NULL, and the \
      string NULL is quoted.
      """,
    examples: [
      "kvclone query Note \"name BEGINSWITH[cd] 'a'\" --sort=-createDate --limit 10",
      "kvclone query Photo \"size > 1000\" --select title,album.title,tags.@count",
      "kvclone query Photo TRUEPREDICATE --select album.title --distinct",
      "kvclone query Photo TRUEPREDICATE --group-by album.title \\\n      --select \"album.title,n=@count,bytes=sum:(size)\" --having '$n > 10'",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(
    help: ArgumentHelp("The entity; the result includes objects of its subentities.", valueName: "entity"),
    completion: StoreCompletion.entities)
  var entity: String

  @Argument(help: ArgumentHelp("The predicate.", valueName: "predicate"))
  var predicate: String

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Sort by comma-separated key paths: -KEY descending, KEY[cd] ignoring case and accents, KEY[numeric] with digits "
        + "as numbers (file2 before file10).",
      valueName: "keys"))
  var sort: String?

  @Option(help: "Maximum number of results (default: all).")
  var limit: Int?

  @Option(help: "Number of results to skip (default: 0).")
  var offset: Int?

  @Option(
    help: ArgumentHelp(
      "Print these comma-separated values: key paths and expressions; for groups also @count, sum:(path), min:, max:, "
        + "average:, count:. NAME=EXPRESSION names a value.",
      valueName: "values"))
  var select: String?

  @Option(
    name: .customLong("group-by"),
    help: ArgumentHelp("Group objects with equal values, one result per group.", valueName: "values"))
  var groupBy: String?

  @Option(help: ArgumentHelp("The predicate for groups; $NAME is a selected value.", valueName: "predicate"))
  var having: String?

  @Flag(help: "Print equal results only once.")
  var distinct = false

  @Flag(name: .customLong("count"), help: "Print only the number of matching objects.")
  var isCount = false

  @Flag(name: .customLong("explain"), help: "Print the query plan.")
  var isExplanation = false

  @Option(help: ArgumentHelp("Output format.", valueName: "table|json|csv|ids"))
  var format: Format = .table

  enum Format: String, CaseIterable, ExpressibleByArgument { case table, json, csv, ids }

  func validate() throws {
    if (limit ?? 0) < 0 { throw ValidationError("--limit needs a number from 0") }
    if (offset ?? 0) < 0 { throw ValidationError("--offset needs a number from 0") }
    if isCount, isExplanation { throw ValidationError("--count and --explain exclude each other; give one") }
    if select == nil, groupBy != nil || having != nil || distinct {
      throw ValidationError("--group-by, --having and --distinct work only with --select")
    }
    if select != nil, isCount || isExplanation || format == .ids {
      throw ValidationError("--select prints values; remove --count, --explain and --format ids")
    }
    do {
      _ = try request()
    } catch is Failure {
      // Not a usage error: `run` throws it.
    }
  }

  private func request() throws -> FetchRequest {
    var request = FetchRequest(
      entity, predicate: try condition(predicate, "the predicate"), sortDescriptors: try sortDescriptors(),
      fetchLimit: limit ?? 0, fetchOffset: offset ?? 0)
    if let select { request.propertiesToFetch = try QueryColumns.parse(select, "--select", entity) }
    if let groupBy { request.propertiesToGroupBy = try QueryColumns.parse(groupBy, "--group-by", entity) }
    if let having { request.havingPredicate = try condition(having, "--having") }
    request.returnsDistinctResults = distinct
    return request
  }

  private func condition(_ format: String, _ place: String) throws -> QueryPredicate {
    do {
      return try QueryPredicate(format: format)
    } catch {
      throw QueryColumns.failure(error, place, entity)
    }
  }

  private func sortDescriptors() throws -> [QuerySortDescriptor] {
    guard let sort else { return [] }
    var descriptors: [QuerySortDescriptor] = []
    for part in QueryColumns.split(sort) {
      var text = part
      let ascending = !text.hasPrefix("-")
      if !ascending { text.removeFirst() }
      let options = try Self.takeOptions(&text)
      do {
        descriptors.append(
          QuerySortDescriptor(try QueryExpression(format: text), ascending: ascending, options: options))
      } catch {
        throw QueryColumns.failure(error, "--sort", entity)
      }
    }
    return descriptors
  }

  /// Removes `[cd]` and `[numeric]` from the end of a sort key.
  private static func takeOptions(_ text: inout String) throws -> QueryComparison.Options {
    var options: QueryComparison.Options = []
    while let bracket = text.lastIndex(of: "["), text.hasSuffix("]") {
      for word in text[text.index(after: bracket)...].dropLast().split(separator: ",", omittingEmptySubsequences: false)
      {
        switch word {
        case "c": options.insert(.caseInsensitive)
        case "d": options.insert(.diacriticInsensitive)
        case "cd", "dc": options.formUnion([.caseInsensitive, .diacriticInsensitive])
        case "numeric": options.insert(.numeric)
        default: throw ValidationError("--sort takes [c], [d], [cd] and [numeric] after a key path, also combined")
        }
      }
      text = String(text[..<bracket])
    }
    return options
  }

  func run() throws {
    let request = try request()
    let store = try global.openStore(isReadOnly: true)
    defer { GlobalOptions.close(store) }
    let output = Output()
    try store.read { transaction in
      if isExplanation { return try explain(try transaction.explain(request), output) }
      // A limit of 0 means no results here, and no limit in a request.
      let isNothing = limit == 0
      if isCount {
        let count = try transaction.count(request)
        return try report(isNothing ? 0 : count, output)
      }
      let format = global.json ? .json : format
      if select != nil {
        var writer = QueryDictionaryWriter(format, output)
        try writer.begin(request.propertiesToFetch.map(\.name))
        try transaction.forEachDictionary(matching: request) { dictionary in
          if isNothing { return false }
          try writer.write(dictionary, in: transaction)
          return true
        }
        return try writer.end()
      }
      var writer = QueryResultWriter(format, request.entityName, store.model, output)
      try writer.begin()
      try transaction.forEachObject(matching: request) { object in
        if isNothing { return false }
        try writer.write(object, in: transaction)
        return true
      }
      try writer.end()
    }
    try output.flush()
  }

  private func explain(_ steps: [String], _ output: Output) throws {
    if global.json {
      return try output.json { json in
        json.member("steps", steps)
      }
    }
    for step in steps { try output.line(step) }
  }

  private func report(_ count: Int, _ output: Output) throws {
    guard global.json else { return try output.line("\(count)") }
    try output.json { json in
      json.member("count", count)
    }
  }
}
