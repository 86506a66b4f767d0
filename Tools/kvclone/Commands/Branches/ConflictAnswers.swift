import Foundation
import KVClone
import KVCloneExplorer
import KVCloneMerge

/// Reads the file of --answers: conflicts as --json prints them, each with an answer.
struct ConflictAnswers {
  private let path: String
  private let model: ManagedObjectModel
  /// Returns the id with a name, also if no state has the object.
  private let id: (String) throws -> ObjectID?

  /// - Parameter id: finds an object by its name; nil for a text that is no name.
  static func read(_ path: String, _ model: ManagedObjectModel, id: @escaping (String) throws -> ObjectID?) throws
    -> [AnsweredConflict]
  {
    let reader = ConflictAnswers(path: path, model: model, id: id)
    let conflicts = try reader.conflicts()
    return try conflicts.enumerated().compactMap { index, json in try reader.answer(json, index + 1) }
  }

  private func conflicts() throws -> [JSONValue] {
    let text: String
    do {
      text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    } catch {
      throw Failure(file: error, "\(path) cannot be read")
    }
    let document: JSONValue
    do {
      document = try JSONParser.parse(text)
    } catch {
      throw Failure("invalidAnswer", "\(path) is no JSON document: \(error.reason)")
    }
    if case .array(let conflicts) = document { return conflicts }
    if case .object(let members) = document, case .array(let conflicts)? = members["conflicts"] { return conflicts }
    throw Failure(
      "invalidAnswer",
      "\(path) has no conflicts; save what `--dry-run --json` prints, and add an answer to its conflicts")
  }

  /// Returns a conflict with its answer; nil without an answer.
  private func answer(_ json: JSONValue, _ number: Int) throws -> AnsweredConflict? {
    guard case .object(let members) = json else { throw invalid("is not an object", number) }
    guard let answer = members["answer"], answer != .null else { return nil }
    func text(_ name: String) throws -> String? {
      switch members[name] {
      case nil, .null?: return nil
      case .string(let text)?: return text
      default: throw invalid("has a member \(name) that is not a string", number)
      }
    }
    guard let kind = try text("kind").flatMap(ObjectConflict.Kind.init), let object = try text("object"),
      let entity = object.split(separator: "/").first.map(String.init),
      let fingerprint = try text("fingerprint").flatMap({ UInt64($0, radix: 16) })
    else {
      throw invalid(
        "lacks its kind, object or fingerprint; take the conflicts from `--dry-run --json` unchanged", number)
    }
    guard let id = try id(object) else { throw invalid("names an object that is not of this store: \(object)", number) }
    let other = try text("other").map { name in
      guard let id = try self.id(name) else {
        throw invalid("names an object that is not of this store: \(name)", number)
      }
      return id
    }
    let property = try text("property")
    let conflict = ObjectConflict(
      kind, id, entity: entity, property: property, other: other, fingerprint: fingerprint)
    return AnsweredConflict(conflict, try value(of: answer, conflict, members, number))
  }

  /// - Parameter members: the conflict as --json prints it.
  private func value(
    of answer: JSONValue, _ conflict: ObjectConflict, _ members: JSONObject, _ number: Int
  ) throws -> ConflictAnswer {
    switch answer {
    case .string("refuse"): return .refuse
    case .string(let text):
      if let side = MergeSide(rawValue: text) { return .side(side) }
    case .object(let answer):
      guard let value = answer["value"], answer.members.count == 1 else { break }
      if case .object(let blob) = value, blob["digest"] != nil { return try side(withBlob: value, members, number) }
      return try self.value(value, conflict, number)
    default: break
    }
    throw invalid("has an answer that is not \"ours\", \"theirs\", \"refuse\" or {\"value\": …}", number)
  }

  /// The side with a large value that is described by its size and digest.
  private func side(withBlob blob: JSONValue, _ members: JSONObject, _ number: Int) throws -> ConflictAnswer {
    for side in [MergeSide.ours, .theirs] where members[side.rawValue] == blob { return .side(side) }
    throw invalid(
      "has the size and digest of a value of neither side; choose a side, or give the bytes as {\"base64\": …}", number)
  }

  /// An answer with a value: of an attribute, a to-one relationship, or a list.
  private func value(_ json: JSONValue, _ conflict: ObjectConflict, _ number: Int) throws -> ConflictAnswer {
    guard let path = conflict.property, conflict.kind != .notUnique else {
      throw invalid("concerns a whole object, and takes \"ours\" or \"theirs\"", number)
    }
    if conflict.kind == .order {
      guard case .array(let names) = json else { throw invalid("needs an array of ids as its value", number) }
      return .order(try names.map { try target($0, number) })
    }
    if model.relationship(path, of: conflict.entity) != nil {
      return .object(json == .null ? nil : try target(json, number))
    }
    guard let attribute = attribute(path, of: conflict.entity) else {
      throw invalid("names a property that the model does not have: \(conflict.entity).\(path)", number)
    }
    do {
      var files: [AttributeJSON.FileValue] = []
      let value = try AttributeJSON.value(json, for: attribute, files: &files)
      if !files.isEmpty { throw invalid("has its bytes in a file; give them as {\"base64\": …}", number) }
      return .attribute(value)
    } catch let refusal as AttributeJSON.Refusal {
      throw invalid("has an invalid value: \(refusal.path): \(refusal.reason)", number)
    }
  }

  private func target(_ json: JSONValue, _ number: Int) throws -> ObjectID {
    guard case .string(let name) = json, let id = try id(name) else {
      throw invalid("needs ids of objects as its value", number)
    }
    return id
  }

  /// The attribute, or the element of a composite attribute, with a path.
  private func attribute(_ path: String, of entity: String) -> AttributeDescription? {
    let parts = path.split(separator: ".").map(String.init)
    guard let first = parts.first else { return nil }
    return parts.dropFirst().reduce(model.attribute(first, of: entity)) { attribute, name in
      attribute?.elements.first { $0.name == name }
    }
  }

  private func invalid(_ reason: String, _ number: Int) -> Failure {
    Failure("invalidAnswer", "\(path): conflict \(number) \(reason)")
  }
}
