/// The frame of all pages: head, navigation, breadcrumbs and heading.
enum PageShell {
  static func document(_ page: any Page, _ context: PageContext) -> HTML {
    var navigation: HTML = ""
    for section in PageSection.allCases {
      let current: HTML = section == page.section ? " aria-current=\"page\"" : ""
      let target = context.link(section.path.split(separator: "/").map(String.init))
      navigation += "<li><a href=\"\(target)\"\(current)>\(section.rawValue)</a></li>"
    }
    var trail: HTML = ""
    for item in page.breadcrumbs(context) { trail += "<li><a href=\"\(item.link)\">\(item.name)</a></li>" }
    let moment: HTML? = context.snapshotName.map {
      "<p class=\"moment\">At the snapshot <b>\($0)</b>. <a href=\"\(context.link(replacing: [("at", nil)]))\">Show the present state</a></p>"
    }
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>\(page.title) – \(context.model.name)</title>
      <link rel="stylesheet" href="\(context.link(to: .stylesheet))">
      <script src="\(context.link(to: .script))" defer></script>
      </head>
      <body>
      <a class="skip" href="#content">Skip to the content</a>
      <header>
      <nav aria-label="Sections"><ul>\(navigation)</ul></nav>
      </header>
      <main id="content" tabindex="-1">
      <nav aria-label="Breadcrumbs"><ol class="trail">\(trail)</ol></nav>
      \(moment)
      <h1>\(page.title)</h1>
      \(page.html(context))
      </main>
      </body>
      </html>

      """
  }
}
