import ArgumentParser
import KVClone

struct QueryCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "query", abstract: "Finds objects by a predicate.",
    discussion: """
      The predicate is written in NSPredicate's format language: name BEGINSWITH[cd] 'a' AND ANY tags.name == 'red'. \
      An object is written as text: album == 'Album/3'. TRUEPREDICATE is every object.
      """)

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The entity; objects of its sub-entities are found too.", valueName: "entity"))
  var entity: String

  @Argument(help: ArgumentHelp("What has to hold.", valueName: "predicate"))
  var predicate: String

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Order by key paths, with commas between; - before one for descending, [cd] behind one to ignore case and accents.",
      valueName: "keys"))
  var sort: String?

  @Option(help: "At most so many objects.")
  var limit: Int?

  @Option(help: "Leave out so many objects at the beginning.")
  var offset: Int?

  @Flag(name: .customLong("count"), help: "Only tell how many there are.")
  var isCount = false

  @Flag(name: .customLong("explain"), help: "Only tell what would be done.")
  var isExplanation = false

  @Option(help: ArgumentHelp("How objects are written.", valueName: "table|json|csv|ids"))
  var format: Format = .table

  enum Format: String, ExpressibleByArgument { case table, json, csv, ids }

  func validate() throws {
    if (limit ?? 0) < 0 { throw ValidationError("--limit needs a number from 0") }
    if (offset ?? 0) < 0 { throw ValidationError("--offset needs a number from 0") }
    if isCount, isExplanation { throw ValidationError("--count and --explain are two questions; ask one") }
    _ = try request()
  }

  private func request() throws -> FetchRequest {
    let condition: QueryPredicate
    do {
      condition = try QueryPredicate(format: predicate)
    } catch {
      throw ValidationError("the predicate, \(error)")
    }
    return FetchRequest(
      entity, predicate: condition, sortDescriptors: try sortDescriptors(), fetchLimit: limit ?? 0,
      fetchOffset: offset ?? 0)
  }

  private func sortDescriptors() throws -> [QuerySortDescriptor] {
    guard let sort else { return [] }
    var descriptors: [QuerySortDescriptor] = []
    for part in sort.split(separator: ",", omittingEmptySubsequences: false) {
      var text = part.trimming()
      let ascending = !text.hasPrefix("-")
      if !ascending { text.removeFirst() }
      var options: QueryComparison.Options = []
      if let bracket = text.lastIndex(of: "["), text.hasSuffix("]") {
        for letter in text[text.index(after: bracket)...].dropLast() {
          switch letter {
          case "c": options.insert(.caseInsensitive)
          case "d": options.insert(.diacriticInsensitive)
          default: throw ValidationError("--sort takes [c], [d] and [cd] behind a key path")
          }
        }
        text = String(text[..<bracket])
      }
      do {
        descriptors.append(
          QuerySortDescriptor(try QueryExpression(format: text), ascending: ascending, options: options))
      } catch {
        throw ValidationError("--sort, \(error)")
      }
    }
    return descriptors
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
      var writer = QueryResultWriter(global.json ? .json : format, request.entityName, store.model, output)
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

extension Substring {
  fileprivate func trimming() -> String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
