#if Explorer
  import Foundation
  import KVCloneTestSupport
  import Testing

  /// Every feature of the explorer in Chromium, on stores of several kinds and sizes.
  @Suite(.serialized, .enabled(if: Browser.isPossible, Browser.missing))
  struct ExplorerFeatureTests {
    private static let rows = "[...document.querySelectorAll('.grid tbody tr')]"
    private static let heading = "document.querySelector('h1').innerText"
    /// Sends the form of an action, after its plan is shown.
    private static let runs = "document.querySelector('main form[method=post]').requestSubmit()"

    @Test(arguments: [FeatureSubject.demo, .large]) func everyFeatureIsUsedOn(subject: FeatureSubject) throws {
      try useEveryFeature(subject)
    }

    @Test(.enabled(if: Corpus.root != nil, "\(Corpus.missing)")) func everyFeatureIsUsedOnCareKit() throws {
      try useEveryFeature(.careKit)
    }

    private func useEveryFeature(_ subject: FeatureSubject) throws {
      let site = try ExplorerSite("--write", fill: subject.fill)
      try useGrid(subject, site)
      try useObject(subject, site)
      try useDiagrams(subject, site)
      try clone(subject, site)
      try compareAndRollBack(subject, site)
      try runJobs(subject, site)
      try exportPages(subject, site)
      try useKeys(subject, site)
      try site.expectChangeAppears { try site.scratch.succeed("clone", subject.object) }
      #expect(try site.browser.messages() == [])
      #expect(try site.scratch.tool("check").code == 0)
    }

    private func link(_ start: String) -> String { "document.querySelector('main a[href^=\"\(start)\"]')" }

    private func useGrid(_ subject: FeatureSubject, _ site: ExplorerSite) throws {
      let browser = site.browser
      try site.open("/")
      try browser.follow("\(link("/entities/\(subject.entity)")).click()")
      try site.open("/entities/\(subject.entity)?limit=2")
      try site.expectPagesAndColumns(titled: subject.title)
      try site.open("/entities/\(subject.entity)")
      let words = "[...document.querySelectorAll('#predicate-words option')].map((option) => option.value)"
      try browser.evaluateVoid("document.querySelector('#predicate').focus()")
      try browser.press(String(subject.title.prefix(3)))
      try browser.wait(until: "\(words).includes('\(subject.title)')")
      try browser.follow(
        """
        document.querySelector('#predicate').value = "\(subject.predicate)"; \
        document.querySelector('.predicate').requestSubmit()
        """)
      #expect(try browser.isTrue("\(Self.rows).some((row) => row.innerText.includes('\(subject.text)'))"))
      #expect(try #require(Int(try browser.text("\(Self.rows).length"))) < 4)
      try browser.follow("document.querySelector('main a[href*=explain]').click()")
      #expect(try browser.mainText.contains(subject.entity))
      // The predicate is in the history of the next visit.
      try site.open("/entities/\(subject.entity)")
      try browser.evaluateVoid("document.querySelector('#predicate').focus()")
      try browser.wait(until: "\(words).includes(\"\(subject.predicate)\")")
      try browser.follow(
        "document.querySelector('#find').value = '\(subject.object)'; "
          + "document.querySelector('form.find').requestSubmit()")
      #expect(try site.place == "/objects/\(subject.object)")
    }

    private func useObject(_ subject: FeatureSubject, _ site: ExplorerSite) throws {
      let browser = site.browser
      try site.open("/objects/\(subject.object)")
      #expect(try browser.text(Self.heading) == subject.text)
      if subject.hasImage { try browser.waitForImages(1) }
      try browser.follow("\(link("/objects/\(subject.neighbour)/")).click()")
      let neighbour = try site.place
      // The inverse leads back.
      #expect(try browser.isTrue("\(link("/objects/\(subject.object)")) !== null"), "\(neighbour) has no inverse")
      try site.open("/objects/\(subject.object)")
      try browser.follow("document.querySelector('main a[href$=\"/raw\"]').click()")
      #expect(try browser.mainText.contains("Checksum"))
      try site.open("/objects/\(subject.object)")
      try browser.follow("document.querySelector('main a[href$=\"/history\"]').click()")
      #expect(try site.place == "/objects/\(subject.object)/history")
    }

    private func useDiagrams(_ subject: FeatureSubject, _ site: ExplorerSite) throws {
      let browser = site.browser
      let click = "dispatchEvent(new MouseEvent('click', { bubbles: true }))"
      try site.open("/model")
      try browser.follow("document.querySelector('.canvas svg a[href=\"/model/entities/\(subject.entity)\"]').\(click)")
      try browser.follow("\(link("/entities/\(subject.entity)")).click()")
      #expect(try browser.isTrue("\(Self.rows).length > 1"))
      try site.open("/model/versions")
      #expect(try browser.mainText.contains("current"))
      try site.open("/graph/\(subject.object)")
      let nodes = "document.querySelectorAll('.canvas svg a').length"
      #expect(try #require(Int(try browser.text(nodes))) > 1)
      let count = try browser.text(nodes)
      if try browser.isTrue("document.querySelector('.canvas svg a[href*=\"open=\"]') !== null") {
        try browser.follow("document.querySelector('.canvas svg a[href*=\"open=\"]').\(click)")
        #expect(try browser.text(nodes) != count)
      }
    }

    /// The preview with another option, a clone of one object, and its end.
    private func clone(_ subject: FeatureSubject, _ site: ExplorerSite) throws {
      let browser = site.browser
      try site.open("/clone/\(subject.object)")
      let figure = "document.querySelector('.figures data').value"
      let single = try #require(Int(try browser.text(figure)))
      let count = "document.querySelector('[name=count]')"
      try browser.follow("\(count).value = 3; \(count).form.requestSubmit()")
      #expect(try #require(Int(try browser.text(figure))) == 3 * single)
      try site.open("/clone/\(subject.object)")
      try browser.follow(Self.runs)
      let done = try site.place
      try browser.follow("\(link("/objects/\(subject.entity)/")).click()")
      let clone = try site.place
      #expect(try browser.text(Self.heading) == subject.text)
      #expect(clone != "/objects/\(subject.object)")
      try site.open(done)
      try browser.follow("document.querySelector('form[action$=\"/undo\"]').requestSubmit()")
      try site.open(clone)
      #expect(try browser.text(Self.heading) == "Not found")
      // The console notes the status of the page that was not found.
      #expect(try browser.messages().allSatisfy { $0.contains("404") })
    }

    private func compareAndRollBack(_ subject: FeatureSubject, _ site: ExplorerSite) throws {
      let browser = site.browser
      try site.open("/time")
      try browser.follow("document.querySelector('main [name=name]').value = 'mark'; \(Self.runs)")
      try site.scratch.succeed("set", subject.object, "\(subject.title)=Changed")
      try site.open("/time")
      try browser.follow("\(link("/compare?from=mark")).click()")
      try browser.follow("\(link("/compare/\(subject.object)?")).click()")
      let row =
        "[...document.querySelectorAll('main tr')].find((row) => row.cells[0].innerText.startsWith('\(subject.title)'))"
      let values = try browser.text("[...\(row).cells].slice(1).map((cell) => cell.innerText.trim()).join('|')")
      #expect(values.hasPrefix(subject.text + "|") && values.hasSuffix("|Changed"), "\(values)")
      try site.open("/objects/\(subject.object)?at=mark")
      #expect(try browser.text(Self.heading) == subject.text)
      try site.open("/entities/\(subject.entity)?at=mark")
      #expect(try browser.isTrue("\(Self.rows).length > 1"))
      try site.open("/rollback/mark")
      #expect(try browser.mainText.contains(subject.object))
      try browser.follow(Self.runs)
      try site.open("/objects/\(subject.object)")
      #expect(try browser.text(Self.heading) == subject.text)
    }

    private func runJobs(_ subject: FeatureSubject, _ site: ExplorerSite) throws {
      let browser = site.browser
      try site.open("/store")
      // A large store is measured by a job.
      let measures = "document.querySelector('form[action=\"/store/sizes\"]')"
      if try browser.isTrue("\(measures) !== null") { try browser.follow("\(measures).requestSubmit()") }
      try browser.wait(until: "document.querySelectorAll('svg rect').length > 1", seconds: 600)
      try site.open("/store/check")
      try browser.follow(Self.runs)
      try browser.wait(until: "document.querySelector('main').innerText.includes('found no issue')", seconds: 600)
      // Few objects are counted by the page itself.
      try site.open("/")
      guard try browser.isTrue("document.querySelector('form[action=\"/store/counts\"]') !== null") else { return }
      try browser.follow("document.querySelector('form[action=\"/store/counts\"]').requestSubmit()")
      try browser.wait(until: "document.querySelector('main .grid') !== null", seconds: 600)
      #expect(try browser.mainText.contains(subject.entity))
    }

    private func useKeys(_ subject: FeatureSubject, _ site: ExplorerSite) throws {
      let browser = site.browser
      try site.open("/time")
      try browser.press("/")
      try browser.press(subject.object)
      try browser.press(.enter)
      try browser.wait(
        until: "location.pathname === '/objects/\(subject.object)' && document.readyState === 'complete'")
      try browser.press("ge")
      try browser.wait(until: "location.pathname === '/' && document.readyState === 'complete'")
      try browser.press("j")
      let row = try browser.text("document.activeElement.getAttribute('href')")
      try browser.press(.enter)
      try browser.wait(until: "location.pathname + location.search === '\(row)' && document.readyState === 'complete'")
    }

    private func exportPages(_ subject: FeatureSubject, _ site: ExplorerSite) throws {
      let paths = [
        "/", "/entities/\(subject.entity)?limit=2", "/objects/\(subject.object)", "/clone/\(subject.object)",
        "/graph/\(subject.object)", "/model", "/time", "/compare?from=mark", "/store",
      ]
      for path in paths {
        try site.open(path)
        #expect(
          try site.browser.exports() == ["CSV 200 text/csv; charset=utf-8", "JSON 200 application/json"], "\(path)")
      }
    }
  }
#endif
