#if Explorer
  import Foundation
  import Testing

  extension ExplorerBrowserTests {
    /// All pages, found by their links, at all sizes and in both colour schemes.
    ///
    /// With `KVCLONE_SCREENSHOTS`, pictures for review are in `.build/explorer-pages`.
    @Test func pagesAreAccessibleAndFitAtEverySize() throws {
      let site = try ExplorerSite()
      let audit = PageAudit(browser: site.browser)
      let folder = Programs.root + "/.build/explorer-pages"
      let takesPictures = ProcessInfo.processInfo.environment["KVCLONE_SCREENSHOTS"] != nil
      if takesPictures {
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      }
      let pages = try site.visitPages { (page) throws in
        expectNone(try audit.structure(), page.path)
        #expect(try audit.layoutShift() < 0.01, "\(page.path)")
        let name = page.kind.dropFirst().map { $0.isLetter || $0.isNumber ? String($0) : "_" }.joined()
        for (width, height) in [(360, 780), (1280, 900), (2560, 1440)] {
          try site.browser.resize(width: width, height: height)
          for isDark in [false, true] {
            try site.browser.prefer(isDark: isDark)
            let state = "\(width)-\(isDark ? "dark" : "light")"
            // The size does not depend on the colours, nor the colours on the size.
            if !isDark { expectNone(try audit.layout(), "\(page.path) \(state)") }
            if width == 1280 { expectNone(try audit.contrast(), "\(page.path) \(state)") }
            guard takesPictures else { continue }
            try site.browser.writeScreenshot(to: "\(folder)/\(name.isEmpty ? "entities" : name)-\(state).png")
          }
        }
        try site.browser.resize(width: 1280, height: 900)
        try site.browser.prefer(isDark: false)
        expectNone(try site.browser.messages(), page.path)
      }
      // Fewer kinds mean that pages lost their links.
      #expect(pages.count >= 8, "\(pages.map(\.kind))")
    }

    @Test func tabReachesEveryControlInTheOrderOfThePage() throws {
      let site = try ExplorerSite()
      try site.visitPages(limit: 12) { (page) throws in
        expectNone(try FocusAudit(browser: site.browser).problems(), page.path)
      }
    }

    @Test func pagesWorkWithoutTheScript() throws {
      let site = try ExplorerSite()
      try site.browser.devTools("Emulation.setScriptExecutionDisabled", ["value": true])
      try site.visitPages { (page) throws in
        #expect(try site.browser.isTrue("!document.documentElement.classList.contains('scripted')"))
        #expect(try site.browser.isTrue("document.querySelector('main').innerText.length > 20"), "\(page.path)")
        #expect(try site.browser.isTrue("document.querySelector('h1').textContent !== ''"), "\(page.path)")
        // Controls that need the script are not shown.
        let isShown = "checkVisibility({ visibilityProperty: true })"
        let script = "[...document.querySelectorAll('.script')].every((element) => !element.\(isShown))"
        #expect(try site.browser.isTrue(script), "\(page.path)")
      }
    }

    /// Expects an empty list, and shows each problem of another one.
    private func expectNone(
      _ problems: [String], _ place: String, _ location: SourceLocation = #_sourceLocation
    ) {
      #expect(problems.isEmpty, "\(place): \(problems.joined(separator: "\n"))", sourceLocation: location)
    }
  }
#endif
