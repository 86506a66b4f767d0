import KVCloneCore
import KVCloneModel

/// A parsed NDJSON line for a load: everything that does not depend on the store.
enum ParsedLine {
  case blank
  case header
  case object(ParsedObject)
  /// The error of an invalid line.
  case failure(TransferError)
  /// The error of the whole text, from its first line.
  case refusal(TransferError)
}

/// The object of a line.
struct ParsedObject {
  /// The id as written in the line.
  let label: String
  /// Index into ``LoadSchema/entities``.
  let entity: Int
  let serial: UInt64
  /// Values by attribute. An explicit null replaces the default.
  fileprivate(set) var values: [(attribute: String, value: AttributeValue?)] = []
  /// Attributes with bytes in a file.
  fileprivate(set) var files: [AttributeJSON.FileValue] = []
  fileprivate(set) var statements: [Statement] = []
  /// The error in the members, attributes or relationships: a load reports errors of the id before it.
  fileprivate(set) var attributeFailure: TransferError?
  fileprivate(set) var relationshipFailure: TransferError?

  /// Whether some of it is written outside of the object's record.
  var hasBytes: Bool {
    !files.isEmpty
      || values.contains {
        switch $0.value {
        case .binary, .transformable, .composite: true
        default: false
        }
      }
  }

  /// The members of one relationship.
  struct Statement {
    let relationship: LoadRelationship
    var targets: [Target] = []
  }

  /// An id in a relationship.
  struct Target {
    enum Kind {
      /// The id of a line.
      case label
      /// `"@Entity/serial"`: an object that the store has.
      case stored
      /// Another text after `@`; `serial` is its index in `texts`.
      case text
    }

    let kind: Kind
    let entity: UInt16
    let serial: UInt64
  }

  /// Ids of stored objects that do not have the form `Entity/serial`, without the `@`.
  fileprivate(set) var texts: [String] = []

  fileprivate init(label: String, entity: Int, serial: UInt64) {
    self.label = label
    self.entity = entity
    self.serial = serial
  }
}

/// Parses lines. It uses the model and no store, so it runs on another thread than the inserts.
struct LineParser {
  let schema: LoadSchema
  let modelHash: String
  let isStrict: Bool

  /// - Parameter number: the number of the line, from 1.
  func parse(_ line: Span<UInt8>, _ number: Int) -> ParsedLine {
    do throws(TransferError) {
      let start = try markLength(line, number)
      let line = line.extracting(start..<line.count)
      if isBlank(line) {
        if isStrict, number == 1 { throw missingHeader }
        return .blank
      }
      let object = try objectLine(line, number)
      if number == 1 {
        if let version = object.members["kvclone"] {
          try checkHeader(object.members, version)
          return .header
        }
        if isStrict { throw missingHeader }
      }
      return .object(try parse(object, line, number))
    } catch {
      if error.kind == .incompatibleHeader { return .refusal(error) }
      // A first line without a readable header is not skipped either.
      if isStrict, number == 1 { return .refusal(error) }
      if number == 1, case .wide? = EncodingMark.find(line) { return .refusal(error) }
      return .failure(error)
    }
  }

  /// The id of a line that is read ahead.
  enum LineID {
    /// A blank line, or the header.
    case noObject
    /// A line that cannot be loaded.
    case invalid
    case object(LoadEntity, serial: UInt64)
  }

  /// The id of a line. Reads only the start of lines that begin with it, as those of dumps do.
  func id(of line: Span<UInt8>, _ number: Int) -> LineID {
    if number > 1, let name = leadingID(of: line), let index = schema.entityIndex(name.entity) {
      return .object(schema.entities[index], serial: name.serial)
    }
    switch parse(line, number) {
    case .blank, .header: return .noObject
    case .failure, .refusal: return .invalid
    case .object(let object): return .object(schema.entities[object.entity], serial: object.serial)
    }
  }

  private func leadingID(of line: Span<UInt8>) -> LoadName? {
    let start: StaticString = #"{"id":""#
    let count = start.utf8CodeUnitCount
    guard line.count > count else { return nil }
    for index in 0..<count where unsafe start.utf8Start[index] != line[index] { return nil }
    var end = count
    while end < line.count, line[end] != UInt8(ascii: "\"") {
      if line[end] == UInt8(ascii: "\\") || end - count > LoadName.lengthLimit { return nil }
      end += 1
    }
    let label = line.extracting(count..<end).withUnsafeBufferPointer { unsafe String(validating: $0, as: UTF8.self) }
    return label.flatMap { LoadName($0[...]) }
  }

