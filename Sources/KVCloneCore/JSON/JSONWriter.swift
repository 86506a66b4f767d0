package import KVCloneRecords

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

  package mutating func null() { raw("null") }

  package mutating func boolean(_ value: Bool) { raw(value ? "true" : "false") }

  package mutating func integer(_ value: some BinaryInteger) { raw(String(value)) }

  /// Writes the shortest number that parses to an equal one; NaN and the infinities, which JSON lacks, become strings.
  package mutating func double(_ value: Double) {
    if value.isFinite { raw(JSONWriter.shortest(value.description)) } else { raw(JSONWriter.name(nonFinite: value)) }
  }

  /// Like ``double(_:)``, with the fewer digits that identify a Float.
  package mutating func float(_ value: Float) {
    guard value.isFinite else { return double(Double(value)) }
    let text = value.description
    // A parser may use Double, and rounding twice can differ from rounding once.
    let survives = Double(text).map { Float($0) == value } ?? false
    raw(JSONWriter.shortest(survives ? text : Double(value).description))
  }

  /// Writes JSON text as one value.
  package mutating func raw(_ json: String) {
    begin()
    bytes.append(contentsOf: json.utf8)
  }

  package mutating func string(_ value: String) {
    begin()
    bytes.append(UInt8(ascii: "\""))
    var copy = value
    copy.withUTF8 { appendEscaped($0) }
    bytes.append(UInt8(ascii: "\""))
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

  private mutating func appendEscaped(_ text: UnsafeBufferPointer<UInt8>) {
    var start = 0
    for index in text.indices {
      let byte = text[index]
      guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F else { continue }
      bytes.append(contentsOf: text[start..<index])
      start = index + 1
      bytes.append(UInt8(ascii: "\\"))
      switch byte {
      case 0x08: bytes.append(UInt8(ascii: "b"))
      case 0x09: bytes.append(UInt8(ascii: "t"))
      case 0x0A: bytes.append(UInt8(ascii: "n"))
      case 0x0C: bytes.append(UInt8(ascii: "f"))
      case 0x0D: bytes.append(UInt8(ascii: "r"))
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
      default:
        bytes.append(contentsOf: "u00".utf8)
        bytes.append(JSONWriter.hexDigit(byte >> 4))
        bytes.append(JSONWriter.hexDigit(byte & 15))
      }
    }
    bytes.append(contentsOf: text[start...])
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }

  /// Swift's description has the fewest digits already, but writes `5.0` and `1e+20`.
  static func shortest(_ description: String) -> String {
    if description.hasSuffix(".0") { return String(description.dropLast(2)) }
    guard let exponent = description.firstIndex(of: "e") else { return description }
    var digits = description[description.index(after: exponent)...]
    let isNegative = digits.hasPrefix("-")
    if isNegative || digits.hasPrefix("+") { digits = digits.dropFirst() }
    while digits.count > 1, digits.hasPrefix("0") { digits = digits.dropFirst() }
    var mantissa = description[..<exponent]
    if mantissa.hasSuffix(".0") { mantissa = mantissa.dropLast(2) }
    return "\(mantissa)e\(isNegative ? "-" : "")\(digits)"
  }

  static func name(nonFinite value: Double) -> String {
    value.isNaN ? #""NaN""# : value < 0 ? #""-Infinity""# : #""Infinity""#
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
