import KVClone
import KVCloneRecords

/// Reads an object for its pages: bounded parts of its values and relationships, regardless of their size.
struct ObjectReader {
  /// The largest part of a text, in bytes.
  var textLimit = 2000
  /// The largest number of members of a relationship.
  var memberLimit = 20
  /// Whether the beginning of binary values is read, to show it.
  var readsSamples = true

  func read<Reading: ObjectReading & ~Copyable>(
    _ id: ObjectID, in transaction: borrowing Reading
  ) throws -> ObjectFacts {
    let model = transaction._withSession { session in session.schema.model }
    let name = try DisplayName.read(id, in: model, transaction)
    // The record once: each access verifies all of its bytes.
    let stored: Stored = try transaction._withSession { session in
      let record = try session.existingRecord(id)
      let entity = try session.schema.entity(of: record, id: id)
      return Stored(
        uri: "x-kvclone://\(session.storeUUID.uuidString)/\(entity.name)/p\(id.serial)", commit: record.commit,
        length: record.byteCount, attributes: try attributes(of: id, entity, in: record, session),
        relationships: try relationships(of: id, entity, in: record, session),
        incoming: try incoming(to: id, entity, session))
    }
    return ObjectFacts(
      id: id, name: name, uri: stored.uri, commit: stored.commit, recordLength: stored.length,
      attributes: stored.attributes, relationships: named(stored.relationships, in: transaction),
      incoming: named(stored.incoming, in: transaction), provenance: try provenance(of: id, in: transaction),
      previous: try neighbour(of: id, isNext: false, in: transaction),
      next: try neighbour(of: id, isNext: true, in: transaction))
  }

  private typealias Link = (facts: LinkFacts, ids: [ObjectID])

  /// The content of the record and the lists of the object, without the names of members.
  private struct Stored {
    var uri: String
    var commit: UInt64
    var length: Int
    var attributes: [AttributeFacts]
    var relationships: [Link]
    var incoming: [Link]
  }

  // MARK: Attributes

  private func attributes(
    of id: ObjectID, _ entity: CompiledEntity, in record: RecordView, _ session: borrowing Session
  ) throws -> [AttributeFacts] {
    var found: [AttributeFacts] = []
    for attribute in session.schema.model.attributes(of: entity.name) {
      try add(attribute, attribute.name, depth: 0, to: &found, id, entity, record, session)
    }
    return found
  }

  private func add(
    _ attribute: AttributeDescription, _ path: String, depth: Int, to found: inout [AttributeFacts],
    _ id: ObjectID, _ entity: CompiledEntity, _ record: RecordView, _ session: borrowing Session
  ) throws {
    let isComposite = attribute.type == .composite
    var content = AttributeFacts.Content.composite
    if !isComposite {
      do throws(StoreError) {
        content = try self.content(path, id, entity, record, session)
      } catch {
        // A page about a corrupted value shows the others.
        guard error.kind == .corrupted || error.kind == .objectNotFound else { throw error }
        content = .unreadable(error.message)
      }
    }
    found.append(AttributeFacts(path: path, depth: depth, description: attribute, content: content))
    for element in isComposite ? attribute.elements : [] {
      try add(element, "\(path).\(element.name)", depth: depth + 1, to: &found, id, entity, record, session)
    }
  }

  private func content(
    _ path: String, _ id: ObjectID, _ entity: CompiledEntity, _ record: RecordView, _ session: borrowing Session
  ) throws(StoreError) -> AttributeFacts.Content {
    guard let attribute = entity.storedAttribute(path), let preset = attribute.field else { return .transient }
    guard let field = entity.field(preset, code: attribute.code, in: record) else {
      // The record is older than the attribute.
      return attribute.fill.map { .value($0) } ?? .null
    }
    if record.isNull(field) { return .null }
    switch attribute.description.type {
    case .string, .uri:
      let bytes = record.variableBytes(field)
      let whole = bytes.byteCount
      let part = bytes.extracting(0..<min(whole, textLimit)).withUnsafeBytes { Array($0) }
      let isWhole = part.count == whole
      return .text(
        TextFacts(
          beginning: String(decoding: isWhole ? part[...] : UTF8Part.whole(part), as: UTF8.self),
          byteCount: UInt64(whole), isWhole: isWhole))
    case .binary, .transformable:
      guard let source = try ValueSource.find(path, id, entity, in: record, session) else { return .null }
      return .bytes(try Self.bytes(source, samples: readsSamples, session))
    default:
      return try entity.value(of: attribute, in: record, id: id, schema: session.schema).map { .value($0) } ?? .null
    }
  }

