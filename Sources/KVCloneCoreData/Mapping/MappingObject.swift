import KVCloneModel

/// An `<object>` of a mapping model's file, which is an XML store: values and references by name.
struct MappingObject {
  /// Xcode's names of the kinds of objects.
  enum Kind: String {
    case mappingModel = "XDDEVMAPPINGMODEL"
    case entityMapping = "XDDEVENTITYMAPPING"
    case attributeMapping = "XDDEVATTRIBUTEMAPPING"
    case relationshipMapping = "XDDEVRELATIONSHIPMAPPING"
  }

  let id: String
  /// Nil for an unknown object.
  let kind: Kind?
  let line: Int
  private let file: String
  private var values: [String: String] = [:]
  private var references: [String: String] = [:]

  init(_ node: XMLNode, file: String, _ context: inout ReadContext) throws(ModelFileError) {
    var element = ElementReader(node, file: file)
    let type = try element.required("type")
    kind = Kind(rawValue: type)
    id = try element.required("id")
    line = node.line
    self.file = file
    if kind == nil { context.warn(.unknownContent, "objects of type '\(type)' are unknown, and are ignored") }
    for child in node.children {
      var part = ElementReader(child, file: file)
      switch child.name {
      case "attribute":
        values[try part.required("name")] = child.text
        part.ignore("type")
      case "relationship":
        references[try part.required("name")] = part.text("idrefs") ?? ""
        part.ignore("type", "destination")
      default:
        element.warnUnknown(child: child, &context)
        continue
      }
      part.finish(&context)
    }
    element.finish(&context)
  }

  /// The value as text; nil if it is missing or empty.
  mutating func text(_ name: String) -> String? {
    guard let text = values.removeValue(forKey: name), !text.isEmpty else { return nil }
    return text
  }

  /// The value as text; throws if it is missing.
  mutating func required(_ name: String) throws(ModelFileError) -> String {
    guard let text = text(name) else {
      throw .missingAttribute(path: file, line: line, element: "object", attribute: name)
    }
    return text
  }

  /// The value as a flag; nil if it is missing.
  mutating func flag(_ name: String, _ context: inout ReadContext) -> Bool? {
    guard let text = text(name) else { return nil }
    switch text {
    case "1", "YES", "true": return true
    case "0", "NO", "false": return false
    default:
      context.warn(.unreadableValue, "the flag '\(name)' is neither 0 nor 1, and is ignored")
      return nil
    }
  }

  /// The targets of a relationship.
  mutating func references(_ name: String) -> [String] {
    (references.removeValue(forKey: name) ?? "").split(whereSeparator: \.isWhitespace).map(String.init)
  }

  /// Consumes values that matter only to Xcode.
  mutating func ignore(_ names: String...) {
    for name in names {
      values[name] = nil
      references[name] = nil
    }
  }

  /// Warns of unknown values.
  func finish(_ context: inout ReadContext) {
    for name in (Array(values.keys) + Array(references.keys)).sorted() {
      context.warn(.unknownContent, "'\(name)' of a mapping (line \(line)) is unknown, and is ignored")
    }
  }
}
