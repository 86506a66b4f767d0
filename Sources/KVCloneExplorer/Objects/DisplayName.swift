import KVClone

/// The names of an object on pages: that of its id, and the value that identifies it to readers.
struct DisplayName: Sendable, Hashable {
  /// The name of the concrete entity.
  var entity: String
  var serial: UInt64
  /// The beginning of the first value of ``attributes(of:in:)``; nil if the object has none.
  var text: String?

  /// The key of an entity's `userInfo` that names the attribute to show.
  static let userInfoKey = "displayName"
  /// The longest text, in Unicode scalars.
  static let maximumLength = 80

  init(entity: String, serial: UInt64, text: String? = nil) {
    self.entity = entity
    self.serial = serial
    self.text = text
  }

  /// Returns the name of an object that a transaction reads.
  init(_ view: ObjectView, in model: ManagedObjectModel) throws {
    self.init(entity: view.entityName, serial: view.id.serial)
    for attribute in Self.attributes(of: entity, in: model) where text == nil {
      if let beginning = view.beginning(ofText: attribute, scalars: Self.maximumLength) {
        text = Self.text(.string(beginning.text))
      } else {
        text = Self.text(try view.value(attribute))
      }
    }
  }

  /// Returns the name of an existing object.
  ///
  /// - Throws: `objectNotFound`, `corrupted`.
  static func read<Reading: ObjectReading & ~Copyable>(
    _ id: ObjectID, in model: ManagedObjectModel, _ transaction: borrowing Reading
  ) throws -> DisplayName {
    try transaction.withObject(id) { view in try DisplayName(view, in: model) }
  }

  /// The name of the object's id, such as `Note/12`.
  var id: String { "\(entity)/\(serial)" }

  /// The text, or the name of the id without one.
  var title: String { text ?? id }

  /// The segments of the path of the object's page.
  var path: [String] { ["objects", entity, String(serial)] }

  /// A link to the object's page: the text, and the name of its id.
  func link(_ context: PageContext) -> HTML { "<a class=\"object\" href=\"\(context.link(path))\">\(label)</a>" }

  /// The content of a link to the object.
  var label: HTML {
    if let text { "<span class=\"name\">\(text)</span> <span class=\"id\">\(id)</span>" } else { "\(id)" }
  }

  /// Returns the attributes of which the first value names an object: that of `displayName` in the `userInfo` of the
  /// entity or its nearest ancestor that has one, else the stored string attributes, inherited ones first.
  static func attributes(of entity: String, in model: ManagedObjectModel) -> [String] {
    let attributes = model.attributes(of: entity)
    for name in [entity] + model.superentities(of: entity) {
      guard let wanted = model.entity(named: name)?.userInfo[userInfoKey] else { continue }
      let root = wanted.split(separator: ".").first.map(String.init)
      if attributes.contains(where: { $0.name == root && $0.isStored }) { return [wanted] }
    }
    return attributes.filter { $0.type == .string && $0.isStored }.map(\.name)
  }

  /// Returns a value as a name; nil for values that name nothing, such as an empty text.
  private static func text(_ value: AttributeValue?) -> String? {
    switch value {
    case nil, .string(""), .binary, .transformable, .blob, .composite: nil
    case .string(let text)?, .uri(let text)?: Excerpt.beginning(of: text, maximumLength)
    case let value?: ValueText.cell(value, isPlain: true)
    }
  }
}

extension ObjectView {
  /// Returns a text, or its beginning and an ellipsis; nil for other attributes and values. The text is not copied.
  ///
  /// - Parameter scalars: the longest beginning, in Unicode scalars.
  func beginning(ofText attribute: String, scalars: Int) -> (text: String, byteCount: Int, isCut: Bool)? {
    // A scalar has at most four bytes, and one more shows that the text continues.
    guard let part = textBeginning(attribute, byteLimit: 4 * (scalars + 1)) else { return nil }
    let isPart = part.bytes.count < part.byteCount
    let read = String(decoding: isPart ? UTF8Part.whole(part.bytes) : part.bytes[...], as: UTF8.self)
    let text = Excerpt.beginning(of: read, scalars)
    return (text, part.byteCount, isPart || text.utf8.count != read.utf8.count)
  }
}

/// Beginnings of texts.
enum Excerpt {
  /// Returns a text, or its beginning and an ellipsis. The cost does not depend on the length of the text.
  ///
  /// - Parameter length: in Unicode scalars: a character can have any number of them.
  static func beginning(of text: String, _ length: Int) -> String {
    // Most texts are short, and each scalar has at least one byte.
    if text.utf8.count <= length { return text }
    let scalars = text.unicodeScalars
    guard let end = scalars.index(scalars.startIndex, offsetBy: length, limitedBy: scalars.endIndex),
      end != scalars.endIndex
    else { return text }
    return String(scalars[..<end]) + "…"
  }
}
