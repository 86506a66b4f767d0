import Foundation
package import KVCloneModel

/// The JSON encoding of attribute values: the table in the article on NDJSON.
package enum AttributeJSON {}

extension AttributeJSON {
  /// Writes a value with its bytes in memory; for a stored blob, only its size.
  package static func write(_ value: AttributeValue, to writer: inout JSONWriter) {
    switch value {
    case .integer(let value): writer.integer(value)
    case .double(let value): writer.double(value)
    case .float(let value): writer.float(value)
    case .boolean(let value): writer.boolean(value)
    case .string(let value), .uri(let value): writer.string(value)
    case .uuid(let value): writer.uuid(value)
    case .decimal(let value): writer.string(value.isNaN ? "NaN" : value.description)
    case .date(let value): write(date: value.timeIntervalSinceReferenceDate, to: &writer)
    case .binary(let data), .transformable(let data):
      writer.beginObject()
      writer.key("base64")
      writer.base64 { writer, encoder in data.withUnsafeBytes { writer.append(base64: $0, &encoder) } }
      writer.endObject()
    case .composite(let elements):
      writer.beginObject()
      for (name, element) in elements.sorted(by: { utf8Precedes($0.key, $1.key) }) {
        writer.key(name)
        write(element, to: &writer)
      }
      writer.endObject()
    case .blob(let reference):
      writer.beginObject()
      writer.member("size", reference.byteCount)
      writer.endObject()
    }
  }

  package static func write(date seconds: Double, to writer: inout JSONWriter) {
    if writer.date(secondsSince2001: seconds) { return }
    if let text = CalendarText.text(secondsSince2001: seconds) {
      writer.string(text)
    } else {
      writer.beginObject()
      writer.member("secondsSince2001", seconds)
      writer.endObject()
    }
  }

  /// Orders names in the text by bytes, independent of the locale.
  package static func utf8Precedes(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }
}
