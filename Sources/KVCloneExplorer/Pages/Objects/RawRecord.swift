import KVClone
import KVCloneRecords

/// A part of the stored bytes of a record, with the decoded values of the parts that it shows.
struct RawRecord: Sendable {
  struct Part: Sendable {
    var offset: Int
    var byteCount: Int
    var name: String
    var value: String
    /// The first bytes.
    var hex: String
    var isCut: Bool
  }

  struct Blob: Sendable {
    var attribute: String
    var serial: UInt64
    var byteCount: UInt64
    var chunkCount: UInt32
    var referenceCount: UInt64
    var digest: String
  }

  /// The number of bytes that a page shows.
  static let windowLength = 4096
  /// The longest part with all of its bytes.
  private static let hexLength = 32

  var name: DisplayName
  var table: String
  var key: String
  var byteCount: Int
  var checksum: String
  var isIntact: Bool
  /// The reason why the record cannot be read.
  var problem: String?
  var commit: UInt64
  var layout: UInt16
  var entityCode: UInt16
  /// The version of the file's format.
  var formatVersion: UInt32
  var offset: Int
  var bytes: [UInt8]
  var parts: [Part]
  var blobs: [Blob] = []

  /// Reads a record, which may be corrupted.
  ///
  /// - Parameters:
  ///   - name: `Entity/serial`, of any entity with the same root.
  ///   - offset: the first byte to show.
  /// - Throws: `objectNotFound`, and `invalidIndex` for an offset beyond the end.
  init(_ name: String, from offset: Int, in session: borrowing Session) throws(StoreError) {
    let (id, entity) = try session.schema.parse(name, storeUUID: session.storeUUID)
    let key = ShortKey.object(id)
    guard let stored = try session.storage.get(entity.table, key.bytes) else {
      throw session.schema.notFound(id, entity)
    }
    guard offset >= 0, offset <= stored.byteCount else {
      throw StoreError(
        .invalidIndex, "offset is above \(stored.byteCount), the size of the record; correct it", object: name)
    }
    table = entity.table.code.name ?? ""
    self.key = Hex.text(key.array)
    byteCount = stored.byteCount
    isIntact = ValueEnvelope.isIntact(stored, seed: ValueEnvelope.seed(object: id))
    let start = stored.extracting(0..<min(8, byteCount)).withUnsafeBytes { Array($0) }
    checksum = Hex.text(start)
    commit = (try? RecordView.commit(of: stored)) ?? 0
    layout = (try? RecordView.layoutID(of: stored)) ?? 0
    entityCode = (try? RecordView.entityCode(of: stored)) ?? 0
    formatVersion = try Metadata.format(session.storage, session.schema.tables.metadata)?.version ?? 0
    self.offset = offset
    bytes = stored.extracting(offset..<min(byteCount, offset + Self.windowLength)).withUnsafeBytes { Array($0) }
    parts = []
    self.name = DisplayName(entity: entity.name, serial: id.serial)
    do throws(StoreError) {
      let record = try session.schema.view(of: stored, id: id)
      self.name.entity = try session.schema.entity(of: record, id: id).name
      parts = Self.parts(of: record, in: offset..<offset + bytes.count, session.schema)
      blobs = try Self.blobs(of: record, session)
    } catch {
      problem = error.message
      if parts.isEmpty {
        parts = RecordPart.header(byteCount: byteCount).map { Self.part($0, "", "", stored) }
      }
    }
  }

  // MARK: Parts

  private static func parts(of record: RecordView, in window: Range<Int>, _ schema: Schema) -> [Part] {
    var parts: [Part] = []
    record.forEachPart { part in
      if part.range.overlaps(window) {
        parts.append(Self.part(part, name(of: part, record, schema), value(of: part, record, schema), record.bytes))
      }
      return parts.count < windowLength
    }
    return parts
  }

  private static func part(_ part: RecordPart, _ name: String, _ value: String, _ stored: RawSpan) -> Part {
    let shown = part.range.prefix(hexLength)
    let bytes = stored.extracting(shown.startIndex..<shown.endIndex).withUnsafeBytes { Array($0) }
    return Part(
      offset: part.range.lowerBound, byteCount: part.range.count, name: name.isEmpty ? title(part.content) : name,
      value: value, hex: Hex.text(bytes), isCut: shown.count < part.range.count)
  }

