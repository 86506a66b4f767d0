import Foundation
import KVCloneModel
import KVCloneRecords

/// Object records and lists: views over borrowed bytes, and the buffer that edits records.
let recordTargets: [FuzzTarget] = [
  FuzzTarget(name: "record", seeds: recordSeeds, run: record),
  FuzzTarget(name: "record-edit", seeds: [Array(0...64)], run: recordEdit),
  FuzzTarget(name: "list-chunk", seeds: [chunkSeed, [0] + chunkSeed], run: listChunk),
  FuzzTarget(name: "directory", seeds: [directorySeed], run: directory),
]

private let kinds: [FieldKind] = [
  .uuid, .integer64, .double, .date, .toOne, .toMany, .toMany, .decimal, .integer32, .float, .string, .uri, .binary,
  .transformable, .integer16, .boolean,
]

/// A layout with a field of every kind, and two lists.
let everyKind = RecordLayout(
  id: 3, entityCode: 4,
  fields: kinds.enumerated().map { .init(propertyCode: UInt16($0.offset + 1), kind: $0.element) })

private let seed: UInt64 = 1

private func bytes(of buffer: consuming RecordBuffer) -> [UInt8] {
  var buffer = buffer
  buffer.seal(commit: 258, seed: seed)
  return buffer.bytes.withUnsafeBytes { Array($0) }
}

private let recordSeeds: [[UInt8]] = {
  let empty = bytes(of: RecordBuffer(layout: everyKind))
  var full = RecordBuffer(layout: everyKind)
  for field in 0..<everyKind.fieldCount { set(&full, field, 0x4009_21FB_5444_2D18) }
  return [Array(empty.dropFirst(8)), Array(bytes(of: full).dropFirst(8))]
}()

/// Sets a field to a value derived from `number`.
private func set(_ buffer: inout RecordBuffer, _ field: Int, _ number: UInt64) {
  let text = String(repeating: "é", count: Int(number % 40))
  let value: AttributeValue? =
    switch everyKind.kind(field) {
    case .boolean: .boolean(number & 1 == 1)
    case .integer16: .integer(Int64(Int16(truncatingIfNeeded: number)))
    case .integer32: .integer(Int64(Int32(truncatingIfNeeded: number)))
    case .integer64: .integer(Int64(bitPattern: number))
    case .float: .float(Float(bitPattern: UInt32(truncatingIfNeeded: number)))
    case .double: .double(Double(bitPattern: number))
    case .date: .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: number)))
    case .decimal: .decimal(Decimal(Int64(bitPattern: number)))
    case .uuid: .uuid(UUID())
    case .string: .string(text)
    case .uri: .uri(text)
    case .binary:
      number & 1 == 1 ? .blob(.init(id: number >> 1, byteCount: 7, isTransformable: false)) : .binary(Data(text.utf8))
    case .transformable: .transformable(Data(text.utf8))
    case .toOne, .toMany: nil
    }
  switch everyKind.kind(field) {
  case .toOne: buffer.setToOne(field, number == 0 ? nil : ObjectID(rawValue: number))
  case .toMany:
    let ids = (0..<number % 17).map { ObjectID(rawValue: number &+ $0) }
    try? buffer.setInlineIDs(field, ids)
  default: try? buffer.set(field, number % 5 == 0 ? nil : value)
  }
}

/// Checks that an accepted record can be read completely, copied and converted, and that sealing it again gives the
/// same bytes.
@Sendable private func record(_ input: UnsafeRawBufferPointer) {
  let stored = ValueEnvelope.encode(Array(input), seed: seed)
  _ = try? RecordView.layoutID(of: stored.span.bytes)
  _ = try? RecordView.entityCode(of: stored.span.bytes)
  _ = try? RecordView.commit(of: stored.span.bytes)
  guard let view = try? RecordView(stored.span.bytes, layout: everyKind, seed: seed) else { return }
  for field in 0..<everyKind.fieldCount {
    _ = try? view.value(field)
    if everyKind.kind(field) == .toOne { _ = view.toOne(field) }
  }
  for field in everyKind.toManyFields where !view.head(field).isChunked {
    let ids = view.inlineIDs(field)
    for index in 0..<ids.count { _ = ids[index] }
  }
  var buffer = RecordBuffer(layout: everyKind)
  buffer.load(view)
  buffer.seal(commit: view.commit, seed: seed)
  precondition(buffer.bytes.withUnsafeBytes { Array($0) } == stored, "loaded and sealed, the record differs")
  _ = try? buffer.convert(view, to: everyKind)
}

/// Checks that any sequence of edits leaves a valid record.
@Sendable private func recordEdit(_ bytes: UnsafeRawBufferPointer) {
  var input = FuzzInput(bytes)
  var buffer = RecordBuffer(layout: everyKind)
  var edits = 0
  while !input.isAtEnd, edits < 200 {
    set(&buffer, Int(input.byte()) % everyKind.fieldCount, input.number())
    edits += 1
  }
  buffer.seal(commit: 1, seed: seed)
  let stored = buffer.bytes.withUnsafeBytes { Array($0) }
  do {
    let view = try RecordView(stored.span.bytes, layout: everyKind, seed: seed)
    for field in 0..<everyKind.fieldCount where everyKind.kind(field) != .toOne && everyKind.kind(field) != .toMany {
      _ = try view.value(field)
    }
  } catch {
    preconditionFailure("an edited record is refused: \(error)")
  }
}

private let chunkSeed = Array(ListChunk.encode([someID, ObjectID(rawValue: 1 << 48 | 9)], seed: seed).dropFirst(8))
private let directorySeed = Array(
  DirectoryPage([.init(label: 1, memberCount: 128), .init(label: 9, memberCount: 3)]).encoded(seed: seed).dropFirst(8))

@Sendable private func listChunk(_ bytes: UnsafeRawBufferPointer) {
  let stored = ValueEnvelope.encode(Array(bytes), seed: seed)
  if let chunk = try? ListChunk(stored.span.bytes, seed: seed, unorderedAt: nil) {
    precondition(ListChunk.encode(ids(of: chunk), seed: seed) == stored, "decoded and encoded, the chunk differs")
  }
  guard let chunk = try? ListChunk(stored.span.bytes, seed: seed, unorderedAt: someID.rawValue) else { return }
  for index in 0..<chunk.ids.count {
    precondition(chunk.ids.lowerBound(of: chunk.ids[index]) == index, "an accepted chunk is not in order")
  }
}

private func ids(of chunk: borrowing ListChunk) -> [ObjectID] { (0..<chunk.ids.count).map { chunk.ids[$0] } }

@Sendable private func directory(_ bytes: UnsafeRawBufferPointer) {
  let stored = ValueEnvelope.encode(Array(bytes), seed: seed)
  let copied = try? DirectoryPage(stored: stored, seed: seed)
  let position = copied?.entries.first?.label ?? 1
  guard let view = try? DirectoryPageView(stored.span.bytes, seed: seed, position: position) else {
    precondition(copied == nil, "a page is accepted in one form only")
    return
  }
  precondition(view.entries == copied?.entries, "the two forms of a page differ")
  precondition(DirectoryPageView.encode(view.entries, seed: seed) == stored, "decoded and encoded, the page differs")
}
