#if Explorer
  import Foundation
  import Testing

  extension ExplorerBrowserTests {
    /// A page with defects, so that a check that finds nothing on other pages is known to work.
    @Test func auditFindsDefects() throws {
      let scratch = try Scratch()
      let browser = try Browser(in: scratch)
      let page = """
        <!DOCTYPE html><html><head><style>
        .pale { color: #999 } .wide { width: 3000px } a.tiny { display: block; width: 9px; height: 9px; font-size: 5px }
        .cut { width: 50px; overflow: hidden; white-space: nowrap } :focus { outline: none }
        </style></head><body><h1>One</h1><h3>Three</h3><input id="a"><input id="a" tabindex="2"><img src="data:,">
        <p class="pale">pale text</p><p class="wide">wide</p><p class="cut">a text that is cut off at the edge</p>
        <p style="color: red">red</p><a class="tiny" href="#1">x</a><a class="tiny" href="#2">y</a>
        <label for="b">b</label>
        <svg viewBox="0 0 300 50"><rect width="300" height="50" fill="#222"/>
        <text x="5" y="20" fill="#000">dark on dark</text><text x="9" y="22">over it</text></svg>
        <table><tr><th>head</th></tr></table></body></html>
        """
      try scratch.write(page, to: "page.html")
      try browser.open("file://" + scratch.file("page.html"))
      let audit = PageAudit(browser: browser)
      let found = try audit.structure() + audit.layout() + audit.contrast() + FocusAudit(browser: browser).problems()
      for problem in [
        "no language", "no title", "one main part", "level of headings", "id occurs twice: a", "textbox has no name",
        "no alternative", "focus order is changed", "no scope", "content security policy forbids", "for has no target",
        "px wide in", "beyond the edge", "cut off", "target of 9 × 9 px", "overlaps “over it”",
        "focus is invisible", "Tab 1 reached",
      ] {
        #expect(found.contains { $0.contains(problem) }, "\(problem) is not in \(found.joined(separator: "\\n"))")
      }
      let pale = try audit.contrast()
      #expect(pale.contains { $0.contains("pale text") && $0.hasPrefix("contrast 2.8") }, "\(pale)")
      #expect(pale.contains { $0.contains("dark on dark") && $0.hasPrefix("contrast 1.3") }, "\(pale)")
      #expect(pale.contains { $0.contains("red") && $0.hasPrefix("contrast 4.0") }, "\(pale)")
    }

    @Test(arguments: [
      ("/", "/"), ("/entities/Note?sort=name&after=12", "/entities/E?after&sort"), ("/objects/Note/12", "/objects/E/N"),
      ("/objects/Note/12/text/body", "/objects/E/N/text/A"), ("/model/versions?at=x", "/model/versions?at"),
      ("/rollback/weekly", "/rollback/E"), ("/model/entities/Note", "/model/entities/E"), ("/entities/Note.json", nil),
      ("/objects/Note/1/blob/image", nil), ("https://example.org/", nil), ("#x", nil),
    ])
    func pagesOfOneKindAreVisitedOnce(target: String, kind: String?) {
      #expect(ExplorerSite.kind(of: target) == kind)
    }
  }
#endif
