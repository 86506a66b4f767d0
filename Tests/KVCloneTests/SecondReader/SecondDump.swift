import Foundation
import KVCloneTestSupport

extension SecondStore {
  /// The first line of `kvclone dump`, without the model's hash, which the file does not contain.
  var header: String {
    let names = "\"model\":\(Self.quoted(model.name)),\"modelVersion\":\(Self.quoted(model.version))"
    return "{\"kvclone\":1,\(names),\"store\":\"\(Self.uuidText(uuid))\"}"
  }

  /// Returns all lines after the first one.
  func dump() throws -> String {
    var labels: [UInt64: String] = [:]
    var entities: [UInt64: String] = [:]
    for record in objects {
      let entity = try model.entity(of: record)
      entities[record.id] = entity.name
      labels[record.id] = "\"\(entity.name)/\(record.id & (1 << 48 - 1))\""
    }
    let sorted = objects.sorted { (entities[$0.id] ?? "", $0.id) < (entities[$1.id] ?? "", $1.id) }
    return try sorted.map { try line($0, labels) + "\n" }.joined()
  }

  private func line(_ record: SecondRecord, _ labels: [UInt64: String]) throws -> String {
    let entity = try model.entity(of: record)
    func label(_ id: UInt64) throws -> String {
      guard let label = labels[id] else { throw SecondError("a link leads to no object") }
      return label
    }
    var attributes: [(String, String)] = []
    for attribute in entity.attributes.values where !attribute.isTransient {
      guard let text = try text(attribute, path: attribute.name, of: record, entity) else { continue }
      attributes.append((attribute.name, text))
    }
    var relationships: [(String, String)] = []
    for (code, relationship) in entity.relationships {
      if let target = record.toOne[code] { relationships.append((relationship.name, try label(target))) }
      let members = try members(record, code)
      if members.isEmpty { continue }
      relationships.append((relationship.name, "[\(try members.map(label).joined(separator: ","))]"))
    }
    let members = "\"attributes\":\(Self.object(attributes)),\"relationships\":\(Self.object(relationships))"
    return "{\"id\":\(try label(record.id)),\(members)}"
  }

  /// Returns the text of an attribute's value; nil is written if the attribute has a default.
  private func text(_ attribute: SecondAttribute, path: String, of record: SecondRecord, _ entity: SecondEntity) throws
    -> String?
  {
    let none = attribute.hasDefault ? "null" : nil
    if attribute.elements.isEmpty { return try entity.codes[path].flatMap { record.values[$0] }.map(text) ?? none }
    var members: [(String, String)] = []
    for element in attribute.elements {
      guard let text = try text(element, path: path + "." + element.name, of: record, entity) else { continue }
      members.append((element.name, text))
    }
    return members.allSatisfy { $0.1 == "null" } ? none : Self.object(members)
  }

  private static func object(_ members: [(String, String)]) -> String {
    let sorted = members.sorted { $0.0 < $1.0 }
    return "{" + sorted.map { "\(quoted($0.0)):\($0.1)" }.joined(separator: ",") + "}"
  }

  private func text(_ value: SecondValue) throws -> String {
    switch value {
    case .integer(let value): return "\(value)"
    case .boolean(let value): return "\(value)"
    case .double(let value): return Self.number(value.description, isFinite: value.isFinite)
    case .float(let value): return Self.number(value.description, isFinite: value.isFinite)
    case .decimal(let value): return Self.quoted(value.text)
    case .string(let value), .uri(let value): return Self.quoted(value)
    case .uuid(let bytes): return Self.quoted(Self.uuidText(bytes))
    case .date(let seconds):
      if let text = secondDateText(seconds) { return Self.quoted(text) }
      return "{\"secondsSince2001\":\(Self.number(seconds.description, isFinite: seconds.isFinite))}"
    case .binary(let bytes), .transformable(let bytes): return "{\"base64\":\"\(Data(bytes).base64EncodedString())\"}"
    case .blob(let name): return "{\"base64\":\"\(Data(try blob(name.serial)).base64EncodedString())\"}"
    }
  }

