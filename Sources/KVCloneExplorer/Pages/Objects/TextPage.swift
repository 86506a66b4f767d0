import KVClone

/// A part of a text: of a string, a URI, or binary data as UTF-8.
struct TextPage: Page {
  /// The length of a part in bytes.
  static let partLength = 64 << 10

  var name: DisplayName
  var source: ValueSource
  var links: ObjectLinks
  var offset: UInt64
  /// The number of the first line.
  var firstLine: Int
  /// The part, in UTF-8.
  var text: [UInt8]

  /// The offset after the part.
  private var end: UInt64 { offset + UInt64(text.count) }

  /// By bytes: a line end and the character after it can be one character of Swift.
  private var lines: [String] {
    text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
      String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
    }
  }

  var title: String { "\(source.attribute) of \(name.title)" }
  var section: PageSection { .entities }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    ObjectPage.trail(name, context) + [(name.id, links.object)]
  }

  private var next: String? {
    if end >= source.byteCount { return nil }
    // A part that ends within a line continues it.
    return links.text(
      source.attribute, offset: end, line: firstLine + text.count { $0 == UInt8(ascii: "\n") })
  }

  func html(_ context: PageContext) -> HTML {
    let summary = ValuePart.summary(offset, end, of: source.byteCount)
    return Components.toolbar([
      Components.buttonLink("Bytes", links.bytes(source.attribute)),
      Components.buttonLink("Download", links.blob(source.attribute, isDownload: true)),
    ]) + Components.lines(title, lines, first: firstLine)
      + Components.pager(summary, first: offset == 0 ? nil : links.text(source.attribute), next: next)
  }

  func write(to json: inout JSONWriter) {
    json.member("id", name.id)
    json.member("attribute", source.attribute)
    json.member("size", source.byteCount)
    json.member("offset", offset)
    json.member("text", String(decoding: text, as: UTF8.self))
    json.nullable("next", next)
  }

  var table: PageTable {
    PageTable(
      columns: ["line", "text"], rows: lines.enumerated().map { [String(firstLine + $0.offset), $0.element] })
  }

  static func read(_ id: ObjectID, _ context: PageContext) async throws -> TextPage {
    let (name, source, offset) = try await ValuePart.find(id, context)
    let range = offset..<offset + min(source.byteCount - offset, UInt64(partLength))
    let wanted = try await context.read { transaction in try source.read(range, in: transaction) }
    var part = wanted[...]
    var start = offset
    if offset > 0 {
      let skipped = UTF8Part.continuationCount(wanted)
      part = part.dropFirst(skipped)
      start += UInt64(skipped)
    }
    let isLast = offset + UInt64(wanted.count) == source.byteCount
    let whole = isLast ? part : UTF8Part.whole(Array(part))
    let line = context.query["line"].flatMap { Int($0) } ?? 1
    return TextPage(
      name: name, source: source, links: ObjectLinks(name, context), offset: start,
      firstLine: min(max(line, 1), 1 << 40), text: Array(whole))
  }
}
