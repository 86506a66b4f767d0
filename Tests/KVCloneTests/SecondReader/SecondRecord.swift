import Foundation
import KVCloneTestSupport

/// A decimal in the encoding of records: ± mantissa · 10^exponent, or NaN.
struct SecondDecimal: Equatable {
  var mantissa: UInt128
  var exponent: Int8
  var isNegative: Bool
  var isNaN: Bool
}

/// A reference to a blob in a field.
struct SecondBlobName: Equatable {
  let serial: UInt64
  let bytes: UInt64
}

enum SecondValue: Equatable {
  case integer(Int64)
  case boolean(Bool)
  case double(Double)
  case float(Float)
  case decimal(SecondDecimal)
  case string(String)
  case uri(String)
  case uuid([UInt8])
  case date(Double)
  case binary([UInt8])
  case transformable([UInt8])
  case blob(SecondBlobName)
}

/// The first value of a to-many slot.
struct SecondListHead: Equatable {
  let count: Int
  let isChunked: Bool
  let hasMemberIndex: Bool
  let hasDirectory: Bool

  init(_ slot: UInt64) throws {
    count = Int(slot & (1 << 48 - 1))
    isChunked = slot >> 48 & 1 == 1
    hasMemberIndex = slot >> 49 & 1 == 1
    hasDirectory = slot >> 50 & 1 == 1
    guard slot >> 51 == 0, isChunked || (!hasMemberIndex && !hasDirectory && count <= 16) else {
      throw SecondError("a list's head is not valid")
    }
  }
}

/// A layout of `metadata`.
struct SecondLayout {
  let id: UInt16
  let entity: UInt16
  let fields: [(property: UInt16, kind: UInt8)]

  /// Groups of kinds, in the order of their fields in a record, with the bytes of their slots.
  static let groups: [(kinds: Set<UInt8>, bytes: Int)] = [
    ([9], 16), ([4, 6, 7], 8), ([10], 8), ([11], 8), ([8], 20), ([3, 5], 4), ([12, 13, 14, 15], 4), ([2], 2), ([1], 1),
  ]

  static func group(of kind: UInt8) throws -> Int {
    guard let group = groups.firstIndex(where: { $0.kinds.contains(kind) }) else {
      throw SecondError("a layout has a field of the unknown kind \(kind)")
    }
    return group
  }

  init(_ payload: ArraySlice<UInt8>) throws {
    var bytes = SecondBytes(payload)
    id = try bytes.u16()
    entity = try bytes.u16()
    let count = Int(try bytes.u16())
    try bytes.zero(2)
    var fields: [(property: UInt16, kind: UInt8)] = []
    for _ in 0..<count {
      fields.append((try bytes.u16(), try bytes.u8()))
      try bytes.zero(1)
    }
    try bytes.end()
    let order = try fields.map { try Self.group(of: $0.kind) << 16 + Int($0.property) }
    guard order == order.sorted(), Set(fields.map(\.property)).count == count, count <= 16384 else {
      throw SecondError("layout \(id) is not in order")
    }
    self.fields = fields
  }
}

/// An object decoded from its record, by property code.
struct SecondRecord {
  let id: UInt64
  let commit: UInt64
  let layout: UInt16
  let entity: UInt16
  /// Attributes that are not nil.
  private(set) var values: [UInt16: SecondValue] = [:]
  /// To-one relationships that are not nil.
  private(set) var toOne: [UInt16: UInt64] = [:]
  private(set) var heads: [UInt16: SecondListHead] = [:]
  /// The members of lists that are not chunked.
  private(set) var inline: [UInt16: [UInt64]] = [:]