  /// Rejects a first line with an invalid header before the rest of a slow source is read. Other errors are left to the
  /// load, which has more information about lines.
  func checkHeader(ahead line: Span<UInt8>) throws(TransferError) {
    var other = JSONValue.null
    guard let object = try? ObjectLine(line, other: &other) else { return }
    if let version = object.members["kvclone"] { return try checkHeader(object.members, version) }
    if isStrict { throw missingHeader }
  }

  // MARK: Lines

  private func failure(
    _ kind: TransferError.Kind, _ reason: String, _ line: Int, entity: String? = nil, property: String? = nil,
    object: String? = nil
  ) -> TransferError {
    TransferError(kind, reason, line: line, entity: entity, property: property, object: object)
  }

  /// The size of a byte order mark before the line's JSON. The text may begin with that of UTF-8.
  private func markLength(_ line: Span<UInt8>, _ number: Int) throws(TransferError) -> Int {
    switch EncodingMark.find(line) {
    case nil: return 0
    case .utf8(let length):
      if number == 1 { return length }
      throw failure(
        .malformedLine,
        "the line begins with a byte order mark, which is only valid at the start of the text; remove it", number)
    case .wide:
      if number > 1 { return 0 }
      throw failure(
        .malformedLine,
        "the text is UTF-16 or UTF-32, judging by its byte order mark or zero bytes; convert it to UTF-8 "
          + "(iconv -f UTF-16 -t UTF-8)", number)
    }
  }

  private func isBlank(_ line: Span<UInt8>) -> Bool {
    for index in 0..<line.count {
      guard line[index] == 0x20 || line[index] == 0x09 || line[index] == 0x0D else { return false }
    }
    return true
  }

  private func objectLine(_ line: Span<UInt8>, _ number: Int) throws(TransferError) -> ObjectLine {
    var other = JSONValue.null
    do throws(JSONError) {
      if let object = try ObjectLine(line, other: &other) { return object }
    } catch {
      throw failure(.malformedLine, error.reason, number)
    }
    throw failure(.malformedLine, "\(other.kind) instead of an object", number)
  }

  private var missingHeader: TransferError {
    failure(.incompatibleHeader, "the header is missing, but --strict requires it", 1)
  }

  private func checkHeader(_ header: JSONObject, _ version: JSONValue) throws(TransferError) {
    guard version == .integer(1) else {
      throw failure(
        .incompatibleHeader, "the version of the text is unknown to this library; use a newer library", 1)
    }
    if isStrict, header["modelHash"] != .string(modelHash) {
      throw failure(
        .incompatibleHeader, "the text belongs to another model; migrate the store, or load without --strict", 1)
    }
  }

  // MARK: Objects

