#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif
package import KVCloneModel

/// Writes JSON into a byte buffer, and inserts the commas.
package struct JSONWriter: Sendable {
  package private(set) var bytes: [UInt8] = []
  private var needsComma = false

  package init() {}

  package var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Clears the buffer, but keeps its memory and the position in the document: the caller has passed the bytes on.
  package mutating func removeWritten() {
    bytes.removeAll(keepingCapacity: true)
  }

  /// Ends a line; the next value starts a new document.
  package mutating func newLine() {
    bytes.append(0x0A)
    needsComma = false
  }

  private mutating func begin() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  package mutating func beginObject() {
    begin()
    bytes.append(UInt8(ascii: "{"))
    needsComma = false
  }

  package mutating func endObject() {
    bytes.append(UInt8(ascii: "}"))
    needsComma = true
  }

  package mutating func beginArray() {
    begin()
    bytes.append(UInt8(ascii: "["))
    needsComma = false
  }

  package mutating func endArray() {
    bytes.append(UInt8(ascii: "]"))
    needsComma = true
  }

  /// Writes the name of a member; its value follows.
  package mutating func key(_ name: String) {
    string(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Like ``key(_:)``, for a name in quotation marks and its colon.
  package mutating func key(encoded name: UnsafeRawBufferPointer) {
    begin()
    bytes.append(contentsOf: name)
    needsComma = false
  }

  /// Appends what `write` writes to memory of this size; returns the number of bytes.
  private mutating func append(atMost limit: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Int) -> Int {
    var length = 0
    bytes.append(addingCapacity: limit) { (span: inout OutputSpan<UInt8>) in
      span.withUnsafeMutableBufferPointer { buffer, count in
        if let base = buffer.baseAddress { length = write(base + count) }
        count += length
      }
    }
    return length
  }

  /// Appends a value of at most `limit` bytes with its comma; nothing, if `write` returns 0.
  @discardableResult
  private mutating func value(atMost limit: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Int) -> Bool {
    let comma = needsComma ? 1 : 0
    let length = append(atMost: limit + 1) { target in
      target[0] = UInt8(ascii: ",")
      let length = write(target + comma)
      return length == 0 ? 0 : comma + length
    }
    if length > 0 { needsComma = true }
    return length > 0
  }

  package mutating func null() { raw("null") }

  package mutating func boolean(_ value: Bool) { raw(value ? "true" : "false") }

  package mutating func integer(_ value: some BinaryInteger) {
    guard let number = Int64(exactly: value) else { return raw(String(value)) }
    self.value(atMost: JSONBytes.integerLimit) { JSONBytes.integer(number, to: $0) }
  }

  /// Writes the shortest number that parses to an equal one; NaN and the infinities, which JSON lacks, become strings.
  package mutating func double(_ value: Double) {
    if self.value(atMost: JSONBytes.shortLimit, { JSONBytes.short(value, to: $0) }) { return }
    raw(JSONBytes.text(value))
  }

  /// Like ``double(_:)``, with the fewer digits that identify a Float.
  package mutating func float(_ value: Float) {
    if value.isFinite { raw(JSONBytes.text(value)) } else { double(Double(value)) }
  }

  /// Writes JSON text as one value.
  package mutating func raw(_ json: String) {
    begin()
    bytes.append(contentsOf: json.utf8)
  }

  package mutating func string(_ value: String) {
    var copy = value
    copy.withUTF8 { string(utf8: UnsafeRawBufferPointer($0)) }
  }

  /// Writes a text in UTF-8, a long one in pieces.
  package mutating func string(utf8 text: UnsafeRawBufferPointer) {
    let pieceSize = 1 << 13
    if text.count <= pieceSize {
      value(atMost: 2 + JSONBytes.escapedLimit(text.count)) { JSONBytes.quoted(text, to: $0) }
      return
    }
    begin()
    bytes.append(UInt8(ascii: "\""))
    for start in stride(from: 0, to: text.count, by: pieceSize) {
      let piece = UnsafeRawBufferPointer(rebasing: text[start..<min(start + pieceSize, text.count)])
      _ = append(atMost: JSONBytes.escapedLimit(piece.count)) { JSONBytes.escape(piece, to: $0) }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Writes a text that ends with a number; it starts with a quotation mark, and is escaped.
  package mutating func string(encoded start: UnsafeRawBufferPointer, _ number: UInt64) {
    value(atMost: start.count + JSONBytes.integerLimit + 1) { JSONBytes.quoted(start, number, to: $0) }
  }

  package mutating func uuid(_ value: UUID) {
    self.value(atMost: JSONBytes.uuidLength) { JSONBytes.uuid(value, to: $0) }
  }

  /// Writes a date in the usual form; returns false for others.
  package mutating func date(secondsSince2001 seconds: Double) -> Bool {
    value(atMost: CalendarText.shortLimit + 2) { JSONBytes.date(seconds, to: $0) }
  }

  /// Writes a string of base64, encoded incrementally: `body` passes each part to the encoder, and may pass on and
  /// remove the output in between.
  package mutating func base64(_ body: (inout JSONWriter, inout Base64Encoder) throws -> Void) rethrows {
    begin()
    bytes.append(UInt8(ascii: "\""))
    var encoder = Base64Encoder()
    try body(&self, &encoder)
    encoder.finish(into: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  /// Encodes a part of the text that ``base64(_:)`` writes.
  package mutating func append(base64 piece: UnsafeRawBufferPointer, _ encoder: inout Base64Encoder) {
    encoder.append(piece, to: &bytes)
  }
}

// MARK: - Whole values

extension JSONWriter {
  /// Writes a member with a text, or nothing for nil.
  package mutating func member(_ name: String, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  package mutating func member(_ name: String, _ value: some BinaryInteger) {
    key(name)
    integer(value)
  }

  package mutating func member(_ name: String, _ value: Bool) {
    key(name)
    boolean(value)
  }

  package mutating func member(_ name: String, _ value: Double) {
    key(name)
    double(value)
  }

  package mutating func member(_ name: String, _ values: [String]) {
    key(name)
    beginArray()
    for value in values { string(value) }
    endArray()
  }

  /// Writes counts by name, sorted by name.
  package mutating func member(_ name: String, _ counts: [String: Int]) {
    key(name)
    beginObject()
    for (entity, count) in counts.sorted(by: { $0.key < $1.key }) { member(entity, count) }
    endObject()
  }
}