  init(id: UInt64, payload: ArraySlice<UInt8>, layouts: [UInt16: SecondLayout]) throws {
    var bytes = SecondBytes(payload)
    self.id = id
    commit = try bytes.u64()
    layout = try bytes.u16()
    entity = try bytes.u16()
    let length = try bytes.u32()
    guard let fields = layouts[layout]?.fields, layouts[layout]?.entity == entity, Int(length) == payload.count + 8,
      length <= 1 << 30
    else { throw SecondError("a record names another layout, entity or length than its own") }
    let nulls = Array(try bytes.take((fields.count + 7) / 8))
    func isNil(_ field: Int) -> Bool { nulls[field / 8] >> (field % 8) & 1 == 1 }
    for bit in 0..<nulls.count * 8 where isNil(bit) {
      guard bit < fields.count, fields[bit].kind != 10, fields[bit].kind != 11 else {
        throw SecondError("a null bit stands where there can be none")
      }
    }
    var variable: [(field: Int, end: Int, isBlob: Bool)] = []
    for (index, field) in fields.enumerated() {
      var slot = SecondBytes(try bytes.take(SecondLayout.groups[try SecondLayout.group(of: field.kind)].bytes))
      switch field.kind {
      case 12...15:
        let end = try slot.u32()
        variable.append((index, Int(end & 0x7FFF_FFFF), end >> 31 == 1))
      case _ where isNil(index): try slot.zero(slot.count)
      case 10:
        let target = try slot.u64()
        if target != 0 { toOne[field.property] = target }
      case 11: heads[field.property] = try SecondListHead(try slot.u64())
      default: values[field.property] = try Self.fixed(field.kind, &slot)
      }
    }
    for field in fields where field.kind == 11 {
      guard let head = heads[field.property], !head.isChunked else { continue }
      inline[field.property] = try bytes.numbers(head.count)
    }
    var start = 0
    for (index, end, isBlob) in variable {
      let value = try bytes.take(end - start)
      start = end
      guard !isNil(index) else {
        guard value.isEmpty, !isBlob else { throw SecondError("a nil value has bytes") }
        continue
      }
      values[fields[index].property] = try Self.variable(fields[index].kind, value, isBlob: isBlob)
    }
    try bytes.end()
  }

  private static func fixed(_ kind: UInt8, _ slot: inout SecondBytes) throws -> SecondValue {
    switch kind {
    case 9: return .uuid(Array(slot.rest()))
    case 4: return .integer(Int64(bitPattern: try slot.u64()))
    case 6: return .double(try slot.f64())
    case 7: return .date(try slot.f64())
    case 3: return .integer(Int64(Int32(bitPattern: try slot.u32())))
    case 5: return .float(Float(bitPattern: try slot.u32()))
    case 2: return .integer(Int64(Int16(bitPattern: try slot.u16())))
    case 1:
      let byte = try slot.u8()
      guard byte <= 1 else { throw SecondError("a boolean is neither 0 nor 1") }
      return .boolean(byte == 1)
    default:
      let mantissa = try slot.u128()
      let exponent = Int8(bitPattern: try slot.u8())
      let flags = try slot.u8()
      try slot.zero(2)
      guard flags <= 3, mantissa % 10 != 0 || mantissa == 0 || exponent == 127 else {
        throw SecondError("a decimal is not in its normal form")
      }
      return .decimal(
        SecondDecimal(mantissa: mantissa, exponent: exponent, isNegative: flags & 1 == 1, isNaN: flags & 2 == 2))
    }
  }

  private static func variable(_ kind: UInt8, _ value: ArraySlice<UInt8>, isBlob: Bool) throws -> SecondValue {
    if isBlob {
      var bytes = SecondBytes(value)
      let name = SecondBlobName(serial: try bytes.u64(), bytes: try bytes.u64())
      try bytes.end()
      guard kind >= 14 else { throw SecondError("a text is a blob") }
      return .blob(name)
    }
    if kind == 14 { return .binary(Array(value)) }
    if kind == 15 { return .transformable(Array(value)) }
    guard let text = String(validating: value, as: UTF8.self) else { throw SecondError("a text is not UTF-8") }
    return kind == 12 ? .string(text) : .uri(text)
  }
}