  private static func title(_ content: RecordPart.Content) -> String {
    switch content {
    case .checksum: "checksum"
    case .commit: "commit"
    case .layout: "layout"
    case .entity: "entity code"
    case .length: "length"
    case .nullBitmap: "null bitmap"
    case .slot, .endOffset, .members, .bytes, .blobReference: "field"
    case .unknown: "unreadable bytes"
    }
  }

  private static func name(of part: RecordPart, _ record: RecordView, _ schema: Schema) -> String {
    guard let field = part.content.field else { return "" }
    let code = record.layout[field].propertyCode
    let name = schema.propertyNames[code] ?? "property \(code)"
    return switch part.content {
    case .endOffset: "\(name): end offset"
    case .members: "\(name): members"
    case .bytes: "\(name): bytes"
    case .blobReference: "\(name): blob reference"
    default: record.layout.kind(field) == .toMany ? "\(name): list" : name
    }
  }

  private static func value(of part: RecordPart, _ record: RecordView, _ schema: Schema) -> String {
    switch part.content {
    case .checksum, .nullBitmap, .unknown: return ""
    case .commit: return "\(record.commit)"
    case .layout: return "\(record.layout.id)"
    case .entity:
      return "\(record.layout.entityCode) (\(schema.entity(code: record.layout.entityCode)?.name ?? "unknown"))"
    case .length: return "\(record.byteCount)"
    case .slot(let field): return slot(field, record, schema)
    case .endOffset(let field): return record.isNull(field) ? "nil" : record.isBlob(field) ? "a blob" : ""
    case .members(let field):
      return record.inlineIDs(field).array.map { schema.rootName(of: $0) }.joined(separator: " ")
    case .bytes(let field):
      let kind = record.layout.kind(field)
      guard kind == .string || kind == .uri else { return "" }
      let bytes = record.variableBytes(field)
      let beginning = bytes.extracting(0..<min(bytes.byteCount, 200)).withUnsafeBytes { Array($0) }
      let text = String(decoding: UTF8Part.whole(beginning), as: UTF8.self)
      return beginning.count < bytes.byteCount ? text + "…" : text
    case .blobReference(let field):
      return record.blobReference(field).map { "blob \($0.id), \($0.byteCount) bytes" } ?? ""
    }
  }

  private static func slot(_ field: Int, _ record: RecordView, _ schema: Schema) -> String {
    switch record.layout.kind(field) {
    case .toOne: return record.toOne(field).map { schema.rootName(of: $0) } ?? "nil"
    case .toMany:
      let head = record.head(field)
      let flags = [
        head.isChunked ? "in chunks" : "in the record", head.hasMemberIndex ? "member index" : nil,
        head.hasDirectory ? "directory" : nil,
      ].compactMap { $0 }
      return "\(head.count) (\(flags.joined(separator: ", ")))"
    default:
      guard let value = try? record.value(field) else { return "nil" }
      return AttributeText.exact(value)
    }
  }

  // MARK: Blobs

  private static func blobs(of record: RecordView, _ session: borrowing Session) throws(StoreError) -> [Blob] {
    var blobs: [Blob] = []
    for field in record.layout.variableFields where record.layout.kind(field).mayBeBlob {
      guard blobs.count < 100, let reference = record.blobReference(field) else { continue }
      let info = try session.storage.existingBlobInfo(session.blobTables, reference.id)
      let code = record.layout[field].propertyCode
      blobs.append(
        Blob(
          attribute: session.schema.propertyNames[code] ?? "property \(code)", serial: reference.id,
          byteCount: info.byteCount, chunkCount: info.chunkCount, referenceCount: info.referenceCount,
          digest: String(info.digest, radix: 16)))
    }
    return blobs
  }
}

extension RecordPart.Content {
  /// The field that the part belongs to; nil for the header.
  fileprivate var field: Int? {
    switch self {
    case .slot(let field), .endOffset(let field), .members(let field), .bytes(let field), .blobReference(let field):
      field
    case .checksum, .commit, .layout, .entity, .length, .nullBitmap, .unknown: nil
    }
  }
}

extension RawPage {
  static func read(_ name: String, _ context: PageContext) async throws -> RawPage {
    guard let offset = context.query["offset"].map({ Int($0) }) ?? 0 else {
      throw ExplorerError(.badRequest, "offset is not a number of bytes; remove it, or correct it")
    }
    let record = try await context.read { transaction in
      try transaction._withSession { (session) throws(StoreError) in try RawRecord(name, from: offset, in: session) }
    }
    return RawPage(record: record, links: ObjectLinks(record.name, context))
  }
}
