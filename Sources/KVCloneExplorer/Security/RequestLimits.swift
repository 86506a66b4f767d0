/// The limits of what a client sends.
enum RequestLimits {
  static let maximumHeaderCount = 100
  static let maximumHeaderSize = 64 << 10
  /// The largest number of items of a query or a form.
  static let maximumItemCount = 1000

  static func check(_ request: ExplorerRequest, _ options: ExplorerOptions) throws(ExplorerError) {
    guard request.path.utf8.count + request.query.utf8.count <= options.maximumTargetSize else {
      throw ExplorerError(
        .targetTooLong, "path and query are longer than \(options.maximumTargetSize) bytes; shorten the predicate")
    }
    guard request.headers.count <= maximumHeaderCount else {
      throw ExplorerError(.headersTooLarge, "the request has more than \(maximumHeaderCount) headers; send fewer")
    }
    let size = request.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    guard size <= maximumHeaderSize else {
      throw ExplorerError(
        .headersTooLarge, "the headers are longer than \(maximumHeaderSize) bytes; remove cookies of this host")
    }
    guard request.body.count <= options.maximumBodySize else {
      throw ExplorerError(.tooLarge, "the body is longer than \(options.maximumBodySize) bytes; send a shorter form")
    }
    let separator = UInt8(ascii: "&")
    let itemCount = max(request.query.utf8.count { $0 == separator }, request.body.count { $0 == separator }) + 1
    guard itemCount <= maximumItemCount else {
      throw ExplorerError(.tooLarge, "the request has more than \(maximumItemCount) items; send fewer")
    }
  }
}
