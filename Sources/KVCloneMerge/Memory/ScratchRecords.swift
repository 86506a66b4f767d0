#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneCore
package import KVCloneLMDB
package import KVCloneModel
import KVCloneRecords

/// Values of a merge that may exceed memory, encoded one after the other in scratch space. The encoding is that of this
/// process: it is never stored. A reference type.
package final class ScratchRecords {
  fileprivate let bytes: ScratchArray<UInt8>

  package init(in space: ScratchSpace) { bytes = ScratchArray(in: space) }

  /// The address of the next value.
  package var end: UInt64 { UInt64(bytes.count) }
  package var isEmpty: Bool { bytes.isEmpty }

  /// Reads the values from an address on.
  package func reader(at address: UInt64 = 0) -> Reader { Reader(records: self, position: Int(address)) }

  // MARK: Writing

  package func append(_ number: some FixedWidthInteger & BitwiseCopyable) throws(StoreError) {
    let size = number.bitWidth / 8
    try bytes.extend(by: size).storeBytes(of: number, as: type(of: number))
  }

  package func append(_ text: String) throws(StoreError) {
    var text = text
    try append(text.utf8.count)
    let target = UnsafeMutableRawBufferPointer(
      start: try bytes.extend(by: text.utf8.count), count: text.utf8.count)
    text.withUTF8 { target.copyBytes(from: $0) }
  }

  package func append(_ ids: [ObjectID]) throws(StoreError) {
    try append(ids.count)
    for id in ids { try append(id.rawValue) }
  }

  package func append(_ id: ObjectID?) throws(StoreError) {
    try append(id == nil ? 0 : 1 as UInt8)
    if let id { try append(id.rawValue) }
  }

  package func append(_ value: AttributeValue?) throws(StoreError) {
    guard let value else { return try append(0 as UInt8) }
    switch value {
    case .integer(let value): try append(1, value)
    case .decimal(let value):
      let parts = DecimalCodec.parts(of: value)
      try append(2, parts.mantissa)
      try append(Int16(parts.exponent))
      try append((parts.isNegative ? 1 : 0) | (parts.isNaN ? 2 : 0) as UInt8)
    case .double(let value): try append(3, value.bitPattern)
    case .float(let value): try append(4, value.bitPattern)
    case .string(let value): try append(5, value)
    case .boolean(let value): try append(6, value ? 1 : 0 as UInt8)
    case .date(let value): try append(7, value.timeIntervalSinceReferenceDate.bitPattern)
    case .binary(let value): try append(8, value)
    case .uuid(let value): try append(9, withUnsafeBytes(of: value.uuid) { $0.loadUnaligned(as: UInt128.self) })
    case .uri(let value): try append(10, value)
    case .transformable(let value): try append(11, value)
    case .composite(let elements):
      try append(12, elements.count)
      for (name, element) in elements {
        try append(name)
        try append(element)
      }
    case .blob(let blob):
      try append(13, blob.id)
      try append(blob.byteCount)
      try append(blob.isTransformable ? 1 : 0 as UInt8)
    }
  }

  private func append(_ kind: UInt8, _ number: some FixedWidthInteger & BitwiseCopyable) throws(StoreError) {
    try append(kind)
    try append(number)
  }

  private func append(_ kind: UInt8, _ text: String) throws(StoreError) {
    try append(kind)
    try append(text)
  }

  private func append(_ kind: UInt8, _ data: Data) throws(StoreError) {
    try append(kind, data.count)
    let target = UnsafeMutableRawBufferPointer(start: try bytes.extend(by: data.count), count: data.count)
    data.withUnsafeBytes { target.copyMemory(from: $0) }
  }
}

extension ScratchRecords {
  /// Reads values in the order in which they were appended.
  package struct Reader {
    fileprivate let records: ScratchRecords
    fileprivate var position: Int

    package var isAtEnd: Bool { position == records.bytes.count }

    /// The next bytes, valid until a value is appended.
    private mutating func take(_ count: Int) -> UnsafeRawBufferPointer {
      defer { position += count }
      precondition(count >= 0 && position <= records.bytes.count - count, "a value behind the end")
      return UnsafeRawBufferPointer(rebasing: records.bytes.rawBytes[position..<position + count])
    }

    package mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(_ type: Number.Type = Number.self)
      -> Number
    {
      take(Number.bitWidth / 8).loadUnaligned(as: type)
    }

    package mutating func text() -> String {
      let count: Int = number()
      return String(decoding: take(count), as: UTF8.self)
    }

    package mutating func ids() -> [ObjectID] {
      let count: Int = number()
      return (0..<count).map { _ in ObjectID(rawValue: number()) }
    }

    package mutating func id() -> ObjectID? { number(UInt8.self) == 0 ? nil : ObjectID(rawValue: number()) }

    package mutating func value() -> AttributeValue? {
      switch number(UInt8.self) {
      case 1: return .integer(number())
      case 2:
        let (mantissa, exponent, flags) = (number(UInt128.self), number(Int16.self), number(UInt8.self))
        return .decimal(
          DecimalCodec.decimal(
            from: .init(
              mantissa: mantissa, exponent: Int(exponent), isNegative: flags & 1 != 0, isNaN: flags & 2 != 0)))
      case 3: return .double(Double(bitPattern: number()))
      case 4: return .float(Float(bitPattern: number()))
      case 5: return .string(text())
      case 6: return .boolean(number(UInt8.self) == 1)
      case 7: return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: number())))
      case 8: return .binary(data())
      case 9: return .uuid(UUID(uuid: withUnsafeBytes(of: number(UInt128.self)) { $0.loadUnaligned(as: uuid_t.self) }))
      case 10: return .uri(text())
      case 11: return .transformable(data())
      case 12:
        var elements: [String: AttributeValue] = [:]
        for _ in 0..<number(Int.self) {
          let name = text()
          elements[name] = value()
        }
        return .composite(elements)
      case 13:
        let (id, byteCount) = (number(UInt64.self), number(UInt64.self))
        return .blob(BlobReference(id: id, byteCount: byteCount, isTransformable: number(UInt8.self) == 1))
      default: return nil
      }
    }

    private mutating func data() -> Data {
      let count: Int = number()
      return Data(take(count))
    }
  }
}
