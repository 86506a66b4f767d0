import KVClone
import KVCloneCore
import KVCloneMerge

/// The choices of a form for one conflict.
enum AnswerChoice {
  static let none = ""
  static let empty = "nil"
  static let value = "value"

  /// Returns the answer for a choice; nil if none was chosen.
  ///
  /// - Throws: ``ExplorerError`` with `badRequest` for a value that is not one of the property.
  static func answer(
    _ conflict: ObjectConflict, _ choice: String, _ text: String, _ schema: Schema
  ) throws(ExplorerError) -> ConflictAnswer? {
    if choice == none { return nil }
    if let side = MergeSide(rawValue: choice) { return .side(side) }
    let attribute = attribute(of: conflict, schema)
    switch (choice, conflict.kind) {
    case (empty, .bothChanged), (empty, .inverseTaken): return attribute == nil ? .object(nil) : .attribute(nil)
    case (value, .bothChanged):
      if let attribute { return .attribute(try value(text, attribute, conflict)) }
      return .object(try object(text, conflict, schema))
    case (value, .inverseTaken): return .object(try object(text, conflict, schema))
    case (value, .order):
      var ids: [ObjectID] = []
      for name in text.split(whereSeparator: \.isWhitespace) { ids.append(try object(String(name), conflict, schema)) }
      return .order(ids)
    default: throw invalid(conflict, "the choice \(Excerpt.beginning(of: choice, 40)) does not exist")
    }
  }

  /// The attribute or the element of a conflict; nil for relationships and whole objects.
  static func attribute(of conflict: ObjectConflict, _ schema: Schema) -> AttributeDescription? {
    guard let path = conflict.property, conflict.kind == .bothChanged,
      let entity = try? schema.entity(conflict.entity)
    else { return nil }
    return entity.attributeIndex[path].map { entity.attributes[$0].description }
  }

  /// The text of an answer in the field of a value.
  static func text(_ answer: ConflictAnswer?, _ schema: Schema) -> String {
    switch answer {
    case .attribute(.string(let text)?): text
    case .attribute(let value?): ValueText.cell(value, isPlain: true)
    case .object(let id?): name(id, schema)
    case .order(let ids): ids.map { name($0, schema) }.joined(separator: " ")
    default: ""
    }
  }

  /// The name of an object by its root entity.
  static func name(_ id: ObjectID, _ schema: Schema) -> String {
    "\(schema.entity(code: id.rootCode)?.name ?? "#\(id.rootCode)")/\(id.serial)"
  }

  /// Reads a value as in a command: texts, dates and UUIDs without quotes, others as in JSON.
  private static func value(
    _ text: String, _ attribute: AttributeDescription, _ conflict: ObjectConflict
  ) throws(ExplorerError) -> AttributeValue? {
    var json = JSONValue.string(attribute.type == .string ? text.withPlainLines : text)
    let isText = [.string, .uri, .uuid, .decimal, .date].contains(attribute.type)
    if !isText, !["NaN", "Infinity", "-Infinity"].contains(text) {
      guard let parsed = try? JSONParser.parse(text) else {
        throw invalid(conflict, "the text is not a value of the type \(attribute.type.rawValue)")
      }
      json = parsed
    }
    var files: [AttributeJSON.FileValue] = []
    do throws(AttributeJSON.Refusal) {
      return try AttributeJSON.value(json, for: attribute, files: &files)
    } catch {
      throw invalid(conflict, error.reason)
    }
  }

  private static func object(
    _ text: String, _ conflict: ObjectConflict, _ schema: Schema
  ) throws(ExplorerError) -> ObjectID {
    guard let name = ObjectName(text), let entity = try? schema.entity(name.entity), name.serial > 0,
      name.serial <= ObjectID.maximumSerial
    else { throw invalid(conflict, "write objects as Entity/serial, such as \(conflict.object)") }
    return ObjectID(rootCode: entity.rootCode, serial: name.serial)
  }

  private static func invalid(_ conflict: ObjectConflict, _ reason: String) -> ExplorerError {
    let place = conflict.property.map { "\(conflict.object).\($0)" } ?? conflict.object
    return ExplorerError(.badRequest, "the answer for \(place) cannot be used: \(reason); correct it")
  }
}

extension String {
  /// The text with LF as line breaks: browsers send those of a form as CR LF.
  var withPlainLines: String { replacing("\r\n", with: "\n") }
}