  private func parse(_ object: ObjectLine, _ line: Span<UInt8>, _ number: Int) throws(TransferError) -> ParsedObject {
    var id: JSONValue?
    var attributes: JSONObject?
    // The id is read in any case: a line with an unknown member has its id, too.
    var memberFailure: String?
    for member in object.members.members {
      switch (member.name, member.value) {
      case ("id", let value): id = value
      case ("attributes", .object(let value)): attributes = value
      case ("relationships", _) where object.relationships != nil: break
      case ("attributes", let value), ("relationships", let value):
        memberFailure = memberFailure ?? "\(value.kind) instead of the object of \(member.name)"
      default: memberFailure = memberFailure ?? "a member other than id, attributes and relationships"
      }
    }
    guard case .string(let label)? = id, label.utf8.count <= LoadName.lengthLimit, let name = LoadName(label[...])
    else {
      throw failure(.malformedLine, memberFailure ?? #"no "id" of the form "Entity/serial""#, number)
    }
    guard let index = schema.entityIndex(name.entity) else {
      throw failure(
        .unknownEntity, "the model does not have the entity of this id", number, entity: String(name.entity),
        object: label)
    }
    let entity = schema.entities[index]
    if entity.isAbstract {
      throw failure(
        .abstractEntity, "\(entity.name) is abstract; use one of its subentities", number, entity: entity.name,
        object: label)
    }
    var parsed = ParsedObject(label: label, entity: index, serial: name.serial)
    if let memberFailure {
      parsed.attributeFailure = failure(.malformedLine, memberFailure, number, object: label)
      return parsed
    }
    do throws(TransferError) {
      try readAttributes(attributes, entity, number, &parsed)
    } catch {
      parsed.attributeFailure = error
      return parsed
    }
    do throws(TransferError) {
      try readRelationships(object, line, entity, number, &parsed)
    } catch {
      parsed.relationshipFailure = error
    }
    return parsed
  }

  private func readAttributes(
    _ given: JSONObject?, _ entity: LoadEntity, _ number: Int, _ parsed: inout ParsedObject
  ) throws(TransferError) {
    guard let given else { return }
    parsed.values.reserveCapacity(given.members.count)
    for member in given.members {
      guard let attribute = entity.attributes[member.name] else {
        throw failure(
          .unknownProperty, "\(entity.name) has no attribute \(ErrorText.shown(member.name))", number,
          entity: entity.name, property: ErrorText.shown(member.name), object: parsed.label)
      }
      if attribute.isDerived || attribute.isTransient { continue }
      let fileCount = parsed.files.count
      do throws(AttributeJSON.Refusal) {
        let value = try AttributeJSON.value(member.value, for: attribute, files: &parsed.files)
        if value != nil || parsed.files.count == fileCount { parsed.values.append((attribute.name, value)) }
      } catch {
        throw failure(
          error.kind, "\(error.path): \(error.reason)", number, entity: entity.name, property: error.path,
          object: parsed.label)
      }
    }
  }

  private func readRelationships(
    _ object: ObjectLine, _ line: Span<UInt8>, _ entity: LoadEntity, _ number: Int, _ parsed: inout ParsedObject
  ) throws(TransferError) {
    for (member, list) in zip(object.relationships?.members ?? [], object.lists) {
      guard let relationship = entity.relationships[member.name] else {
        throw failure(
          .unknownProperty, "\(entity.name) has no relationship \(ErrorText.shown(member.name))", number,
          entity: entity.name, property: ErrorText.shown(member.name), object: parsed.label)
      }
      // What precedes a mistake is kept: the load reports the first error.
      parsed.statements.append(ParsedObject.Statement(relationship: relationship))
      let last = parsed.statements.count - 1
      switch member.value {
      case .array where relationship.description.isToMany:
        guard let list else { break }
        var parser = JSONParser(line, from: list)
        do throws(JSONError) {
          guard try parser.begin(UInt8(ascii: "]")) else { break }
        } catch {
          throw failure(.malformedLine, error.reason, number, object: parsed.label)
        }
        var hasMore = true
        while hasMore {
          let value: JSONValue
          do throws(JSONError) {
            value = try parser.value()
          } catch {
            throw failure(.malformedLine, error.reason, number, object: parsed.label)
          }
          parsed.statements[last].targets.append(try target(value, relationship, number, &parsed))
          do throws(JSONError) {
            hasMore = try parser.hasMore(UInt8(ascii: "]"))
          } catch {
            throw failure(.malformedLine, error.reason, number, object: parsed.label)
          }
        }
      case .string where !relationship.description.isToMany:
        parsed.statements[last].targets.append(try target(member.value, relationship, number, &parsed))
      case .null where !relationship.description.isToMany: break
      default:
        let expected = relationship.description.isToMany ? "an array of ids" : "an id or null"
        throw failure(
          .wrongType, "\(member.name): \(member.value.kind) instead of \(expected)", number, entity: entity.name,
          property: member.name, object: parsed.label)
      }
    }
  }

  private func target(
    _ value: JSONValue, _ relationship: LoadRelationship, _ number: Int, _ parsed: inout ParsedObject
  ) throws(TransferError) -> ParsedObject.Target {
    let property = relationship.description.name
    guard case .string(let text) = value else {
      throw failure(
        .wrongType, "\(property): \(value.kind) instead of an id", number, property: property, object: parsed.label)
    }
    let isStored = text.utf8.first == UInt8(ascii: "@")
    let plain = isStored ? text.dropFirst() : text[...]
    let name = LoadName(plain)
    if let name, let index = schema.entityIndex(name.entity), isStored || relationship.accepts[index] {
      return ParsedObject.Target(kind: isStored ? .stored : .label, entity: UInt16(index), serial: name.serial)
    }
    if isStored {
      parsed.texts.append(String(plain))
      return ParsedObject.Target(kind: .text, entity: 0, serial: UInt64(parsed.texts.count - 1))
    }
    throw failure(
      .wrongDestination,
      "\(property): the id does not belong to the entity \(relationship.description.destinationEntityName)", number,
      property: property, object: parsed.label)
  }
}