  static func uuidText(_ bytes: [UInt8]) -> String {
    let hex = bytes.map { String(format: "%02X", $0) }.joined()
    var text = ""
    for (index, digit) in hex.enumerated() {
      if [8, 12, 16, 20].contains(index) { text += "-" }
      text.append(digit)
    }
    return text
  }

  /// Returns Swift's shortest description as JSON: no `.0`, no sign or leading zero in the exponent.
  private static func number(_ description: String, isFinite: Bool) -> String {
    if !isFinite {
      return description == "inf" ? "\"Infinity\"" : description == "-inf" ? "\"-Infinity\"" : "\"NaN\""
    }
    let parts = description.split(separator: "e")
    var text = String(parts[0])
    if text.hasSuffix(".0") { text.removeLast(2) }
    if parts.count == 2, let exponent = Int(parts[1]) { text += "e\(exponent)" }
    return text
  }

  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F: result += String(format: "\\u%04x", scalar.value)
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

extension SecondDecimal {
  /// All digits, without an exponent.
  var text: String {
    if isNaN { return "NaN" }
    let digits = "\(mantissa)"
    let sign = isNegative ? "-" : ""
    if mantissa == 0 { return "0" }
    if exponent >= 0 { return sign + digits + String(repeating: "0", count: Int(exponent)) }
    let scale = -Int(exponent)
    let padded = String(repeating: "0", count: max(0, scale + 1 - digits.count)) + digits
    return sign + padded.dropLast(scale) + "." + padded.suffix(scale)
  }
}

/// Returns RFC 3339 with the fewest fractional digits that read back equal, or nil beyond the calendar.
func secondDateText(_ seconds: Double) -> String? {
  guard seconds.isFinite, seconds > -63_113_904_000 - 86400 * 366, seconds < 252_423_993_600,
    !(seconds == 0 && seconds.sign == .minus)
  else { return nil }
  // The shortest decimal that reads back equal, as digits before and after the point.
  var (whole, fraction) = plain(seconds.magnitude.description)
  var total = Int64(whole) ?? 0
  if seconds < 0 {
    total = -total
    if !fraction.isEmpty {
      total -= 1
      fraction = complement(fraction)
    }
  }
  whole = ""
  let days = (total >= 0 ? total : total - 86399) / 86400
  let rest = total - days * 86400
  let (year, month, day) = civil(days + 11323)
  guard 0...9999 ~= year else { return nil }
  let date = String(format: "%04ld-%02ld-%02ld", year, month, day)
  let time = String(format: "%02ld:%02ld:%02ld", Int(rest / 3600), Int(rest / 60 % 60), Int(rest % 60))
  return "\(date)T\(time)\(fraction.isEmpty ? "" : "." + fraction)Z"
}

/// Converts a description of a Double to plain form: digits before and after the point, without trailing zeros.
private func plain(_ description: String) -> (whole: String, fraction: String) {
  let parts = description.split(separator: "e")
  let sides = parts[0].split(separator: ".")
  var whole = String(sides[0])
  var fraction = sides.count > 1 ? String(sides[1]) : ""
  var exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
  while exponent > 0 {
    whole.append(fraction.isEmpty ? "0" : fraction.removeFirst())
    exponent -= 1
  }
  while exponent < 0 {
    fraction = String(whole.removeLast()) + fraction
    if whole.isEmpty { whole = "0" }
    exponent += 1
  }
  while fraction.last == "0" { fraction.removeLast() }
  return (whole, fraction)
}

/// Returns 1 − 0.digits, as digits after the point.
private func complement(_ digits: String) -> String {
  var result: [Int] = []
  for (index, digit) in digits.enumerated() {
    let value = digit.wholeNumberValue ?? 0
    result.append(index == digits.count - 1 ? 10 - value : 9 - value)
  }
  return result.map(String.init).joined()
}

/// Returns the day of the proleptic Gregorian calendar that is `days` after 1970-01-01.
private func civil(_ days: Int64) -> (year: Int, month: Int, day: Int) {
  let shifted = days + 719_468
  let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
  let dayOfEra = shifted - era * 146_097
  let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
  let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  let shiftedMonth = (5 * dayOfYear + 2) / 153
  let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
  let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  return (Int(yearOfEra + era * 400 + (month <= 2 ? 1 : 0)), Int(month), Int(day))
}
