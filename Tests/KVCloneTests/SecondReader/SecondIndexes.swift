import Foundation
import KVCloneTestSupport

/// A value in the encoding of index keys.
struct SecondIndexKey {
  private(set) var bytes: [UInt8]
  private let isFetchIndex: Bool
  /// The maximum number of bytes of a string, escapes included.
  private let limit: Int

  init(index: UInt16, values: Int, isFetchIndex: Bool = false) {
    bytes = secondKey(index)
    self.isFetchIndex = isFetchIndex
    limit = 470 / values - 3
  }

  mutating func append(_ value: SecondValue?, descending: Bool = false) {
    let column = value.map { [1] + encoded($0) } ?? [0]
    bytes += descending ? column.map { ~$0 } : column
  }

  /// Appends a value that index keys do not contain.
  mutating func appendWithheld(descending: Bool) { bytes.append(descending ? 0xFD : 2) }

  mutating func append(object id: UInt64) { bytes += secondKey(id) }

  private func encoded(_ value: SecondValue) -> [UInt8] {
    switch value {
    case .boolean(let value): [value ? 1 : 0]
    case .integer(let value): secondKey(UInt64(bitPattern: value) ^ 1 << 63)
    case .double(let value) where isFetchIndex && value.isNaN, .date(let value) where isFetchIndex && value.isNaN:
      [UInt8](repeating: 0, count: 8)
    case .float(let value) where isFetchIndex && value.isNaN: [UInt8](repeating: 0, count: 4)
    case .decimal(let value) where isFetchIndex && value.isNaN: [0x08]
    case .double(let value), .date(let value): secondKey(Self.ordered(value))
    case .float(let value): secondKey(Self.ordered(value))
    case .decimal(let value): Self.ordered(value)
    case .uuid(let bytes): bytes
    case .blob: []
    case .string(let text), .uri(let text): escaped(Array(text.utf8))
    case .binary(let bytes), .transformable(let bytes): escaped(bytes)
    }
  }

  private static func ordered(_ value: Double) -> UInt64 {
    let bits = value.isNaN ? 0x7FF8 << 48 : value == 0 ? 0 : value.bitPattern
    return bits >> 63 == 1 ? ~bits : bits | 1 << 63
  }

  private static func ordered(_ value: Float) -> UInt32 {
    let bits = value.isNaN ? 0x7FC0 << 16 : value == 0 ? 0 : value.bitPattern
    return bits >> 31 == 1 ? ~bits : bits | 1 << 31
  }

  private static func ordered(_ value: SecondDecimal) -> [UInt8] {
    if value.isNaN { return [0x40] }
    if value.mantissa == 0 { return [0x20] }
    var mantissa = value.mantissa
    var exponent = Int(value.exponent)
    while mantissa % 10 == 0 {
      mantissa /= 10
      exponent += 1
    }
    var digits = "\(mantissa)".utf8.map { $0 - 0x30 }
    var key = secondKey(UInt16(0x8000 + digits.count + exponent))
    if digits.count % 2 == 1 { digits.append(0) }
    for index in stride(from: 0, to: digits.count, by: 2) { key.append(digits[index] * 10 + digits[index + 1] + 1) }
    key.append(0)
    return value.isNegative ? [0x10] + key.map { ~$0 } : [0x30] + key
  }

  private func escaped(_ value: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    for byte in value {
      let part: [UInt8] = byte == 0 ? [0, 0xFF] : [byte]
      if bytes.count + part.count > limit { return bytes + [0, 1] }
      bytes += part
    }
    return bytes + [0, 0]
  }
}

extension SecondStore {
  /// Compares the table `indexes` with the records: an entry for every object of an index's entity that has all of its
  /// values, none of them transformable or a blob; in fetch indexes for every object.
  func checkIndexes() throws {
    var expected = try fetchIndexKeys()
    for index in model.indexes {
      for record in objects {
        let entity = try model.entity(of: record)
        guard entity.lineage.contains(index.entity) else { continue }
        var key = SecondIndexKey(index: index.number, values: index.properties.count)
        var isComplete = true
        for property in index.properties {
          let value = entity.codes[property].flatMap { indexed(record, $0) }
          isComplete = isComplete && value != nil
          key.append(value)
        }
        key.append(object: record.id)
        guard isComplete else { continue }
        guard key.bytes.count <= 480 else { throw SecondError("an index key has \(key.bytes.count) bytes") }
        expected.insert(key.bytes)
      }
    }
    let found = try file.entries("indexes")
    guard found.allSatisfy({ $0.payload.isEmpty }) else { throw SecondError("an index entry has a value") }
    let keys = Set(found.map(\.key))
    guard keys == expected else {
      let lacking = expected.subtracting(keys).count
      throw SecondError("\(lacking) index entries are missing, \(keys.subtracting(expected).count) are not right")
    }
  }

  private func fetchIndexKeys() throws -> Set<[UInt8]> {
    var keys: Set<[UInt8]> = []
    for index in model.fetchIndexes {
      for record in objects {
        let entity = try model.entity(of: record)
        guard entity.lineage.contains(index.entity) else { continue }
        var key = SecondIndexKey(index: index.number, values: index.columns.count, isFetchIndex: true)
        for column in index.columns {
          guard let code = entity.codes[column.path] else { throw SecondError("an index names an unknown property") }
          let target = record.toOne[code].map { SecondValue.integer(Int64(bitPattern: $0)) }
          let value = target ?? record.values[code]
          switch value {
          case .transformable, .blob: key.appendWithheld(descending: column.isDescending)
          case .string(let text) where column.isFolded:
            let folded = text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
            key.append(.string(folded), descending: column.isDescending)
          default: key.append(value, descending: column.isDescending)
          }
        }
        key.append(object: record.id)
        keys.insert(key.bytes)
      }
    }
    return keys
  }

  /// Returns the indexed value of a property; a to-one target is indexed as its integer id.
  private func indexed(_ record: SecondRecord, _ property: UInt16) -> SecondValue? {
    if let target = record.toOne[property] { return .integer(Int64(bitPattern: target)) }
    switch record.values[property] {
    case .transformable, .blob, nil: return nil
    case .some(let value): return value
    }
  }
}
