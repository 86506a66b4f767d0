#if Explorer
  import Foundation
  import Testing

  /// `kvclone explore` in Chromium: keyboard, live updates, and every page.
  @Suite(.serialized, .enabled(if: Browser.isPossible, Browser.missing))
  struct ExplorerBrowserTests {
    @Test func everySectionIsReachedWithTheKeyboard() throws {
      let site = try ExplorerSite()
      let browser = site.browser
      for (key, path) in [("m", "/model"), ("t", "/time"), ("s", "/store"), ("e", "/")] {
        try browser.press("g" + key)
        try browser.wait(until: "location.pathname === '\(path)' && document.readyState === 'complete'")
        #expect(try browser.text("document.querySelectorAll('.sections [aria-current=page]').length") == "1")
      }
      #expect(try browser.messages() == [])
    }

    @Test func objectIsFoundAndRowsAreOpenedWithTheKeyboard() throws {
      let site = try ExplorerSite()
      let browser = site.browser
      try browser.press("/")
      #expect(try browser.isTrue("document.activeElement.hasAttribute('data-search')"))
      try browser.press("Project/1")
      try browser.press(.enter)
      try browser.wait(until: "location.pathname === '/objects/Project/1'")
      try site.open("/")
      try browser.press("jj")
      let second = try browser.text("document.activeElement.getAttribute('href')")
      #expect(
        second == (try browser.text("document.querySelectorAll('tbody tr')[1].querySelector('a').getAttribute('href')"))
      )
      try browser.press("k")
      let first = try browser.text("document.activeElement.href")
      #expect(first != second)
      try browser.press(.enter)
      try browser.wait(until: "location.href === '\(first)'")
      #expect(try browser.messages() == [])
    }

    @Test func helpListsTheKeysAndTurnsThemOff() throws {
      let site = try ExplorerSite()
      let browser = site.browser
      try browser.press("?")
      #expect(try browser.isTrue("document.querySelector('dialog').open"))
      #expect(try browser.isTrue("document.querySelector('dialog').contains(document.activeElement)"))
      #expect(try PageAudit(browser: browser).structure() == [])
      // Keys have no effect while the dialog is open.
      try browser.press("gm")
      #expect(try browser.isTrue("location.pathname === '/'"))
      try browser.evaluateVoid("document.querySelector('dialog input').click()")
      try browser.press(.escape)
      #expect(try browser.isTrue("!document.querySelector('dialog').open"))
      try browser.press("/")
      #expect(try browser.isTrue("document.activeElement === document.body"))
      try site.open("/")
      try browser.press("gm?")
      #expect(try browser.isTrue("location.pathname === '/' && !document.querySelector('dialog')"))
    }

    @Test func changesAppearWithoutMovingThePage() throws {
      let site = try ExplorerSite()
      let browser = site.browser
      try browser.resize(width: 1280, height: 300)
      try site.expectChangeAppears { try site.scratch.succeed("clone", "Project/1") }
      #expect(try browser.messages() == [])
    }

    @Test func diagramIsZoomedAndPannedWithTheKeyboard() throws {
      let site = try ExplorerSite()
      let browser = site.browser
      try site.open("/model")
      try #require(try browser.isTrue("document.querySelector('.canvas svg') !== null"))
      let view = "document.querySelector('.canvas svg').getAttribute('viewBox')"
      try browser.evaluateVoid("document.querySelector('.canvas').focus()")
      try browser.press("0")
      let whole = try browser.text(view)
      try browser.press("+")
      let zoomed = try browser.text(view)
      try browser.press(.right)
      let moved = try browser.text(view)
      #expect(Set([whole, zoomed, moved]).count == 3)
      try browser.press("0")
      #expect(try browser.text(view) == whole)
    }

    @Test func snapshotIsKeptByLinksAndLeftByOne() throws {
      let site = try ExplorerSite()
      let browser = site.browser
      try site.open("/?at=before")
      try browser.press("gm")
      try browser.wait(until: "location.pathname === '/model' && document.readyState === 'complete'")
      #expect(try browser.text("location.search") == "?at=before")
      try browser.evaluateVoid("document.querySelector('.moment a').click()")
      try browser.wait(until: "location.search === '' && document.readyState === 'complete'")
      #expect(try browser.isTrue("document.querySelector('.moment') === null"))
    }
  }
#endif
