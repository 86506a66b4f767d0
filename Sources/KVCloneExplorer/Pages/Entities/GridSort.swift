import KVClone

/// A sort key of a grid, written as in the command line: `name`, `-date` descending, `name[cd]` without case and
/// accents, `title[numeric]`.
struct GridSort: Sendable, Hashable {
  /// A key path, such as `album.title` or `tags.@count`.
  var key: String
  var isAscending = true
  var options: QueryComparison.Options = []

  static let folded: QueryComparison.Options = [.caseInsensitive, .diacriticInsensitive]

  init(_ key: String, isAscending: Bool = true, options: QueryComparison.Options = []) {
    self.key = key
    self.isAscending = isAscending
    self.options = options
  }

  /// - Throws: ``ExplorerError`` for unknown options and empty keys.
  init(_ text: some StringProtocol) throws(ExplorerError) {
    var rest = text.split(separator: " ").joined()[...]
    if rest.hasPrefix("-") {
      isAscending = false
      rest.removeFirst()
    }
    while rest.hasSuffix("]"), let bracket = rest.lastIndex(of: "[") {
      switch rest[rest.index(after: bracket)...].dropLast() {
      case "c": options.insert(.caseInsensitive)
      case "d": options.insert(.diacriticInsensitive)
      case "cd", "dc": options.formUnion(Self.folded)
      case "numeric": options.insert(.numeric)
      default: throw Self.malformed
      }
      rest = rest[..<bracket]
    }
    guard !rest.isEmpty else { throw Self.malformed }
    key = String(rest)
  }

  /// Parses keys that commas separate.
  static func parse(_ text: String) throws(ExplorerError) -> [GridSort] {
    var keys: [GridSort] = []
    for part in text.split(separator: ",") { keys.append(try GridSort(part)) }
    guard keys.count <= maximumCount else {
      throw ExplorerError(.badRequest, "the order has more than \(maximumCount) keys; use fewer")
    }
    return keys
  }

  static func text(_ keys: [GridSort]) -> String { keys.map(\.text).joined(separator: ",") }

  var text: String {
    let letters = (options.contains(.caseInsensitive) ? "c" : "") + (options.contains(.diacriticInsensitive) ? "d" : "")
    return (isAscending ? "" : "-") + key + (letters.isEmpty ? "" : "[\(letters)]")
      + (options.contains(.numeric) ? "[numeric]" : "")
  }

  var descriptor: QuerySortDescriptor { QuerySortDescriptor(key: key, ascending: isAscending, options: options) }

  private static let maximumCount = 8
  private static var malformed: ExplorerError {
    ExplorerError(
      .badRequest,
      "a sort key is malformed; write key paths separated by commas: -KEY descending, KEY[cd] without case and accents, "
        + "KEY[numeric] with digits as numbers")
  }
}
