import ArgumentParser
import KVClone

struct QueryCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "query", abstract: "Finds objects by a predicate.",
    discussion: """
      The predicate is written in NSPredicate's format language: name BEGINSWITH[cd] 'a' AND ANY tags.name == 'red'. \
      An object is written as text: album == 'Album/3'. TRUEPREDICATE is every object. With --select, values are written \
      instead of objects. A predicate, or a value of an option, may begin with -.

      CSV has nothing between the commas for nil, and "" for the empty text. In rows of one column nil is NULL, and the \
      text NULL is quoted.
      """,
    examples: [
      "kvclone query Note \"name BEGINSWITH[cd] 'a'\" --sort=-createDate --limit 10",
      "kvclone query Photo \"size > 1000\" --select title,album.title,tags.@count",
      "kvclone query Photo TRUEPREDICATE --select album.title --distinct",
      "kvclone query Photo TRUEPREDICATE --group-by album.title \\\n      --select \"album.title,n=@count,bytes=sum:(size)\" --having '$n > 10'",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(
    help: ArgumentHelp("The entity; objects of its sub-entities are found too.", valueName: "entity"),
    completion: StoreCompletion.entities)
  var entity: String

  @Argument(help: ArgumentHelp("What has to hold.", valueName: "predicate"))
  var predicate: String

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Order by key paths, with commas between; - before one for descending, [cd] behind one to ignore case and accents, "
        + "[numeric] to count digits as numbers (file2 before file10).",
      valueName: "keys"))
  var sort: String?

  @Option(help: "At most so many objects.")
  var limit: Int?

  @Option(help: "Leave out so many objects at the beginning.")
  var offset: Int?

  @Option(
    help: ArgumentHelp(
      "Write these values, with commas between: key paths, expressions, of groups @count, sum:(path), min:, max:, "
        + "average:, count:. NAME=EXPRESSION calls one by a name.",
      valueName: "values"))
  var select: String?

  @Option(
    name: .customLong("group-by"),
    help: ArgumentHelp("One result for all objects that have these values in common.", valueName: "values"))
  var groupBy: String?

  @Option(help: ArgumentHelp("What has to hold for a group; $NAME is a selected value.", valueName: "predicate"))
  var having: String?

  @Flag(help: "Write equal results once.")
  var distinct = false

  @Flag(name: .customLong("count"), help: "Only tell how many there are.")
  var isCount = false

  @Flag(name: .customLong("explain"), help: "Only tell what would be done.")
  var isExplanation = false

  @Option(help: ArgumentHelp("How objects are written.", valueName: "table|json|csv|ids"))
  var format: Format = .table

  enum Format: String, CaseIterable, ExpressibleByArgument { case table, json, csv, ids }

  func validate() throws {
    if (limit ?? 0) < 0 { throw ValidationError("--limit needs a number from 0") }
    if (offset ?? 0) < 0 { throw ValidationError("--offset needs a number from 0") }
    if isCount, isExplanation { throw ValidationError("--count and --explain are two questions; ask one") }
    if select == nil, groupBy != nil || having != nil || distinct {
      throw ValidationError("--group-by, --having and --distinct need --select")
    }
    if select != nil, isCount || isExplanation || format == .ids {
      throw ValidationError("--select gives values; leave --count, --explain and --format ids out")
    }
    do {
      _ = try request()
    } catch is Failure {
      // No wrong usage: `run` ends with it.
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

  /// Takes `[cd]` and `[numeric]` off the end of a sort key.
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
        default: throw ValidationError("--sort takes [c], [d], [cd] and [numeric] behind a key path, also together")
        }
      }
      text = String(text[..<bracket])
    }
    return options
  }

  func run() throws {
    let request = try request()
    let store = try global.openStore(isReadOnly: true)
    defer { store.close() }
    let output = Output()
    try store.read { transaction in
      if isExplanation { return try explain(try transaction.explain(request), output) }
      // A limit of 0 is no result here, and no limit in a request.
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
        json.beginObject()
        json.key("steps")
        json.beginArray()
        for step in steps { json.string(step) }
        json.endArray()
        json.endObject()
      }
    }
    for step in steps { try output.line(step) }
  }

  private func report(_ count: Int, _ output: Output) throws {
    guard global.json else { return try output.line("\(count)") }
    try output.json { json in
      json.beginObject()
      json.member("count", count)
      json.endObject()
    }
  }
}
