#if Explorer
  import Foundation
  import KVCloneTestSupport
  import Testing

  /// The features of the explorer, each from its first page to its last, in Chromium.
  @Suite(.serialized, .enabled(if: Browser.isPossible, Browser.missing))
  struct ExplorerFlowTests {
    private static let rows = "[...document.querySelectorAll('.grid tbody tr')]"
    /// The number of objects of a preview.
    private static let count = "document.querySelector('.figures data').value"

    @Test func gridIsSortedReducedAndPaged() throws {
      let site = try ExplorerSite()
      let browser = site.browser
      try site.open("/entities/Photo?limit=10")
      try browser.follow(
        "[...document.querySelectorAll('.grid thead a')].find((a) => a.textContent.includes('title')).click()")
      #expect(
        try browser.text("document.querySelector('.grid th[aria-sort]').getAttribute('aria-sort')") == "ascending")
      try site.expectPagesAndColumns(titled: "title")
      #expect(
        try browser.text("document.querySelector('.grid th[aria-sort]').getAttribute('aria-sort')") == "ascending")
      try expectReloadIsEqual(site)
      #expect(try browser.messages() == [])
    }

    @Test func predicateIsCompletedExplainedAndRemembered() throws {
      let site = try ExplorerSite()
      let browser = site.browser
      try site.open("/entities/Photo")
      let words = "[...document.querySelectorAll('#predicate-words option')].map((option) => option.value).join()"
      try browser.evaluateVoid("document.querySelector('#predicate').focus()")
      try browser.press("titl")
      #expect(try browser.text(words).contains("title"))
      try browser.press("e BEGINSWITH 'B'")
      try browser.press(.enter)
      try browser.wait(until: "location.search.includes('where=') && document.readyState === 'complete'")
      let script = "\(Self.rows).every((row) => row.cells[1].innerText.startsWith('B')) && \(Self.rows).length > 2"
      #expect(try browser.isTrue(script))
      try browser.follow("document.querySelector('main a[href*=explain]').click()")
      #expect(try browser.text("document.querySelector('main').innerText").contains("fetch index on title"))
      try site.open("/entities/Photo")
      try browser.evaluateVoid("document.querySelector('#predicate').focus()")
      #expect(try browser.text(words).contains("title BEGINSWITH 'B'"))
      try browser.follow(
        """
        document.querySelector('#predicate').value = 'nosuch = 1'; \
        document.querySelector('.predicate').requestSubmit()
        """)
      #expect(try browser.text("document.querySelector('main').innerText").contains("no property nosuch"))
    }

    @Test func objectLeadsToItsNeighboursItsImageAndItsRecord() throws {
      let site = try ExplorerSite()
      let browser = site.browser
      try site.open("/objects/Photo/1")
      try browser.waitForImages(1)
      let album = try browser.text("document.querySelector('main a[href^=\"/objects/Album/\"]').getAttribute('href')")
      try browser.follow("document.querySelector('main a[href^=\"/objects/Album/\"]').click()")
      #expect(try site.place == album)
      try browser.follow("document.querySelector('main a[href=\"/objects/Photo/1\"]').click()")
      try browser.follow("document.querySelector('main a[href$=\"/raw\"]').click()")
      #expect(try browser.text("document.querySelector('main').innerText").contains("Checksum"))
      try browser.evaluateVoid("history.back()")
      try browser.wait(until: "location.pathname === '/objects/Photo/1' && document.readyState === 'complete'")
      try browser.follow("document.querySelector('main a[href$=\"/history\"]').click()")
      #expect(try browser.messages() == [])
    }

    @Test func previewFollowsItsOptionsRunsAndIsUndone() throws {
      let site = try ExplorerSite("--write")
      let browser = site.browser
      let options = "document.querySelector('[name=exclude]').form"
      try site.open("/clone/Project/1")
      let whole = try #require(Int(try browser.text(Self.count)))
      try browser.follow(
        "document.querySelector('[name=exclude][value=albums]').checked = true; \(options).requestSubmit()")
      #expect(try #require(Int(try browser.text(Self.count))) < whole)
      try expectReloadIsEqual(site)
      try site.open("/clone/Project/1")
      let rule = "document.querySelector('[name=\"rule.Album.photos\"]').value = 'reference'"
      try browser.follow("\(rule); document.querySelector('[name=count]').value = 3; \(options).requestSubmit()")
      #expect(try browser.text("document.querySelector('main').innerText").contains("inverseTaken"))
      #expect(try browser.isTrue("document.querySelector('form[method=post]') === null"))
      try site.open("/clone/Project/1?from=before")
      #expect(try browser.text(Self.count) == "\(whole)")
      try site.open("/clone/Project/1")
      try browser.follow("document.querySelector('form[method=post]').requestSubmit()")
      let clone = try browser.text("document.querySelector('main a[href^=\"/objects/Project/\"]').getAttribute('href')")
      let done = try site.place
      try browser.follow("document.querySelector('main a[href=\"\(clone)\"]').click()")
      #expect(try browser.isTrue("document.querySelector('main a[href^=\"/objects/Album/\"]') !== null"))
      try site.open(done)
      try browser.follow("document.querySelector('form[action$=\"/undo\"]').requestSubmit()")
      try site.open(clone)
      #expect(try browser.text("document.querySelector('h1').innerText") == "Not found")
      #expect(try site.scratch.tool("check").code == 0)
    }

    @Test func previewOfAReadOnlyStoreCannotRun() throws {
      let site = try ExplorerSite()
      try site.open("/clone/Project/1")
      #expect(try site.browser.isTrue("document.querySelector('main form[method=post]') === null"))
      try site.open("/rollback/before")
      #expect(try site.browser.isTrue("document.querySelector('main form[method=post]') === null"))
    }

    @Test func statesAreComparedAndRolledBack() throws {
      let site = try ExplorerSite("--write")
      let browser = site.browser
      let title = try browser.title(of: "/objects/Photo/1", on: site)
      try site.scratch.succeed("set", "Photo/1", "title=Changed")
      let image = site.scratch.file("image")
      try site.scratch.succeed("blob", "get", "Photo/2", "image", "--output", image)
      try site.scratch.succeed("blob", "put", "Photo/1", "image", image)
      try site.open("/time")
      try browser.follow("document.querySelector('main a[href^=\"/compare\"]').click()")
      try browser.follow("document.querySelector('main a[href^=\"/compare/Photo/1?\"]').click()")
      try browser.waitForImages(2)
      let row = "[...document.querySelectorAll('main tr')].find((row) => row.cells[0].innerText.startsWith('title'))"
      let values = try browser.text("[...\(row).cells].slice(1).map((cell) => cell.innerText.trim()).join('|')")
      #expect(values.hasPrefix(title + "|") && values.hasSuffix("|Changed"), "\(values)")
      try expectReloadIsEqual(site)
      #expect(try browser.title(of: "/objects/Photo/1?at=before", on: site) == title)
      try site.open("/rollback/before")
      #expect(try browser.text("document.querySelector('main').innerText").contains("Photo/1"))
      try browser.follow("document.querySelector('main form[method=post]').requestSubmit()")
      #expect(try browser.title(of: "/objects/Photo/1", on: site) == title)
      #expect(try site.scratch.tool("check").code == 0)
    }

    @Test func storeIsCheckedToItsEnd() throws {
      let site = try ExplorerSite()
      let browser = site.browser
      try site.open("/store")
      #expect(try browser.isTrue("document.querySelectorAll('svg rect').length > 5"))
      try site.open("/store/check")
      try browser.follow("document.querySelector('main form[method=post]').requestSubmit()")
      try browser.wait(until: "document.querySelector('main').innerText.includes('found no issue')")
      #expect(try browser.messages() == [])
    }

    @Test func diagramsLeadToEntitiesAndNeighbours() throws {
      let site = try ExplorerSite()
      let browser = site.browser
      let click = "dispatchEvent(new MouseEvent('click', { bubbles: true }))"
      try site.open("/model")
      try browser.follow("document.querySelector('.canvas svg a[href=\"/model/entities/Photo\"]').\(click)")
      try browser.follow("document.querySelector('main a[href=\"/entities/Photo\"]').click()")
      #expect(try browser.isTrue("\(Self.rows).length > 10"))
      try site.open("/graph/Project/1")
      let nodes = try #require(Int(try browser.text("document.querySelectorAll('.canvas svg a').length")))
      try browser.follow("document.querySelector('.canvas svg a[href*=\"open=\"]').\(click)")
      #expect(try #require(Int(try browser.text("document.querySelectorAll('.canvas svg a').length"))) > nodes)
      try expectReloadIsEqual(site)
      try site.open("/model/versions")
      #expect(try browser.text("document.querySelector('main').innerText").contains("current"))
      #expect(try browser.messages() == [])
    }

    @Test func objectIsFoundAndClonedWithTheKeyboardOnly() throws {
      let site = try ExplorerSite("--write")
      let browser = site.browser
      try browser.press("/")
      try browser.press("Project/1")
      try browser.press(.enter)
      try browser.wait(until: "location.pathname === '/objects/Project/1' && document.readyState === 'complete'")
      try tab(browser, to: "document.activeElement.getAttribute('href') === '/clone/Project/1'")
      try browser.press(.enter)
      try browser.wait(until: "location.pathname === '/clone/Project/1' && document.readyState === 'complete'")
      try tab(browser, to: "document.activeElement.type === 'submit' && document.activeElement.form.method === 'post'")
      try browser.press(.enter)
      try browser.wait(until: "location.pathname.endsWith('/result') && document.readyState === 'complete'")
      #expect(try browser.isTrue("document.querySelector('main a[href^=\"/objects/Project/\"]') !== null"))
    }

    @Test func everyPageIsADocumentAndATable() throws {
      let site = try ExplorerSite()
      var count = 0
      try site.visitPages { (page) throws in
        let answers = try site.browser.exports()
        #expect(
          answers == ["CSV 200 text/csv; charset=utf-8", "JSON 200 application/json"], "\(page.path): \(answers)")
        count += answers.count
      }
      #expect(count >= 30)
    }

    @Test(.enabled(if: Corpus.root != nil, "\(Corpus.missing)")) func storeOfCareKitIsBrowsed() throws {
      let site = try ExplorerSite(fill: FeatureSubject.importCareKit)
      let audit = PageAudit(browser: site.browser)
      // The first entity has no objects.
      let start = [("/entities/E", "/entities/OCKCDTask"), ("/", "/")].map(ExplorerSite.Page.init)
      let pages = try site.visitPages(from: start) { (page) throws in
        let problems = try audit.structure() + audit.layout()
        #expect(problems.isEmpty, "\(page.path): \(problems.joined(separator: "\n"))")
        let messages = try site.browser.messages()
        #expect(messages.isEmpty, "\(page.path): \(messages.joined(separator: "\n"))")
      }
      for kind in ["/", "/entities/E", "/objects/E/N", "/clone/E/N", "/graph/E/N", "/model", "/time", "/store"] {
        #expect(pages.contains { $0.kind == kind }, "no link leads to \(kind)")
      }
    }

    /// Presses Tab until the focus is as an expression describes it.
    private func tab(_ browser: Browser, to expression: String, _ location: SourceLocation = #_sourceLocation) throws {
      for _ in 0..<300 {
        try browser.press(.tab)
        if try browser.isTrue(expression) { return }
      }
      Issue.record("no control is reached: \(expression)", sourceLocation: location)
    }

    /// Expects that the URL alone leads to the same page.
    private func expectReloadIsEqual(_ site: ExplorerSite, _ location: SourceLocation = #_sourceLocation) throws {
      let before = try site.browser.text("document.querySelector('main').innerText")
      try site.open(try site.place)
      #expect(try site.browser.text("document.querySelector('main').innerText") == before, sourceLocation: location)
    }
  }

  extension Browser {
    /// Opens the page of an object, and returns its heading.
    fileprivate func title(of path: String, on site: ExplorerSite) throws -> String {
      try site.open(path)
      return try text("document.querySelector('h1').innerText")
    }
  }
#endif
