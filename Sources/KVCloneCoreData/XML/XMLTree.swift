import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// One element of a parsed file.
struct XMLNode {
  var name: String
  var attributes: [String: String]
  var line: Int
  var children: [XMLNode] = []
  /// The text between the tags, if the form of the file has any; see ``XMLForm``.
  var text = ""
}

/// The content that a file may have besides elements and their attributes.
enum XMLForm {
  /// Nothing, as in a model.
  case model
  /// The content of Core Data's XML stores: one fixed document type, which is ignored, and texts in elements called
  /// `attribute`.
  case store
  /// The content of a property list: its document type, which is ignored, and texts in its keys and values.
  case propertyList

  /// The elements with a text.
  fileprivate var textElements: Set<String> {
    switch self {
    case .model: []
    case .store: ["attribute"]
    case .propertyList: ["key", "string", "integer", "real", "data", "date"]
    }
  }

  /// The document types of files of this form. They are not loaded.
  fileprivate var documentTypes: [Data] {
    switch self {
    case .model: []
    case .store: [Data("<!DOCTYPE database SYSTEM \"file:///System/Library/DTDs/CoreData.dtd\">".utf8)]
    case .propertyList:
      ["Apple", "Apple Computer"].map { owner in
        Data(
          "<!DOCTYPE plist PUBLIC \"-//\(owner)//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">"
            .utf8)
      }
    }
  }
}

/// The maximum sizes of a file. The largest of a thousand public models has 300 KB and nests five elements deep.
enum XMLLimits {
  static let bytes = 64 << 20
  static let depth = 64
  static let elements = 1_000_000
  static let attributesPerElement = 256
}

/// Parses a small, plain XML file into a tree, and rejects everything else: other encodings, document types (but one),
/// entities (and with them, expansion and other files), processing instructions, and sizes that no model has.
enum XMLTree {
  static func parse(_ given: Data, path: String, form: XMLForm = .model) throws(ModelFileError) -> XMLNode {
    var bytes = given
    guard bytes.count <= XMLLimits.bytes else { throw .tooLarge(path: path, limit: XMLLimits.bytes) }
    // A zero byte is valid UTF-8, but not XML: UTF-16 would look like that.
    guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil, declaresUTF8(bytes) else {
      throw .notUTF8(path: path)
    }
    // Replaced by as many spaces, so that the parser never sees it, and the rest is checked as in every file.
    if let range = form.documentTypes.lazy.compactMap({ bytes.prefix(1_024).range(of: $0) }).first {
      bytes.replaceSubrange(range, with: Data(repeating: UInt8(ascii: " "), count: range.count))
    }
    // Rejected wherever the text occurs, even in a comment: a scanner for comments could disagree with the parser about
    // their ends.
    for declaration in ["<!DOCTYPE", "<!ENTITY"] where bytes.range(of: Data(declaration.utf8)) != nil {
      throw .forbiddenDeclaration(path: path)
    }
    guard !hasInstructions(bytes) else { throw .forbiddenDeclaration(path: path) }
    let builder = TreeBuilder(path: path, form: form)
    let parser = XMLParser(data: bytes)
    parser.shouldResolveExternalEntities = false
    parser.delegate = builder
    let isWellFormed = parser.parse()
    if let failure = builder.failure { throw failure }
    guard isWellFormed, let root = builder.root, builder.open.isEmpty else {
      throw .malformed(path: path, line: max(0, parser.lineNumber), reason: reason(parser.parserError))
    }
    return root
  }

  /// Whether there are processing instructions, wherever the text occurs. No model has any, and Foundation's parser
  /// (Swift 6.3) crashes on one without content, `<?x?>`.
  private static func hasInstructions(_ bytes: Data) -> Bool {
    let mark = Data("<?".utf8)
    let byteOrderMark = Data([0xEF, 0xBB, 0xBF])
    var rest = bytes.starts(with: byteOrderMark) ? bytes.dropFirst(3) : bytes[...]
    // The XML declaration, which is valid only at the very beginning.
    if rest.starts(with: Data("<?xml ".utf8)) { rest = rest.dropFirst(2) }
    return rest.range(of: mark) != nil
  }

  /// Whether the XML declaration, if there is one, names UTF-8 or no encoding.
  private static func declaresUTF8(_ bytes: Data) -> Bool {
    let head = String(decoding: bytes.prefix(512), as: UTF8.self)
    guard let start = head.range(of: "<?xml ") else { return true }
    // A longer declaration is malicious.
    guard let end = head.range(of: "?>", range: start.upperBound..<head.endIndex) else { return false }
    let declaration = head[start.upperBound..<end.lowerBound]
    guard let encoding = declaration.range(of: "encoding") else { return true }
    let value = declaration[encoding.upperBound...].drop { $0 == "=" || $0 == " " }.dropFirst()
    return value.prefix(5).lowercased() == "utf-8"
  }

  private static func reason(_ error: (any Error)?) -> String {
    guard let error else { return "it is truncated" }
    return "parser error \((error as NSError).code)"
  }
}

private final class TreeBuilder: NSObject, XMLParserDelegate {
  let path: String
  var open: [XMLNode] = []
  var root: XMLNode?
  var failure: ModelFileError?
  private let textElements: Set<String>
  private var count = 0

  init(path: String, form: XMLForm) {
    self.path = path
    textElements = form.textElements
  }

  private func fail(_ error: ModelFileError, _ parser: XMLParser) {
    if failure == nil { failure = error }
    parser.abortParsing()
  }

  func parser(
    _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String] = [:]
  ) {
    // The parser may still deliver some events after it was stopped.
    guard failure == nil else { return }
    let line = max(0, parser.lineNumber)
    count += 1
    guard open.count < XMLLimits.depth else {
      return fail(.limitExceeded(path: path, line: line, what: "levels (\(XMLLimits.depth))"), parser)
    }
    guard count <= XMLLimits.elements else {
      return fail(.limitExceeded(path: path, line: line, what: "elements (\(XMLLimits.elements))"), parser)
    }
    guard attributes.count <= XMLLimits.attributesPerElement else {
      let what = "attributes of an element (\(XMLLimits.attributesPerElement))"
      return fail(.limitExceeded(path: path, line: line, what: what), parser)
    }
    open.append(XMLNode(name: elementName, attributes: attributes, line: line))
  }

  func parser(
    _ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName: String?
  ) {
    guard failure == nil, let node = open.popLast() else { return }
    if open.isEmpty { root = root ?? node } else { open[open.count - 1].children.append(node) }
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) {
    guard failure == nil, let element = open.last?.name, textElements.contains(element) else { return }
    open[open.count - 1].text += string
  }

  func parser(_ parser: XMLParser, foundCDATA CDATABlock: Data) {
    self.parser(parser, foundCharacters: String(decoding: CDATABlock, as: UTF8.self))
  }

  func parser(_ parser: XMLParser, foundInternalEntityDeclarationWithName name: String, value: String?) {
    fail(.forbiddenDeclaration(path: path), parser)
  }

  func parser(
    _ parser: XMLParser, foundExternalEntityDeclarationWithName name: String, publicID: String?, systemID: String?
  ) {
    fail(.forbiddenDeclaration(path: path), parser)
  }

  func parser(_ parser: XMLParser, parseErrorOccurred parseError: any Error) {
    if failure == nil {
      failure = .malformed(
        path: path, line: max(0, parser.lineNumber), reason: "parser error \((parseError as NSError).code)")
    }
  }
}
