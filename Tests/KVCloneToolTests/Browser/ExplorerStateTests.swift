#if Explorer
  import Foundation
  import Testing

  /// Objects, states of the store and diagrams in Chromium, with the actions that change them.
  @Suite(.serialized, .enabled(if: Browser.isPossible, Browser.missing))
  struct ExplorerStateTests {
    private static let runs = "document.querySelector('main form[method=post]').requestSubmit()"

    @Test func orderedMembersAreInOrder() throws {
      let site = try ExplorerSite { scratch in
        try ExplorerSite.fillWithDemo(scratch)
        try scratch.succeed("set", "Project/1", #"albums:=["Album/3","Album/1","Album/2"]"#)
      }
      try site.open("/objects/Project/1")
      let row = "[...document.querySelectorAll('main tr')].find((row) => row.cells[0].innerText === 'albums')"
      #expect(
        try site.browser.text("[...\(row).querySelectorAll('ol > li .id')].map((id) => id.innerText).join()")
          == "Album/3,Album/1,Album/2")
    }

    @Test func blobIsDownloadedWhole() throws {
      let site = try ExplorerSite()
      let folder = site.scratch.file("downloads")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try site.browser.devTools("Browser.setDownloadBehavior", ["behavior": "allow", "downloadPath": folder])
      try site.scratch.succeed("blob", "get", "Photo/1", "image", "--output", site.scratch.file("image"))
      let image = try site.scratch.read("image")
      try site.open("/objects/Photo/1")
      try site.browser.evaluateVoid("document.querySelector('main a[href$=\"/blob/image?download=1\"]').click()")
      let end = Date(timeIntervalSinceNow: 300)
      while Date() < end, (try? site.scratch.read("downloads/Photo-1-image.bmp")) != image { usleep(50_000) }
      #expect(try site.scratch.read("downloads/Photo-1-image.bmp") == image)
      #expect(try site.place == "/objects/Photo/1")
      try site.browser.follow("document.querySelector('main a[href$=\"/bytes/image\"]').click()")
      #expect(try site.browser.mainText.contains("42 4d"))
    }

    @Test func changesOfAnObjectLeadToTheirTransactions() throws {
      let site = try ExplorerSite { scratch in
        try ExplorerSite.fillWithDemo(scratch)
        try scratch.succeed("history", "--on")
        try scratch.succeed("set", "Photo/2", "title=First")
        try scratch.succeed("set", "Photo/2", "title=Second")
      }
      let browser = site.browser
      try site.open("/objects/Photo/2/history")
      #expect(try browser.text("document.querySelectorAll('.grid tbody tr').length") == "2")
      try browser.follow("document.querySelector('main a[href^=\"/time/transactions/\"]').click()")
      #expect(try browser.text("document.querySelector('.grid tbody').innerText").contains("title"))
      try browser.follow("document.querySelector('main a[href=\"/objects/Photo/2\"]').click()")
      #expect(try browser.text("document.querySelector('h1').innerText") == "Second")
    }

    @Test func deletedObjectIsFoundInASnapshotAndClonedFromIt() throws {
      let site = try ExplorerSite("--write")
      let browser = site.browser
      let count = "document.querySelector('.figures data').value"
      try site.open("/time")
      try browser.follow("document.querySelector('main [name=name]').value = 'mark'; \(Self.runs)")
      #expect(try browser.isTrue("document.querySelector('main a[href=\"/?at=mark\"]') !== null"))
      try site.scratch.succeed("delete", "Album/2")

      try site.open("/objects/Album/2")
      #expect(try browser.text("document.querySelector('h1').innerText") == "Not found")
      try browser.follow("document.querySelector('main a[href=\"/objects/Album/2?at=mark\"]').click()")
      #expect(try browser.text("document.querySelector('h1').innerText") == "Highlands")
      try site.open("/?at=mark")
      try browser.follow("document.querySelector('.grid a[href^=\"/entities/Album?\"]').click()")
      #expect(try site.place == "/entities/Album?at=mark")
      #expect(try browser.isTrue("document.querySelector('.grid a[href=\"/objects/Album/2?at=mark\"]') !== null"))

      try site.open("/clone/Project/1")
      let present = try #require(Int(try browser.text(count)))
      let from = "document.querySelector('[name=from]')"
      try browser.follow("\(from).value = 'mark'; \(from).form.requestSubmit()")
      #expect(try site.place == "/clone/Project/1?at=mark")
      #expect(try #require(Int(try browser.text(count))) == present + 9)
      try browser.follow(Self.runs)
      try browser.follow("document.querySelector('main a[href^=\"/objects/Project/\"]').click()")
      #expect(try browser.mainText.contains("Highlands"))
      #expect(try site.scratch.tool("check").code == 0)
    }

    @Test func rollbackOfAnObjectAndOfTheStoreAreUndone() throws {
      let site = try ExplorerSite("--write")
      let browser = site.browser
      for photo in ["Photo/2", "Photo/3"] { try site.scratch.succeed("set", photo, "title=Changed") }
      try site.open("/compare/Photo/2?from=before")
      try browser.follow("document.querySelector('main a[href^=\"/rollback/before?object=\"]').click()")
      try browser.follow(Self.runs)
      #expect(try titles(site) == ["Basalt", "Changed"])
      try site.open("/rollback/before")
      try browser.follow(Self.runs)
      let done = try site.place
      #expect(try titles(site) == ["Basalt", "Surf"])
      try site.open(done)
      try browser.follow("[...document.querySelectorAll('main a')].find((a) => a.textContent === 'Undo…').click()")
      try browser.follow(Self.runs)
      #expect(try titles(site) == ["Basalt", "Changed"])
      #expect(try site.scratch.tool("check").code == 0)
    }

    @Test(arguments: ["/model", "/graph/Project/1"]) func diagramIsZoomedAndDraggedWithTheMouse(path: String) throws {
      let site = try ExplorerSite()
      let browser = site.browser
      let view = "document.querySelector('.canvas svg').getAttribute('viewBox')"
      let press = { (button: String) in
        try browser.evaluateVoid("document.querySelector('[data-zoom=\(button)]').click()")
      }
      try site.open(path)
      try press("fit")
      let whole = try browser.text(view)
      try press("in")
      let near = try browser.text(view)
      #expect(near != whole)
      try press("fit")
      #expect(try browser.text(view) == whole)

      let center = """
        const link = document.querySelector('.canvas svg a'); link.scrollIntoView({ block: 'center' }); \
        const box = link.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]
        """
      let start = try #require(try browser.evaluate(center) as? [Double])
      // A link that is dragged does not lead to its page.
      try browser.mouse(.press, start[0], start[1])
      try browser.mouse(.move, start[0] + 20, start[1] + 10)
      try browser.mouse(.move, start[0] + 50, start[1] + 30)
      try browser.mouse(.release, start[0] + 50, start[1] + 30)
      let moved = try browser.text(view)
      #expect(moved.split(separator: " ").dropFirst(2) == whole.split(separator: " ").dropFirst(2))
      #expect(moved != whole)
      #expect(try site.place == path)
      try browser.mouse(.zoom, start[0], start[1])
      try browser.wait(until: "\(view) !== '\(moved)'")

      let place = try #require(try browser.evaluate(center) as? [Double])
      let target = try browser.text("document.querySelector('.canvas svg a').getAttribute('href')")
      try browser.mouse(.press, place[0], place[1])
      try browser.mouse(.release, place[0], place[1])
      try browser.wait(until: "location.pathname + location.search === '\(target)'")
      #expect(try browser.messages() == [])
    }

    @Test func urlRestoresEveryPage() throws {
      let site = try ExplorerSite()
      let browser = site.browser
      try site.visitPages { page in
        let before = try browser.mainText
        let link = "[...document.querySelectorAll('main a')].find((a) => a.textContent === 'Link to this state')"
        try site.open(try browser.text("\(link).getAttribute('href')"))
        #expect(try browser.mainText == before, "\(page.path)")
        #expect(try site.place == page.path)
      }
    }

    /// Pages that no link leads to: those of actions, and of errors.
    @Test func pagesOfActionsAndErrorsAreAccessible() throws {
      let site = try ExplorerSite("--write")
      let browser = site.browser
      let audit = PageAudit(browser: browser)
      let expectNone = { (_ name: String) in
        let problems = try audit.all()
        #expect(problems.isEmpty, "\(name): \(problems.joined(separator: "\n"))")
      }
      for path in [
        "/time", "/rollback/before", "/clone/Project/1?rule.Album.photos=reference&count=3", "/find?id=nothing",
        "/objects/Photo/999", "/nowhere", "/entities/Photo?where=nosuch%20%3D%201",
      ] {
        try site.open(path)
        try expectNone(path)
      }
      try site.open("/clone/Project/1")
      try browser.follow(Self.runs)
      try expectNone("a clone")
      try browser.follow("document.querySelector('form[action$=\"/undo\"]').requestSubmit()")
      try expectNone("an undone clone")
      try site.open("/rollback/before")
      try browser.follow(Self.runs)
      try expectNone("a rollback")
      try site.open("/store/check")
      try browser.follow(Self.runs)
      try browser.wait(until: "document.querySelector('main').innerText.includes('found no issue')")
      try expectNone("a check")
      try site.open("/time")
      try browser.follow("document.querySelector('main [name=name]').value = 'before'; \(Self.runs)")
      #expect(try browser.mainText.contains("before already exists"))
      try expectNone("a conflict")
    }

    /// The titles of two photos.
    private func titles(_ site: ExplorerSite) throws -> [String] {
      try ["Photo/2", "Photo/3"].map { photo in
        try site.open("/objects/\(photo)")
        return try site.browser.text("document.querySelector('h1').innerText")
      }
    }
  }
#endif
