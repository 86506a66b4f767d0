import Foundation

/// A value of a property list that tests write.
package indirect enum TestValue: Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case real(Double)
  case string(String)
  case data([UInt8])
  case reference(Int)
  case array([TestValue])
  case dictionary([(String, TestValue)])
}

/// Writes binary property lists by Apple's documentation; equal values are written once.
package struct PropertyListWriter {
  private var objects: [[UInt8]] = []
  private var references: [Int: Int] = [:]
  private var texts: [String: Int] = [:]

  /// Returns the binary form.
  package static func bytes(_ value: TestValue) -> [UInt8] {
    var writer = PropertyListWriter()
    let top = writer.add(value)
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in writer.objects {
      offsets += bigEndian(UInt64(bytes.count), 4)
      bytes += object
    }
    let table = bytes.count
    bytes += offsets + [0, 0, 0, 0, 0, 0, 4, 4]
    for number in [writer.objects.count, top, table] { bytes += bigEndian(UInt64(number), 8) }
    return bytes
  }

  private mutating func add(_ value: TestValue) -> Int {
    if case .reference(let number) = value, let known = references[number] { return known }
    if case .string(let text) = value, let known = texts[text] { return known }
    let object: [UInt8]
    switch value {
    case .null: object = [0x00]
    case .boolean(let flag): object = [flag ? 0x09 : 0x08]
    case .integer(let number): object = [0x13] + Self.bigEndian(UInt64(bitPattern: number), 8)
    case .real(let number): object = [0x23] + Self.bigEndian(number.bitPattern, 8)
    case .reference(let number): object = [0x83] + Self.bigEndian(UInt64(number), 4)
    case .data(let bytes): object = Self.head(0x40, bytes.count) + bytes
    case .string(let text):
      object =
        text.utf8.allSatisfy { $0 < 0x80 }
        ? Self.head(0x50, text.utf8.count) + Array(text.utf8)
        : Self.head(0x60, text.utf16.count) + text.utf16.flatMap { Self.bigEndian(UInt64($0), 2) }
    case .array(let items): object = Self.head(0xA0, items.count) + items.flatMap { Self.bigEndian(UInt64(add($0)), 4) }
    case .dictionary(let pairs):
      let keys = pairs.map { add(.string($0.0)) }
      let values = pairs.map { add($0.1) }
      object = Self.head(0xD0, pairs.count) + (keys + values).flatMap { Self.bigEndian(UInt64($0), 4) }
    }
    objects.append(object)
    if case .reference(let number) = value { references[number] = objects.count - 1 }
    if case .string(let text) = value { texts[text] = objects.count - 1 }
    return objects.count - 1
  }

  private static func head(_ kind: UInt8, _ count: Int) -> [UInt8] {
    count < 15 ? [kind | UInt8(count)] : [kind | 0x0F, 0x12] + bigEndian(UInt64(count), 4)
  }

  private static func bigEndian(_ number: UInt64, _ size: Int) -> [UInt8] {
    (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
  }
}

extension PropertyListWriter {
  /// Returns the XML form, as `plutil` writes it.
  package static func xml(_ value: TestValue) -> [UInt8] {
    var text = #"<?xml version="1.0" encoding="UTF-8"?>"# + "\n"
    text += #"<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">"#
    text += "\n<plist version=\"1.0\">\n"
    append(value, &text)
    return Array((text + "</plist>\n").utf8)
  }

  private static func append(_ value: TestValue, _ text: inout String) {
    switch value {
    case .null: text += "<string>$null</string>\n"
    case .boolean(let flag): text += flag ? "<true/>\n" : "<false/>\n"
    case .integer(let number): text += "<integer>\(number)</integer>\n"
    case .real(let number): text += "<real>\(number)</real>\n"
    case .string(let value): text += "<string>\(escaped(value))</string>\n"
    case .data(let bytes): text += "<data>\n\(Data(bytes).base64EncodedString())\n</data>\n"
    case .reference(let number): text += "<dict><key>CF$UID</key><integer>\(number)</integer></dict>\n"
    case .array(let items):
      text += "<array>\n"
      for item in items { append(item, &text) }
      text += "</array>\n"
    case .dictionary(let pairs):
      text += "<dict>\n"
      for (key, value) in pairs {
        text += "<key>\(escaped(key))</key>\n"
        append(value, &text)
      }
      text += "</dict>\n"
    }
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }
}
