#if Explorer
  import Foundation
  import Testing

  /// A store, served by `kvclone explore`, and a browser that has opened it.
  final class ExplorerSite {
    let scratch: Scratch
    let browser: Browser
    /// The URL of the server, without a path.
    let origin: String
    private let server: BackgroundProgram

    /// - Parameters:
    ///   - options: more options of `explore`.
    ///   - fill: creates the store.
    init(_ options: String..., fill: (Scratch) throws -> Void = ExplorerSite.fillWithDemo) throws {
      scratch = try Scratch()
      try fill(scratch)
      server = try BackgroundProgram(
        Scratch.executable, ["--store", scratch.store, "--json", "explore", "--port", "0"] + options, in: scratch)
      let url = try server.wait { output -> String? in
        let document = try? JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]
        return document?["url"] as? String
      }
      let parts = try #require(URLComponents(string: url))
      origin = "http://\(parts.host ?? ""):\(parts.port ?? 0)"
      browser = try Browser(in: scratch)
      try browser.open(url)
    }

    /// The demo store, with a snapshot, and a clone since.
    static func fillWithDemo(_ scratch: Scratch) throws {
      let demo = try scratch.run(["demo", "--at", scratch.store])
      try #require(demo.code == 0, "\(demo.errors)")
      try scratch.succeed("snapshot", "create", "before")
      try scratch.succeed("clone", "Project/1")
    }

    func open(_ path: String) throws { try browser.open(origin + path) }

    /// The path and the query of the current page.
    var place: String {
      get throws { String(try browser.address.dropFirst(origin.count).prefix { $0 != "#" }) }
    }

    /// A page that a link leads to.
    struct Page {
      /// The path with its names and numbers replaced, such as `/objects/E/N`.
      var kind: String
      /// The path with the query.
      var path: String
    }

    /// The first pages of the demo store, among them an object with an ordered list, and one with an image.
    static let demoPages = [
      Page(kind: "/", path: "/"), Page(kind: "/objects/E/N", path: "/objects/Project/1"),
      Page(kind: "/objects/E/N", path: "/objects/Photo/1"),
    ]

    /// Opens pages that links lead to, one of each kind, from some pages, and calls `body` on each.
    @discardableResult
    func visitPages(
      from start: [Page] = ExplorerSite.demoPages, limit: Int = 60, _ body: (Page) throws -> Void
    ) throws -> [Page] {
      var found = start
      var kinds = Set(start.map(\.kind))
      var next = 0
      while next < found.count {
        try open(found[next].path)
        let script = "return [...document.querySelectorAll('a[href]')].map((a) => a.getAttribute('href'))"
        for target in try browser.evaluate(script) as? [String] ?? [] where found.count < limit {
          guard let kind = Self.kind(of: target), kinds.insert(kind).inserted else { continue }
          found.append(Page(kind: kind, path: target))
        }
        try body(found[next])
        next += 1
      }
      return found
    }

    /// Expects that the pages of the grid follow each other, and that one column can be chosen.
    func expectPagesAndColumns(titled title: String, _ location: SourceLocation = #_sourceLocation) throws {
      let rows = "document.querySelector('.grid tbody').innerText"
      let link = { (text: String) in "[...document.querySelectorAll('main a')].find((a) => a.textContent === '\(text)')"
      }
      let first = try browser.text(rows)
      try browser.follow("\(link("Next")).click()")
      #expect(try browser.text(rows) != first, sourceLocation: location)
      try browser.follow("\(link("Previous")).click()")
      #expect(try browser.text(rows) == first, sourceLocation: location)
      try browser.follow(
        """
        for (const box of document.querySelectorAll('[name=columns]')) box.checked = box.value === '\(title)'; \
        document.querySelector('[name=columns]').form.requestSubmit()
        """)
      #expect(try browser.text("document.querySelectorAll('.grid thead th').length") == "2", sourceLocation: location)
    }

    /// Expects that the list of entities shows or announces a change, and neither moves nor loads again.
    func expectChangeAppears(after change: () throws -> Void, _ location: SourceLocation = #_sourceLocation) throws {
      let content = "document.querySelector('main').textContent"
      try browser.resize(width: 1280, height: 300)
      try open("/")
      try browser.wait(until: "performance.getEntriesByType('resource').some((entry) => entry.name.includes('.js'))")
      try browser.evaluateVoid("scrollTo(0, 40); window.isOldPage = true")
      let before = try browser.text(content)
      // The connection may begin after the first commits.
      for _ in 1...20 {
        try change()
        if try browser.isTrue("document.querySelector('.toast').textContent !== ''") { break }
        if try browser.text(content) != before { break }
        usleep(500_000)
      }
      try browser.wait(
        until: """
          document.querySelector('.toast').textContent.startsWith('The store changed') || \
          [...document.querySelectorAll('[data-live]')].length > 0
          """)
      #expect(try browser.isTrue("window.isOldPage && scrollY === 40"), sourceLocation: location)
      let isOffered = try browser.isTrue("document.querySelector('.toast a') !== null")
      #expect(try browser.text(content) != before || isOffered, sourceLocation: location)
    }

    /// The path with its names and numbers replaced, and the names of its query; nil for other targets than pages.
    static func kind(of target: String) -> String? {
      guard target.hasPrefix("/"), !target.hasPrefix("/assets"), let parts = URLComponents(string: target) else {
        return nil
      }
      let path = parts.path
      if path.hasSuffix(".json") || path.hasSuffix(".csv") || path.hasSuffix(".svg") || path.contains("/blob/") {
        return nil
      }
      let segments = path.split(separator: "/")
      let kinds = segments.enumerated().map { index, segment -> Substring in
        if Int(segment) != nil { return "N" }
        if index == 1, segment.first?.isUppercase == true || segments[0] == "rollback" { return "E" }
        if index == 2, segments[0] == "model" { return "E" }
        return index >= 4 ? "A" : segment
      }
      let names = Set((parts.queryItems ?? []).map(\.name)).sorted().joined(separator: "&")
      return "/" + kinds.joined(separator: "/") + (names.isEmpty ? "" : "?\(names)")
    }
  }
#endif
