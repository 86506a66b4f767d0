import Foundation
import KVCloneModel

@testable import KVCloneRecords

/// Keys with a fixed form, and the order-preserving keys of indexes.
let keyTargets: [FuzzTarget] = [
  FuzzTarget(
    name: "keys",
    seeds: [Array(repeating: 1, count: 19), Array(repeating: 0, count: 12), Array(repeating: 2, count: 8)],
    run: keys),
  FuzzTarget(name: "index-key", seeds: [Array(0...40), Array("x1abc".utf8)], run: indexKey),
  FuzzTarget(name: "decimal", seeds: [Array(repeating: 0, count: 20)], run: decimal),
]

@Sendable private func keys(_ bytes: UnsafeRawBufferPointer) {
  let key = Array(bytes)
  if let link = try? LinkKey(key.span.bytes) {
    precondition(ShortKey.link(link).withUnsafeBytes { Array($0) } == key, "a link's key differs")
  }
  if let id = try? NumberKey.objectID(key.span.bytes) {
    precondition(ShortKey.object(id).withUnsafeBytes { Array($0) } == key, "an object's key differs")
  }
  _ = try? NumberKey.blobSerial(key.span.bytes)
  if let (number, part) = try? NumberKey.numberAndPart(key.span.bytes) {
    precondition(ShortKey.blobChunk(number, chunk: part).withUnsafeBytes { Array($0) } == key, "a chunk's key differs")
  }
  if let epoch = try? PreimageKey.epoch(of: key.span.bytes), let table = try? PreimageKey.table(of: key.span.bytes),
    let inner = try? PreimageKey.key(of: key.span.bytes)
  {
    precondition(PreimageKey.encode(table: table, key: inner, epoch: epoch) == key, "a pre-image's key differs")
  }
  if let list = try? SavedKeysKey(key.span.bytes) {
    precondition(list.bytes.array == key, "the key of a list of saved keys differs")
  }
  _ = try? IndexKey.indexID(of: key.span.bytes)
  _ = try? IndexKey.objectID(of: key.span.bytes)
  _ = try? IndexKey.values(of: key.span.bytes).byteCount
  if let end = KeyRange.end(ofPrefix: key) {
    precondition(key.lexicographicallyPrecedes(end), "the end of a prefix is not behind it")
    precondition((key + [0xFF]).lexicographicallyPrecedes(end), "the end of a prefix is within it")
  }
}

/// Checks that the keys of two values of one type have the order of the values.
@Sendable private func indexKey(_ bytes: UnsafeRawBufferPointer) {
  var input = FuzzInput(bytes)
  let type = input.byte() % 9
  let isDescending = input.byte() & 1 == 1
  let valueCount = Int(input.byte() % 16) + 1
  let middle = bytes.count / 2
  let left = value(type, &input, middle)
  let right = value(type, &input, middle)
  func key(_ value: AttributeValue?) -> (bytes: [UInt8], isTruncated: Bool)? {
    var builder = IndexKeyBuilder(indexID: 7, valueCount: valueCount)
    do {
      try builder.append(value, descending: isDescending)
      for _ in 1..<valueCount { try builder.append(nil) }
    } catch {
      return nil
    }
    let isTruncated = builder.isTruncated
    return (builder.key(someID), isTruncated)
  }
  guard let first = key(left), let second = key(right) else { preconditionFailure("a simple value is refused") }
  for made in [first, second] {
    precondition(made.bytes.count <= FormatLimits.maximumKeyLength, "a key is too long")
    precondition((try? IndexKey.objectID(of: made.bytes.span.bytes)) == someID, "a key has another object")
  }
  guard let order = compare(left, right) else { return }
  if order == 0 {
    precondition(first.bytes == second.bytes, "equal values have different keys")
  } else if first.isTruncated || second.isTruncated {
    return
  } else {
    precondition(
      first.bytes.lexicographicallyPrecedes(second.bytes) == ((order < 0) != isDescending), "keys are out of order")
  }
}

private func value(_ type: UInt8, _ input: inout FuzzInput, _ count: Int) -> AttributeValue? {
  switch type {
  case 0: return .boolean(input.byte() & 1 == 1)
  case 1: return .integer(Int64(bitPattern: input.number()))
  case 2: return .double(Double(bitPattern: input.number()))
  case 3: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: input.number())))
  case 4: return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: input.number())))
  case 5:
    let mantissa = Decimal(Int64(bitPattern: input.number()))
    return .decimal(Decimal(sign: .plus, exponent: Int(Int8(bitPattern: input.byte())) / 2, significand: mantissa))
  case 6: return .string(String(decoding: input.bytes(atMost: count), as: UTF8.self))
  case 7: return .binary(Data(input.bytes(atMost: count)))
  default: return nil
  }
}

/// Compares two values without their keys; returns nil for types without an independent order.
private func compare(_ left: AttributeValue?, _ right: AttributeValue?) -> Int? {
  func order<Value: Comparable>(_ a: Value, _ b: Value) -> Int { a < b ? -1 : a > b ? 1 : 0 }
  switch (left, right) {
  case (nil, nil): return 0
  case (.boolean(let a)?, .boolean(let b)?): return order(a ? 1 : 0, b ? 1 : 0)
  case (.integer(let a)?, .integer(let b)?): return order(a, b)
  case (.double(let a)?, .double(let b)?): return a.isNaN || b.isNaN ? nil : order(a, b)
  case (.float(let a)?, .float(let b)?): return a.isNaN || b.isNaN ? nil : order(a, b)
  case (.date(let a)?, .date(let b)?):
    let (a, b) = (a.timeIntervalSinceReferenceDate, b.timeIntervalSinceReferenceDate)
    return a.isNaN || b.isNaN ? nil : order(a, b)
  case (.decimal(let a)?, .decimal(let b)?): return a.isNaN || b.isNaN ? nil : order(a, b)
  case (.string(let a)?, .string(let b)?): return lexicographic(Array(a.utf8), Array(b.utf8))
  case (.binary(let a)?, .binary(let b)?): return lexicographic(Array(a), Array(b))
  default: return nil
  }
}

private func lexicographic(_ a: [UInt8], _ b: [UInt8]) -> Int {
  a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
}

/// Checks that any twenty bytes are a valid Decimal, and that storing and loading it again is lossless.
@Sendable private func decimal(_ bytes: UnsafeRawBufferPointer) {
  guard bytes.count >= 20, let base = bytes.baseAddress else { return }
  let value = DecimalCodec.load(from: base)
  var stored = [UInt8](repeating: 0, count: 20)
  stored.withUnsafeMutableBytes { buffer in
    if let address = buffer.baseAddress { DecimalCodec.store(DecimalCodec.parts(of: value), to: address) }
  }
  let again = stored.withUnsafeBytes { buffer in buffer.baseAddress.map { DecimalCodec.load(from: $0) } }
  precondition(value.isNaN ? again?.isNaN == true : again == value, "a stored decimal is another one")
}