  private static func bytes(
    _ source: ValueSource, samples: Bool, _ session: borrowing Session
  ) throws(StoreError) -> BytesFacts {
    // Values in the record are short, and always read.
    let length = samples || source.byteCount <= UInt64(BytesFacts.inlineLimit) ? ImageSize.sampleLength : 0
    let beginning = try source.read(0..<min(source.byteCount, UInt64(length)), session)
    let isWhole = UInt64(beginning.count) == source.byteCount
    let type = MediaType(beginning, isWhole: isWhole)
    var size: ImageSize?
    if case .image(let format) = type { size = ImageSize(beginning, format: format) }
    return BytesFacts(
      source: source, type: type, imageSize: size, sample: Array(beginning.prefix(BytesFacts.inlineLimit)))
  }

  // MARK: Relationships

  private func relationships(
    of id: ObjectID, _ entity: CompiledEntity, in record: RecordView, _ session: borrowing Session
  ) throws(StoreError) -> [Link] {
    var found: [Link] = []
    for relationship in entity.relationships {
      let (list, count) = MemberReader.list(of: relationship, id, entity, in: record, session)
      let page = try MemberReader.page(list, from: nil, limit: memberLimit, in: session)
      let facts = LinkFacts(
        title: relationship.name, declaringEntity: relationship.declaringEntity,
        description: relationship.description, isIncoming: false, count: MemberCount(value: count), members: [],
        next: page.next)
      found.append((facts, page.ids))
    }
    return found
  }

  private func incoming(
    to id: ObjectID, _ entity: CompiledEntity, _ session: borrowing Session
  ) throws(StoreError) -> [Link] {
    var found: [Link] = []
    for relationship in IncomingRelationship.all(to: entity, in: session.schema) {
      let list = session.address(id, relationship.code)
      let page = try MemberReader.page(.chunks(list, isOrdered: false), from: nil, limit: memberLimit, in: session)
      let count = try page.next == nil ? MemberCount(value: page.ids.count) : MemberReader.count(list, in: session)
      let facts = LinkFacts(
        title: relationship.title, declaringEntity: relationship.entity, description: relationship.description,
        isIncoming: true, count: count, members: [], next: page.next)
      found.append((facts, page.ids))
    }
    return found
  }

  private func named<Reading: ObjectReading & ~Copyable>(
    _ found: [Link], in transaction: borrowing Reading
  ) -> [LinkFacts] {
    found.map { link in
      var facts = link.facts
      facts.members = MemberReader.names(of: link.ids, in: transaction)
      return facts
    }
  }

  // MARK: Context

  private func provenance<Reading: ObjectReading & ~Copyable>(
    of id: ObjectID, in transaction: borrowing Reading
  ) throws -> ProvenanceFacts? {
    guard let provenance = try transaction.provenance(of: id) else { return nil }
    guard provenance.sourceStore == nil else {
      return ProvenanceFacts(provenance: provenance, source: nil, exists: false)
    }
    let exists = try transaction.exists(provenance.source)
    let source = MemberReader.names(of: [provenance.source], in: transaction).first?.name
    return ProvenanceFacts(provenance: provenance, source: source, exists: exists)
  }

  /// The nearest object of the same root entity, before or after.
  private func neighbour<Reading: ObjectReading & ~Copyable>(
    of id: ObjectID, isNext: Bool, in transaction: borrowing Reading
  ) throws -> DisplayName? {
    let found: ObjectID? = try transaction._withSession { session in
      guard let table = session.schema.objectTable(rootCode: id.rootCode) else { return nil }
      let serial = isNext ? id.serial + 1 : id.serial - 1
      guard serial > 0, serial <= ObjectID.maximumSerial else { return nil }
      let key = ShortKey.object(ObjectID(rootCode: id.rootCode, serial: serial))
      guard let entry = try session.storage.seek(table, key.bytes, isNext ? .atOrAfter : .atOrBefore) else {
        return nil
      }
      return try session.schema.objectID(entry.key)
    }
    return found.flatMap { MemberReader.names(of: [$0], in: transaction).first?.name }
  }
}

extension BytesFacts {
  /// The length of ``sample``, and of the longest value that JSON contains.
  static var inlineLimit: Int { FormatLimits.inlineBlobLimit }
}

/// A relationship without an inverse that can lead to objects of an entity.
struct IncomingRelationship: Sendable {
  var entity: String
  var description: RelationshipDescription
  /// The code of the list of objects that refer to an object.
  var code: UInt16

  var title: String { "\(entity).\(description.name)" }

  /// The store keeps these lists for the delete rules: an object needs no search for the objects that refer to it.
  static func all(to entity: CompiledEntity, in schema: Schema) -> [IncomingRelationship] {
    let known = Set(entity.referrerCodes)
    var found: [IncomingRelationship] = []
    for (name, codes) in schema.codes.referrers {
      for (relationship, code) in codes where known.contains(code) {
        guard let description = schema.model.relationship(relationship, of: name) else { continue }
        found.append(IncomingRelationship(entity: name, description: description, code: code))
      }
    }
    return found.sorted { $0.title < $1.title }
  }
}
