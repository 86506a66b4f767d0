import KVClone
import KVCloneTestSupport

@testable import KVCloneExplorer

/// Makes requests of random bytes, of hostile names, and of parts that the explorer knows.
struct RequestGenerator {
  private var random: SeededGenerator

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
  }

  /// Names that are legal in models made in code.
  static let entities = [
    "Note", "<hostile>", "\"hostile\"", "'hostile'", "%41", "~", "\u{202E}eno", "?a&b#c", "\u{301}", "🧀", "json", "a~",
  ]

  static let model = ManagedObjectModel("Hostile") {
    for entity in entities {
      EntityDescription(entity) {
        AttributeDescription("title", .string)
        AttributeDescription("<hostile>", .binary)
        RelationshipDescription("next", toOne: entity)
        RelationshipDescription("\"hostile\"", toMany: entity)
      }
    }
  }

  private static let words =
    entities.map(PathSegment.encode) + [
      "entities", "objects", "find", "clone", "time", "compare", "rollback", "model", "versions", "migration", "store",
      "check", "graph", "events", "assets", "explorer.css", "history", "raw", "blob", "text", "title", "1", "2",
      "99999999999999999999", "-1", "b", "..", ".", "~", "%2e%2e", "%00", "%", "%FF", "%0d%0aX: y", ".json", ".csv",
      "Note.json", "%3Chostile%3E", "%22hostile%22", "%E2%80%AE", "\u{202E}", "\u{301}.json", "",
    ]

  /// Paths of pages: `E` stands for an entity, `N` for a serial, `A` for a property, `S` for a snapshot,
  /// `B` for a branch.
  private static let pages = [
    "/", "/entities/E", "/find", "/objects/E/N", "/objects/E/N/blob/A", "/objects/E/N/text/A", "/objects/E/N/history",
    "/objects/E/N/raw", "/clone/E/N", "/time", "/time/transactions/N", "/compare", "/compare/E/N", "/rollback/S",
    "/model", "/model/E", "/model/entities/E",
    "/model/versions", "/model/migration", "/store", "/store/check", "/graph/E/N", "/entities/E/explain",
    "/branches", "/branches/B", "/branches/B/publish", "/branches/B/update", "/branches/B/delete", "/drafts",
    "/drafts/E/N",
  ]

  private static let names = [
    "where", "sort", "columns", "after", "before", "limit", "at", "from", "to", "id", "token", "v", "count",
    "depth", "branch", "policy", "rule", "answer", "conflict.0", "choice.0", "object", "do", "key",
  ]

  private static let values = [
    "title", "-title", "title%20==%20'x'", "Note/1", "Note/18446744073709551615", "t", "0", "-1",
    "9223372036854775808", "1e400", "%3Chostile%3E", "%22hostile=%22%3E", "before.json", "%00", "%C0%80", "+", "%",
    "FALSEPREDICATE", "spring", "%40base", "%40store", "theirs", "plan", "%7B%22kind%22%3A%22bothChanged%22%7D",
    "ANY%20next.title%20==%201", "SUBQUERY(", "\u{0}", "NaN",
  ]

  private static let headerNames = [
    "Host", "Origin", "Cookie", "Accept", "Authorization", "Content-Type", "Sec-Fetch-Site", "Last-Event-ID", "Range",
    "Content-Length", "X-Hostile", "",
  ]

  private static let headerValues = [
    "localhost", "127.0.0.1:8080", "http://127.0.0.1:8080", "same-origin", "application/json", "text/csv;q=0.1, */*",
    "application/x-www-form-urlencoded", "Bearer t", "bytes=0-", "bytes=-1,5-2", "kvclone-=;=;;a", "null", "",
    "[::1]:99999", "a\r\nb: c",
  ]

  mutating func next() -> ExplorerRequest {
    var request = ExplorerRequest(method: method(), path: path(), query: query(), body: [])
    if !random.chance(in: 4) { request.headers.append(("Host", random.chance(in: 3) ? "localhost" : "127.0.0.1:8080")) }
    for _ in 0..<random.below(5) {
      request.headers.append((pick(Self.headerNames), random.chance(in: 4) ? bytes(30) : pick(Self.headerValues)))
    }
    if request.method == "POST", !random.chance(in: 3) {
      request.headers.append(("Sec-Fetch-Site", "same-origin"))
      request.headers.append(("Content-Type", "application/x-www-form-urlencoded"))
    }
    if random.chance(in: 2) { request.body = Array((random.chance(in: 3) ? bytes(200) : query()).utf8) }
    return request
  }

  private mutating func method() -> String {
    switch random.below(10) {
    case 0: bytes(5)
    case 1: "HEAD"
    case 2, 3: "POST"
    default: "GET"
    }
  }

  private mutating func path() -> String {
    if random.chance(in: 20) { return bytes(40) }
    var path = random.chance(in: 4) ? "/b" : ""
    if !random.chance(in: 3) {
      for part in pick(Self.pages).split(separator: "/") {
        switch part {
        case "E": path += "/" + PathSegment.encode(pick(Self.entities))
        case "N": path += "/\(random.below(25))"
        case "A": path += "/" + PathSegment.encode(pick(["title", "<hostile>", "next", "\"hostile\""]))
        case "B": path += "/" + pick(["spring", "missing", "%3Chostile%3E"])
        case "S": path += "/before.json~"
        default: path += "/" + part
        }
      }
      return path + (random.chance(in: 2) ? pick(["", "/", ".json", ".csv"]) : "")
    }
    for _ in 0..<random.below(5) { path += "/" + (random.chance(in: 10) ? bytes(10) : pick(Self.words)) }
    if random.chance(in: 4) { path += pick([".json", ".csv", "/", ".json~"]) }
    return path
  }

  private mutating func query() -> String {
    if random.chance(in: 10) { return bytes(60) }
    return (0..<random.below(4)).map { _ in
      "\(pick(Self.names))=\(random.chance(in: 6) ? bytes(20) : pick(Self.values))"
    }.joined(separator: "&")
  }

  private mutating func pick(_ texts: [String]) -> String { texts[random.below(texts.count)] }

  /// Returns random bytes, with U+FFFD for those that are not UTF-8.
  private mutating func bytes(_ limit: Int) -> String {
    let bytes = (0..<random.below(limit + 1)).map { _ in UInt8.random(in: 0...255, using: &random) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
