import Foundation
import Testing

@testable import KVCloneExplorer

/// Follows the links of pages, and checks every response.
struct Crawler {
  let client: ExplorerClient
  /// The number of links from a start.
  var depth = 4
  /// The number of pages that differ only in numbers and in the values of their queries.
  var limit = 4

  /// The paths that were requested, with each number as a hash sign, and the names of their queries.
  private(set) var shapes: [String: Int] = [:]
  private(set) var problems: [String] = []

  init(_ client: ExplorerClient) { self.client = client }

  mutating func crawl(_ starts: [String]) async throws {
    var known = Set(starts)
    var level = starts.map { (target: $0, source: "the start") }
    for step in 0...depth {
      var next: [(target: String, source: String)] = []
      for (target, source) in level {
        let shape = Self.shape(of: target)
        guard shapes[shape, default: 0] < limit else { continue }
        shapes[shape, default: 0] += 1
        let response = await client.send("GET", target)
        let bytes = try await ObjectFixture.bytes(of: response)
        for problem in Self.problems(of: response, bytes) { problems.append("\(target), from \(source): \(problem)") }
        for link in Self.links(of: response, bytes) where step < depth && known.insert(link).inserted {
          next.append((link, target))
        }
      }
      level = next
    }
  }

  private static func shape(of target: String) -> String {
    let parts = target.split(separator: "?", maxSplits: 1)
    let path = String(parts[0]).replacing(/[0-9]+/, with: "#")
    let names = QueryItems(parts.count > 1 ? parts[1] : "")?.items.map(\.name) ?? []
    return path + "?" + Set(names).sorted().joined(separator: "&")
  }

  /// The targets of links and images, and of the redirect.
  private static func links(of response: ExplorerResponse, _ bytes: [UInt8]) -> [String] {
    if let target = response.header("Location") { return [target] }
    guard response.header("Content-Type")?.hasPrefix("text/html") == true else { return [] }
    var page = String(decoding: bytes, as: UTF8.self)
    // The present may lack the object of a page about a snapshot.
    if let start = page.range(of: "<div class=\"moment\">"),
      let end = page[start.upperBound...].range(of: "</div>")
    {
      page.removeSubrange(start.lowerBound..<end.upperBound)
    }
    return page.matches(of: /(?:href|src)="([^"#]+)/).map { match in
      [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")].reduce(String(match.1)) {
        $0.replacingOccurrences(of: $1.0, with: $1.1)
      }
    }
  }

  private static func problems(of response: ExplorerResponse, _ bytes: [UInt8]) -> [String] {
    if response.status == 303 { return [] }
    if response.status != 200 { return ["status \(response.status)"] }
    let text = String(decoding: bytes, as: UTF8.self)
    switch response.header("Content-Type")?.prefix(while: { $0 != ";" }) {
    case "text/html":
      var problems: [String] = []
      let ids = text.matches(of: /\sid="([^"]+)"/).map { String($0.1) }
      if Set(ids).count < ids.count { problems.append("an id occurs twice") }
      for form in text.matches(of: /<form[^>]*>/) where form.0.contains("method=\"get\"") {
        // A browser replaces the query of the action.
        if form.0.contains(/action="[^"]*\?/) { problems.append("a GET form has a query in its action") }
      }
      return problems
    case "application/json":
      return (try? JSONSerialization.jsonObject(with: Data(bytes))) == nil ? ["invalid JSON"] : []
    case "text/csv":
      let counts = Set(columnCounts(of: bytes))
      return counts.count == 1 ? [] : ["rows of \(counts.sorted()) columns"]
    default: return []
    }
  }

  /// The number of fields of each row of CSV.
  static func columnCounts(of bytes: [UInt8]) -> [Int] {
    var counts: [Int] = []
    var count = 1
    var isQuoted = false
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "\""): isQuoted.toggle()
      case UInt8(ascii: ",") where !isQuoted: count += 1
      case UInt8(ascii: "\n") where !isQuoted:
        counts.append(count)
        count = 1
      default: break
      }
    }
    return counts
  }
}
