/// The frame of all pages: header, navigation, search, place, formats and footer.
struct PageFrame: Sendable {
  struct Link: Sendable {
    var title: String
    var target: String
  }

  /// URLs of the files that every page loads.
  struct Assets: Sendable {
    var stylesheet: String
    var script: String
    var icon: String
  }

  struct Section: Sendable {
    var link: Link
    /// The key that opens the section after `g`.
    var key: String
    var isCurrent: Bool
  }

  var title: String
  /// The path below which the explorer is mounted; empty for the root.
  var base: String
  var assets: Assets
  var store: Link
  /// The model, the engine, and whether the page shows a snapshot.
  var facts: [String]
  var sections: [Section] = []
  var trail: [Link] = []
  /// The snapshot that the page shows, and the same page of the present; nil in the present.
  var moment: Link?
  /// Whether the snapshot is the base of the branch, which has a name for URLs only.
  var isBase = false
  /// The branch that the page shows, and the same page of the store; nil for the store.
  var branch: Link?
  /// Whether the page shows the moment and the branch; false for a page about the store in all of its states.
  var showsMoment = true
  /// The page in other formats; empty for pages without them.
  var formats: [Link] = []
  /// The URL of the page in its present state.
  var address: String?
  /// The URL that announces commits to the script; nil at snapshots, which do not change.
  var events: String?
  var allowsWrites = false

  func document(_ content: HTML) -> HTML {
    let events: HTML? = events.map { " data-events=\"\($0)\"" }
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>\(title) – \(store.title)</title>
      <link rel="icon" type="image/svg+xml" href="\(assets.icon)">
      <link rel="stylesheet" href="\(assets.stylesheet)">
      <script src="\(assets.script)" defer></script>
      </head>
      <body\(events)>
      <a class="skip-link" href="#content">Skip to the content</a>
      \(header)
      <main id="content" tabindex="-1">
      \(place)
      <div class="head"><h1>\(title)</h1>\(tools)</div>
      \(content)
      </main>
      <footer><span class="muted">KVClone Explorer</span>\
      <span class="muted">\(allowsWrites ? "can write" : "read-only")</span>\
      <span class="script keys"><button type="button" class="button small" data-help>Keyboard: ?</button></span>\
      </footer>
      <p class="toast" role="status"></p>
      </body>
      </html>

      """
  }

  private var header: HTML {
    var navigation: HTML = ""
    for section in sections {
      let current: HTML? = section.isCurrent ? " aria-current=\"page\"" : nil
      navigation += """
        <li><a href="\(section.link.target)" data-key="\(section.key)"\(current)>\(section.link.title)</a></li>
        """
    }
    let state = [("branch", branch), ("at", moment)].compactMap { name, link in link.map { (name, $0.title) } }
    return """
      <header class="bar"><div class="frame">
      <div class="identity"><a class="store" href="\(store.target)">\(store.title)</a>\
      <span class="facts">\(facts.joined(separator: " · "))</span></div>
      <nav class="sections" aria-label="Sections"><ul>\(navigation)</ul></nav>
      <form class="find" action="\(base)/find" method="get" role="search" aria-label="Objects">\
      \(Components.hidden(state))\
      <div><label class="hidden" for="find">Find an object by its id</label>\
      <input id="find" name="id" type="search" class="code" placeholder="Entity/serial" autocomplete="off"\
       autocapitalize="off" spellcheck="false" data-search><kbd class="script" aria-hidden="true">/</kbd></div>\
      <button type="submit" class="button">Find</button></form>
      </div></header>
      \(strip)
      """
  }

  private var strip: HTML? {
    guard moment != nil || branch != nil else { return nil }
    let start = showsMoment ? "This is" : "This page is about the whole store. Its links keep"
    var names: [HTML] = []
    var links: HTML = ""
    if let moment {
      names.append(isBase ? "the base" : "the snapshot <b>\(moment.title)</b>")
      links += " <a href=\"\(moment.target)\">Show the present</a>"
    }
    if let branch {
      names.append("the branch <b>\(branch.title)</b>")
      links += " <a href=\"\(branch.target)\">Show the store</a>"
    }
    let text: HTML = names.count == 2 ? "\(names[0]) of \(names[1])" : names[0]
    return "<div class=\"moment\"><p>\(start) \(text).\(links)</p></div>"
  }

  private var place: HTML? {
    guard !trail.isEmpty else { return nil }
    var items: HTML = ""
    for link in trail { items += "<li><a href=\"\(link.target)\">\(link.title)</a></li>" }
    return "<nav aria-label=\"Breadcrumbs\"><ol class=\"trail\">\(items)</ol></nav>"
  }

  private var tools: HTML? {
    guard !formats.isEmpty || address != nil else { return nil }
    var items = formats.map { "<a href=\"\($0.target)\">\($0.title)</a>" as HTML }
    if let address { items.append("<a href=\"\(address)\" data-copy>Link to this state</a>") }
    return Components.toolbar(items, label: "Formats")
  }
}
