/// The body of a posted form.
enum FormBody {
  private static let mediaType = "application/x-www-form-urlencoded"

  static func items(_ request: ExplorerRequest) throws(ExplorerError) -> QueryItems {
    if request.body.isEmpty { return QueryItems() }
    let given = request.header("content-type")?.prefix { $0 != ";" }.filter { !$0.isWhitespace }
    guard let given, given.lowercased() == mediaType else {
      throw ExplorerError(.unsupportedMediaType, "the body is not a form; send it as \(mediaType)")
    }
    guard let text = String(validating: request.body, as: UTF8.self), let items = QueryItems(text) else {
      throw ExplorerError(.badRequest, "the form is not percent-encoded UTF-8; encode its values")
    }
    return items
  }
}
