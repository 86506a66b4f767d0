import BenchmarkSupport
import KVClone
import PhotoStores

/// Dump, load and Core Data import through the command line tool.
struct ToolRows {
  let tool: MeasuredTool
  let sizes: ServiceSizes
  let folder: String

  private static let contestant = "kvclone"
  private var recipe: GraphRecipe { .small(sizes.objects) }

  func run(_ rows: [ServiceRow]) throws -> [RowResult] {
    let (source, target, text) = (folder + "/tool-source", folder + "/tool-target", folder + "/objects.ndjson")
    let (database, model) = (folder + "/objects.sqlite", folder + "/Photos.xcdatamodeld")
    defer { for path in [source, target, text, database, model] { StoreFiles.remove(path) } }
    if rows.contains(.dump) || rows.contains(.load) { try KVCloneStore.make(at: source, recipe) }
    var results: [RowResult] = []
    if rows.contains(.dump) {
      results.append(try measure(.dump) { try tool.run(["-s", source, "dump"], output: text) })
    } else if rows.contains(.load) {
      _ = try tool.run(["-s", source, "dump"], output: text)
    }
    if rows.contains(.load) {
      let result = try measure(.load) {
        StoreFiles.remove(target)
        try ObjectStore.create(at: target, model: PhotoModel.model).close()
        let sample = try tool.run(["-s", target, "-q", "load", text])
        try verify(target)
        return sample
      }
      results.append(result)
    }
    StoreFiles.remove(source)
    StoreFiles.remove(text)
    if rows.contains(.coreData) {
      try CoreDataDatabase.make(at: database, recipe)
      try PhotoModel.model.write(to: model)
      let result = try measure(.coreData) {
        StoreFiles.remove(target)
        let sample = try tool.run(["-s", target, "-q", "import", database, "--model", model])
        try verify(target)
        return sample
      }
      results.append(result)
    }
    return results
  }

  private func measure(_ row: ServiceRow, _ body: () throws -> Sample) throws -> RowResult {
    let title = row.title(sizes)
    report("\(row.rawValue): \(title)")
    var result = ContestantResult(title: Self.contestant)
    for _ in 0..<sizes.slowRounds { result.samples.append(try body()) }
    report("  \(duration(result.seconds.median)), \(bytes(Double(result.anonymousBytes))) anonymous")
    return RowResult(row: row, title: title, contestants: [result])
  }

  /// Compares the numbers of objects and links with those of the graph.
  private func verify(_ path: String) throws {
    let counts = try KVCloneStore.counts(at: path)
    let expected = ["Library": 1, "Album": recipe.albums, "Photo": recipe.photos, "Tag": recipe.tagCount]
    guard counts == expected else { throw PeerFailure("a store has \(counts) instead of \(expected)") }
    let store = try ObjectStore.open(at: path)
    defer { store.close() }
    let tagged = FetchRequest(
      "Photo", predicate: try QueryPredicate(format: "tags.@count == \(recipe.tagsPerPhoto) AND album != nil"))
    let taggedCount = try store.read { transaction in try transaction.count(tagged) }
    guard taggedCount == recipe.photos else {
      throw PeerFailure("\(taggedCount) of \(recipe.photos) photos have an album and all tags")
    }
  }
}
