import KVClone

/// A part of the bytes of a value in hex.
struct BytesPage: Page {
  /// The length of a part in bytes.
  static let partLength: UInt64 = 4096

  var name: DisplayName
  var source: ValueSource
  var links: ObjectLinks
  var offset: UInt64
  var bytes: [UInt8]

  var title: String { "Bytes of \(source.attribute) of \(name.title)" }
  var section: PageSection { .entities }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    ObjectPage.trail(name, context) + [(name.id, links.object)]
  }

  private var end: UInt64 { offset + UInt64(bytes.count) }

  private var next: String? { end < source.byteCount ? links.bytes(source.attribute, offset: end) : nil }

  func html(_ context: PageContext) -> HTML {
    let previous = offset == 0 ? nil : links.bytes(source.attribute, offset: offset - min(offset, Self.partLength))
    let summary = ValuePart.summary(offset, end, of: source.byteCount)
    return Components.toolbar([
      Components.buttonLink("Text", links.text(source.attribute)),
      Components.buttonLink("Download", links.blob(source.attribute, isDownload: true)),
    ]) + Components.hex(title, bytes, start: Int(offset))
      + Components.pager(
        summary, first: offset == 0 ? nil : links.bytes(source.attribute), previous: previous, next: next)
  }

  func write(to json: inout JSONWriter) {
    json.member("id", name.id)
    json.member("attribute", source.attribute)
    json.member("size", source.byteCount)
    json.member("offset", offset)
    json.member("hex", Hex.text(bytes))
    json.nullable("next", next)
  }

  var table: PageTable {
    PageTable(
      columns: ["offset", "hex"],
      rows: stride(from: 0, to: bytes.count, by: 16).map { start in
        [String(offset + UInt64(start)), Hex.text(bytes[start..<min(start + 16, bytes.count)])]
      })
  }

  static func read(_ id: ObjectID, _ context: PageContext) async throws -> BytesPage {
    let (name, source, offset) = try await ValuePart.find(id, context)
    // Rows begin at multiples of 16.
    let start = offset - offset % 16
    let range = start..<start + min(source.byteCount - start, partLength)
    let bytes = try await context.read { transaction in try source.read(range, in: transaction) }
    return BytesPage(name: name, source: source, links: ObjectLinks(name, context), offset: start, bytes: bytes)
  }
}

/// Bytes as hexadecimal digits.
enum Hex {
  private static let digits = Array("0123456789abcdef")

  static func text(_ bytes: some Collection<UInt8>) -> String {
    var text = ""
    text.reserveCapacity(2 * bytes.count)
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 0xF)])
    }
    return text
  }
}

/// The value that a page shows a part of.
enum ValuePart {
  /// The position of a part in its value.
  static func summary(_ start: UInt64, _ end: UInt64, of byteCount: UInt64) -> HTML {
    let (first, last) = (Components.number(Int(clamping: start)), Components.number(Int(clamping: end)))
    return "Bytes \(first) to \(last) of \(Components.number(Int(clamping: byteCount)))"
  }

  /// Returns the value of `:attribute`, and the offset of the query.
  ///
  /// - Throws: `notFound` for a nil value, `badRequest` for an offset beyond the end.
  static func find(_ id: ObjectID, _ context: PageContext) async throws -> (
    name: DisplayName, source: ValueSource, offset: UInt64
  ) {
    let attribute = try context.parameter("attribute")
    let (name, source) = try await context.read { transaction in
      let model = transaction._withSession { session in session.schema.model }
      let name = try DisplayName.read(id, in: model, transaction)
      return (name, try ValueSource.find(attribute, of: id, in: transaction))
    }
    guard let source else {
      throw ExplorerError(.notFound, "\(name.id) has no value of \(attribute); see its attributes")
    }
    guard let offset = context.query["offset"].map({ UInt64($0) }) ?? 0, offset <= source.byteCount else {
      throw ExplorerError(
        .badRequest, "offset is not a number up to \(source.byteCount), the size of the value; correct it")
    }
    return (name, source, offset)
  }
}
