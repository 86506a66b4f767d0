import KVClone

/// `NAME=VALUE` and `NAME:=JSON` arguments, checked against an entity.
struct Assignments {
  private(set) var attributes = AttributeJSON.Attributes()
  /// The names of target objects by relationship, in the order given.
  private(set) var relationships: [(name: String, targets: [String])] = []

  /// - Throws: ``Failure`` with the property's name, but never the value.
  init(_ arguments: [String], entity: String, model: ManagedObjectModel) throws {
    var names: Set<String> = []
    for argument in arguments {
      guard let equals = argument.firstIndex(of: "=") else {
        throw Failure(usage: "an argument has no '='; write NAME=VALUE or NAME:=JSON")
      }
      let isJSON = argument[..<equals].hasSuffix(":")
      let name = String(isJSON ? argument[..<equals].dropLast() : argument[..<equals])
      let text = String(argument[argument.index(after: equals)...])
      guard names.insert(name).inserted else { throw Failure(usage: "\(name) is assigned twice; give it once") }
      if let attribute = model.attribute(name, of: entity) {
        try add(try Assignments.json(text, isJSON: isJSON, attribute, entity), attribute, entity)
      } else if model.relationship(name, of: entity) != nil {
        relationships.append((name, try Assignments.targets(text, isJSON: isJSON, name, entity)))
      } else {
        throw Failure("unknownProperty", "\(entity) has no property \(name)", entity: entity, property: name)
      }
    }
  }

  private mutating func add(_ json: JSONValue, _ attribute: AttributeDescription, _ entity: String) throws {
    do {
      try AttributeJSON.read(json, for: attribute, into: &attributes)
    } catch {
      throw Failure(
        error.kind.rawValue, "\(entity).\(error.path): \(error.reason)", entity: entity, property: error.path)
    }
  }

  /// Parses the JSON of an NDJSON line, except that strings need no quotes.
  private static func json(
    _ text: String, isJSON: Bool, _ attribute: AttributeDescription, _ entity: String
  ) throws -> JSONValue {
    if !isJSON {
      switch attribute.type {
      case .string, .uri, .uuid, .decimal: return .string(text)
      case .date where !text.hasPrefix("{"): return .string(text)
      case .double, .float:
        if ["NaN", "Infinity", "-Infinity"].contains(text) { return .string(text) }
      default: break
      }
    }
    do {
      return try JSONParser.parse(text)
    } catch {
      let expected = isJSON ? error.reason : "not a value of the type \(attribute.type.rawValue)"
      throw Failure(
        "wrongType", "\(entity).\(attribute.name): \(expected)", entity: entity, property: attribute.name)
    }
  }

  /// `Note/1`, `Item/1,Item/2`, or JSON as in NDJSON.
  private static func targets(_ text: String, isJSON: Bool, _ name: String, _ entity: String) throws -> [String] {
    if !isJSON { return text.split(separator: ",").map { stored(String($0)) } }
    let failure = Failure(
      "wrongType", "\(entity).\(name): expected an id, an array of ids, or null", entity: entity, property: name)
    switch try? JSONParser.parse(text) {
    case .null?: return []
    case .string(let target)?: return [stored(target)]
    case .array(let values)?:
      return try values.map { value in
        guard case .string(let target) = value else { throw failure }
        return stored(target)
      }
    default: throw failure
    }
  }

  /// In a `load`, `@` marks an object of the store; here all objects are.
  private static func stored(_ name: String) -> String {
    name.hasPrefix("@") ? String(name.dropFirst()) : name
  }
}
