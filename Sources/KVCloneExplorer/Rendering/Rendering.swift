import KVCloneCore

/// Pages as responses.
enum Rendering {
  static func response(_ page: any Page, _ context: PageContext) -> ExplorerResponse {
    var response =
      context.format == .html
      ? ExplorerResponse(PageFormat.html.contentType, PageShell.document(page, context).text)
      : data(page, context.format)
    response.status = page.status
    if context.isNegotiated { response.headers.append(("Vary", "Accept")) }
    return response
  }

  /// The page as JSON or CSV.
  static func data(_ page: any Page, _ format: PageFormat) -> ExplorerResponse {
    if format == .csv {
      let table = page.table
      let rows = [table.columns] + table.rows
      return ExplorerResponse(format.contentType, rows.map { CSV.row($0) + "\n" }.joined())
    }
    var json = JSONWriter()
    json.beginObject()
    page.write(to: &json)
    json.endObject()
    json.newLine()
    return ExplorerResponse(format.contentType, json.bytes)
  }
}
