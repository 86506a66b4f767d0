import KVCloneCore

/// An error as a page.
struct ErrorPage: Page {
  let report: ErrorReport
  /// For an object that was not found: the states that have it.
  var states: ObjectStates?

  var title: String {
    switch report.status {
    case 401: "Not signed in"
    case 403: "Not allowed"
    case 404: "Not found"
    case 409: "Conflict"
    case 501: "Not supported"
    case 503: "Not available"
    case 400...499: "Invalid request"
    default: "Error"
    }
  }

  let section = PageSection.entities

  func html(_ context: PageContext) -> HTML {
    Components.notice(report.message, "error") + details + (states?.html(context) ?? .empty)
      + "<p>\(Components.link("Show all entities", context.options.basePath + "/"))</p>"
  }

  private var details: HTML {
    var items: [(name: String, value: HTML)] = [("Kind", "<code>\(report.kind)</code>")]
    let affected = [("Entity", report.entity), ("Object", report.object), ("Property", report.property)]
    for (name, value) in affected { if let value { items.append((name, "\(value)")) } }
    return Components.definitions(items)
  }

  func write(to json: inout JSONWriter) {
    json.member("message_type", "error")
    json.member("status", report.status)
    json.member("kind", report.kind)
    json.nullable("entity", report.entity)
    json.nullable("object", report.object)
    json.nullable("property", report.property)
    json.member("message", report.message)
    if let states { json.member("snapshots", states.snapshots) }
  }

  var table: PageTable {
    PageTable(
      columns: ["status", "kind", "entity", "object", "property", "message"],
      rows: [["\(report.status)", report.kind, report.entity, report.object, report.property, report.message]])
  }

  /// The page for a client that may not see anything of the store, not even the name of its model.
  ///
  /// - Parameter retry: the URL of the request. Browsers send a strict cookie with a link on this page, but not with a
  ///   link on a page of another site.
  func bareDocument(_ stylesheet: String, retry: String?) -> HTML {
    let retry: HTML? = retry.map { "<p><a href=\"\($0)\">Try again</a></p>" }
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>\(title)</title>
      <link rel="stylesheet" href="\(stylesheet)">
      </head>
      <body>
      <main id="content">
      <h1>\(title)</h1>
      \(Components.notice(report.message, "error"))
      \(retry)
      </main>
      </body>
      </html>

      """
  }
}
