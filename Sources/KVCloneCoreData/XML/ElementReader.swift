import KVCloneModel

/// Reads one element's attributes, and tracks which ones were not read.
struct ElementReader {
  let node: XMLNode
  let file: String
  private var unread: Set<String>

  init(_ node: XMLNode, file: String) {
    self.node = node
    self.file = file
    unread = Set(node.attributes.keys)
  }

  mutating func text(_ name: String) -> String? {
    unread.remove(name)
    return node.attributes[name]
  }

  /// The text, or nil if it is empty: Xcode writes `representedClassName=""`.
  mutating func nonEmptyText(_ name: String) -> String? {
    text(name).flatMap { $0.isEmpty ? nil : $0 }
  }

  mutating func required(_ name: String) throws(ModelFileError) -> String {
    guard let text = text(name) else {
      throw .missingAttribute(path: file, line: node.line, element: node.name, attribute: name)
    }
    return text
  }

  /// An absent flag means NO; values are YES, NO, true and false.
  mutating func flag(_ name: String, or standard: Bool = false, _ context: inout ReadContext) -> Bool {
    guard let text = text(name) else { return standard }
    if let flag = ValueParser.flag(text) { return flag }
    context.warn(
      .unreadableValue, "the flag '\(name)' is neither YES nor NO, and is treated as \(standard ? "YES" : "NO")")
    return standard
  }

  mutating func count(_ name: String, or standard: Int, _ context: inout ReadContext) -> Int {
    guard let text = text(name) else { return standard }
    if let count = Int32(text), count >= 0 { return Int(count) }
    context.warn(.unreadableValue, "'\(name)' is not a valid count, and is treated as \(standard)")
    return standard
  }

  /// Consumes attributes that matter only to Xcode.
  mutating func ignore(_ names: String...) {
    unread.subtract(names)
  }

  /// Warns of attributes that were not read.
  func finish(_ context: inout ReadContext) {
    for name in unread.sorted() {
      context.warn(.unknownContent, "attribute '\(name)' of <\(node.name)> is unknown, and is ignored")
    }
  }

  /// Warns of a child that is unknown in its place.
  func warnUnknown(child: XMLNode, _ context: inout ReadContext) {
    context.warn(.unknownContent, "<\(child.name)> in <\(node.name)> (line \(child.line)) is unknown, and is ignored")
  }
}

/// The position in the file, and the warnings so far.
struct ReadContext {
  let file: String
  var entity: String?
  var property: String?
  /// The number of stored warnings is limited: a malicious file may cause a million.
  private(set) var warnings: [ModelWarning] = []
  private static let warningLimit = 10_000

  mutating func warn(_ kind: ModelWarning.Kind, _ message: String) {
    guard warnings.count < Self.warningLimit else { return }
    warnings.append(ModelWarning(kind, file: file, entity: entity, property: property, message: message))
  }
}
