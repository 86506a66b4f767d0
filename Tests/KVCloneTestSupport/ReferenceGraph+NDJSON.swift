import Foundation
import KVCloneModel

extension ReferenceGraph {
  /// The meaning of an attribute that is missing in a line.
  public enum AbsentAttribute: Sendable {
    /// Nil, as in a dump.
    case isNil
    /// The model's default value, as in a load.
    case isDefault
  }

  /// Reads the NDJSON text of a dump or a load.
  ///
  /// Derived attributes keep the values of the text, so that comparisons can use them. If a line names only one side of
  /// a relationship, the other side is filled in.
  ///
  /// - Parameters:
  ///   - text: The whole file; a header line is skipped.
  ///   - model: The model of the objects.
  ///   - absent: The meaning of a missing attribute.
  ///   - files: The directory that `{"file":…}` values are relative to.
  /// - Throws: ``ReferenceFormatError`` with the line's number.
  public init(
    ndjson text: String, model: ModelView, absent: AbsentAttribute = .isNil, files: String? = nil
  ) throws {
    self.init()
    var order: [Label] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if line.allSatisfy(\.isWhitespace) { continue }
      do {
        guard let object = try Self.object(String(line), model: model, absent: absent, files: files) else { continue }
        guard objects.updateValue(object, forKey: object.label) == nil else {
          throw ReferenceFormatError("\(object.label) occurs twice")
        }
        order.append(object.label)
      } catch {
        throw ReferenceFormatError("line \(index + 1): \(error)")
      }
    }
    try completeInverses(in: order, model: model)
  }

  private static func object(
    _ line: String, model: ModelView, absent: AbsentAttribute, files: String?
  ) throws -> ReferenceObject? {
    guard case .object(let members) = try ReferenceJSON(parsing: line) else {
      throw ReferenceFormatError("not an object")
    }
    if members["kvclone"] != nil { return nil }
    guard case .string(let id)? = members["id"], let label = Label(id), let entity = model.entities[label.entity] else {
      throw ReferenceFormatError("no id of a known entity")
    }
    var object = ReferenceObject(label)
    if case .object(let attributes)? = members["attributes"] {
      for (name, json) in attributes {
        guard let attribute = entity.attribute(name) else { throw ReferenceFormatError("unknown attribute \(name)") }
        object.attributes[name] = try json.value(for: attribute, files: files)
      }
      if absent == .isDefault {
        for attribute in entity.storedAttributes where attributes[attribute.name] == nil {
          object.attributes[attribute.name] = attribute.defaultValue
        }
      }
    } else if absent == .isDefault {
      for attribute in entity.storedAttributes { object.attributes[attribute.name] = attribute.defaultValue }
    }
    if case .object(let relationships)? = members["relationships"] {
      for (name, json) in relationships {
        guard let relationship = model.relationship(name, of: label.entity) else {
          throw ReferenceFormatError("unknown relationship \(name)")
        }
        let targets = try labels(json, toMany: relationship.isToMany)
        if !targets.isEmpty { object.relationships[name] = targets }
      }
    }
    return object
  }

  private static func labels(_ json: ReferenceJSON, toMany: Bool) throws -> [Label] {
    func label(_ text: String) throws -> Label {
      guard let label = Label(text) else { throw ReferenceFormatError("\(text) is not a label") }
      return label
    }
    switch json {
    case .null where !toMany: return []
    case .string(let text) where !toMany: return [try label(text)]
    case .array(let values) where toMany:
      return try values.map {
        guard case .string(let text) = $0 else { throw ReferenceFormatError("a target is not a string") }
        return try label(text)
      }
    default: throw ReferenceFormatError("a to-one target is a string or null, to-many targets are an array")
    }
  }

  private mutating func completeInverses(in order: [Label], model: ModelView) throws {
    // Sets beside the lists, because searching a list of many thousand members for each of them is slow.
    var known: [Label: [String: Set<Label>]] = [:]
    for object in objects.values { known[object.label] = object.relationships.mapValues { Set($0) } }
    for owner in order {
      for relationship in model.entities[owner.entity]?.relationships ?? [] {
        for target in objects[owner]?.targets(relationship.name) ?? [] {
          guard objects[target] != nil else { throw ReferenceFormatError("\(owner) names the unknown \(target)") }
          guard let inverse = relationship.inverse(at: target.entity),
            known[target, default: [:]][inverse.name, default: []].insert(owner).inserted
          else { continue }
          objects[target]?.relationships[inverse.name, default: []].append(owner)
        }
      }
    }
  }

  /// Returns the graph as NDJSON for a load, objects in the order of `lines` (default: the order of a dump).
  ///
  /// An attribute that is nil although the model has a default value for it is written as null.
  public func ndjson(model: ModelView, header: String? = nil, lines: [Label]? = nil) throws -> String {
    var text = header.map { $0 + "\n" } ?? ""
    for label in lines ?? labels {
      guard let object = objects[label], let entity = model.entities[label.entity] else {
        throw ReferenceFormatError("\(label) is not in the graph, or its entity is not in the model")
      }
      var attributes: [String: ReferenceJSON] = [:]
      for attribute in entity.storedAttributes {
        if let value = object.attributes[attribute.name] {
          attributes[attribute.name] = try ReferenceJSON(value)
        } else if attribute.hasDefault {
          attributes[attribute.name] = .null
        }
      }
      var relationships: [String: ReferenceJSON] = [:]
      for relationship in entity.relationships {
        let targets = object.targets(relationship.name)
        guard let first = targets.first else { continue }
        relationships[relationship.name] =
          relationship.isToMany ? .array(targets.map { .string("\($0)") }) : .string("\(first)")
      }
      var members: [String: ReferenceJSON] = ["id": .string("\(label)")]
      if !attributes.isEmpty { members["attributes"] = .object(attributes) }
      if !relationships.isEmpty { members["relationships"] = .object(relationships) }
      text += ReferenceJSON.object(members).text + "\n"
    }
    return text
  }
}

extension AttributeDescription {
  /// Whether a missing value would be loaded as anything but nil: its own default, or that of an element of a
  /// composite.
  fileprivate var hasDefault: Bool { defaultValue != nil || elements.contains { $0.hasDefault } }
}
