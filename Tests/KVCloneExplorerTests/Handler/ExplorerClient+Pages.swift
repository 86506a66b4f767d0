import Foundation
import Testing

@testable import KVCloneExplorer

extension ExplorerClient {
  /// Returns the text of a page, and expects status 200.
  func page(_ target: String, sourceLocation: SourceLocation = #_sourceLocation) async -> String {
    let response = await send("GET", target)
    #expect(response.status == 200, "\(target): \(response.text.prefix(500))", sourceLocation: sourceLocation)
    return response.text
  }

  /// Returns the JSON document of a page, also if the target is that of the page itself.
  func json(_ target: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> [String: Any] {
    let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
    let path = parts[0].hasSuffix(".json") ? parts[0] : parts[0] + ".json"
    let text = await page(path + (parts.count > 1 ? "?\(parts[1])" : ""), sourceLocation: sourceLocation)
    let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
    return try #require(value as? [String: Any], sourceLocation: sourceLocation)
  }

  /// Posts a form, as a page of the explorer does.
  func post(_ target: String, _ form: String = "") async -> ExplorerResponse {
    await send(
      "POST", target,
      [("Origin", "http://\(Self.host)"), ("Content-Type", "application/x-www-form-urlencoded")], body: form)
  }

  /// Follows links with an HTML page until it contains `text`.
  func wait(for text: String, at target: String) async throws -> String {
    while true {
      let page = await page(target)
      if page.contains(text) { return page }
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}
