import Foundation
import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// A browser on the pages of clones.
struct CloneClient {
  let explorer: Explorer

  init(_ store: ObjectStore, allowsWrites: Bool = false, timeLimit: Duration = .unreached) {
    var options = ExplorerOptions()
    options.allowsWrites = allowsWrites
    options.requestTimeLimit = timeLimit
    explorer = Explorer(store, options: options)
  }

  func get(_ path: String, _ query: String = "") async -> ExplorerResponse {
    await explorer.respond(to: ExplorerRequest(path: path, query: query, headers: [("Host", "localhost")]))
  }

  /// The text of a page with status 200.
  func page(_ path: String, _ query: String = "", _ location: SourceLocation = #_sourceLocation) async -> String {
    let response = await get(path, query)
    #expect(response.status == 200, "\(path)?\(query): \(response.content.prefix(500))", sourceLocation: location)
    return response.content
  }

  func json(_ path: String, _ query: String = "", _ location: SourceLocation = #_sourceLocation) async throws
    -> [String: Any]
  {
    let value = try JSONSerialization.jsonObject(with: Data(await page("\(path).json", query, location).utf8))
    return try #require(value as? [String: Any], sourceLocation: location)
  }

  func post(_ path: String, _ items: [(name: String, value: String)], query: String = "") async -> ExplorerResponse {
    var form = QueryItems()
    for item in items { form.append(item.name, item.value) }
    return await explorer.respond(
      to: ExplorerRequest(
        method: "POST", path: path, query: query,
        headers: [
          ("Host", "localhost"), ("Origin", "http://localhost"),
          ("Content-Type", "application/x-www-form-urlencoded"),
        ], body: Array(form.text.utf8)))
  }

  /// Posts to a page, and returns the page that the response leads to.
  func follow(_ path: String, _ items: [(name: String, value: String)], query: String = "") async throws -> URLParts {
    let response = await post(path, items, query: query)
    #expect(response.status == 303, "\(response.content.prefix(500))")
    return URLParts(try #require(response.headers.first { $0.name == "Location" }?.value))
  }
}

/// A path with its query.
struct URLParts: Equatable {
  let path: String
  let query: String

  init(_ text: String) {
    let parts = text.split(separator: "?", maxSplits: 1).map(String.init)
    path = parts[0]
    query = parts.count > 1 ? parts[1] : ""
  }
}

extension ExplorerResponse {
  /// The body as text.
  var content: String {
    if case .bytes(let bytes) = body { String(decoding: bytes, as: UTF8.self) } else { "" }
  }
}

extension CloneStore {
  /// Loads a generated graph, and returns the names of its objects by those of the graph.
  func load(_ graph: GeneratedGraph) throws -> [String: String] {
    var rest = Array(try graph.ndjson(model: view).utf8)[...]
    var options = LoadOptions()
    options.idLimit = .max
    return try store.load(options) { buffer in
      buffer.append(contentsOf: rest)
      defer { rest = [] }
      return !rest.isEmpty
    }.ids
  }

  /// A note with items that share a tag, a description and memos.
  static func notes(items: Int = 3) throws -> (store: CloneStore, note: ObjectID, tag: ObjectID) {
    let store = try CloneStore(MOClonerModel.model)
    let tag = try store.insert("ToOneTag", ["name": .string("shared tag")])
    let note = try store.insert("Note", ["name": .string("first note"), "data": .binary(Data(count: 5000))])
    for number in 0..<items {
      try store.insert("Item", ["name": .string("item \(number)")], ["note": [note], "toOneTag": [tag]])
    }
    try store.insert("NoteDescription", ["content": .string("about")], ["note": [note]])
    for number in 0..<2 { try store.insert("Memo", ["text": .string("memo \(number)")], ["note": [note]]) }
    return (store, note, tag)
  }
}
