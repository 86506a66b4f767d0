import KVCloneModel
import KVCloneRecords
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The expected content of a record: the oracle of random edits.
struct RecordModel: Equatable {
  var attributes: [Int: AttributeValue] = [:]
  var toOnes: [Int: ObjectID] = [:]
  var lists: [Int: [ObjectID]] = [:]
  var chunked: [Int: ListHead] = [:]

  init() {}

  init(_ view: borrowing RecordView) throws(RecordError) {
    for field in 0..<view.layout.fieldCount {
      switch view.layout.kind(field) {
      case .toOne: toOnes[field] = view.toOne(field)
      case .toMany:
        let head = view.head(field)
        if head.isChunked { chunked[field] = head }
        if head.count > 0, !head.isChunked { lists[field] = view.inlineIDs(field).array }
      default: attributes[field] = try view.value(field)
      }
    }
  }
}

func randomLayout(_ generator: inout SeededGenerator, id: UInt16, maximumFields: Int = 20) -> RecordLayout {
  let codes = (1...40).shuffled(using: &generator).prefix(Int.random(in: 0...maximumFields, using: &generator))
  return RecordLayout(
    id: id, entityCode: 9,
    fields: codes.map { code in
      // A property keeps its kind from layout to layout in most cases.
      let kinds = FieldKind.allCases
      let other = Int.random(in: 0..<8, using: &generator) == 0 ? 1 : 0
      return .init(propertyCode: UInt16(code), kind: kinds[(code + other) % kinds.count])
    })
}

func randomValue(_ kind: FieldKind, _ generator: inout SeededGenerator) -> AttributeValue? {
  let bits = generator.next()
  let length = Int.random(in: 0...40, using: &generator)
  switch kind {
  case .boolean: return .boolean(bits & 1 == 0)
  case .integer16: return .integer(Int64(Int16(truncatingIfNeeded: bits)))
  case .integer32: return .integer(Int64(Int32(truncatingIfNeeded: bits)))
  case .integer64: return .integer(Int64(bitPattern: bits))
  case .float: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
  case .double: return .double(Double(bitPattern: bits))
  case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)))
  case .decimal:
    let exponent = Int.random(in: -50...50, using: &generator)
    return .decimal(Decimal(sign: bits & 1 == 0 ? .plus : .minus, exponent: exponent, significand: Decimal(bits)))
  case .uuid:
    return .uuid(UUID(uuid: generator.bytes(16).withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }))
  case .string, .uri:
    let scalars = (0..<length).map { _ in UnicodeScalar(UInt32.random(in: 0..<0xD800, using: &generator)) ?? "?" }
    let text = String(String.UnicodeScalarView(scalars))
    return kind == .string ? .string(text) : .uri(text)
  case .binary, .transformable:
    let isTransformable = kind == .transformable
    if bits & 3 == 0 {
      return .blob(BlobReference(id: bits >> 8, byteCount: generator.next(), isTransformable: isTransformable))
    }
    let data = Data(generator.bytes(length))
    return isTransformable ? .transformable(data) : .binary(data)
  case .toOne, .toMany: return nil
  }
}

/// Applies one random edit to both buffer and model.
func edit(
  _ buffer: inout RecordBuffer, _ model: inout RecordModel, _ generator: inout SeededGenerator
) throws(RecordError) {
  let layout = buffer.layout
  guard layout.fieldCount > 0 else { return }
  let field = Int.random(in: 0..<layout.fieldCount, using: &generator)
  let isClearing = Int.random(in: 0..<5, using: &generator) == 0
  switch layout.kind(field) {
  case .toOne:
    let id = isClearing ? nil : ObjectID(rawValue: generator.next() | 1)
    buffer.setToOne(field, id)
    model.toOnes[field] = id
  case .toMany:
    try editList(field, &buffer, &model, &generator)
  default:
    let value = isClearing ? nil : randomValue(layout.kind(field), &generator)
    try buffer.set(field, value)
    model.attributes[field] = value
  }
}

private func editList(
  _ field: Int, _ buffer: inout RecordBuffer, _ model: inout RecordModel, _ generator: inout SeededGenerator
) throws(RecordError) {
  var ids = model.lists[field] ?? []
  let id = ObjectID(rawValue: generator.next() | 1)
  let isChunked = model.chunked[field] != nil
  switch Int.random(in: 0..<6, using: &generator) {
  case 0:
    let head = ListHead(
      count: Int(generator.next() >> 17), isChunked: true, hasMemberIndex: generator.next() & 1 == 0)
    buffer.setHead(field, head)
    model.chunked[field] = head
    model.lists[field] = nil
    return
  case 1 where !isChunked && ids.count < 16:
    let index = Int.random(in: 0...ids.count, using: &generator)
    try buffer.insertInlineID(field, at: index, id)
    ids.insert(id, at: index)
  case 2 where !isChunked && !ids.isEmpty:
    let index = Int.random(in: 0..<ids.count, using: &generator)
    buffer.removeInlineID(field, at: index)
    ids.remove(at: index)
  default:
    let count = Int.random(in: 0...16, using: &generator)
    ids = (0..<count).map { _ in ObjectID(rawValue: generator.next() | 1) }
    try buffer.setInlineIDs(field, ids)
    model.chunked[field] = nil
  }
  model.lists[field] = ids.isEmpty ? nil : ids
}

@Suite struct RecordEditTests {
  @Test(arguments: UInt64(0)..<60) func randomEditsAgainstAModel(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed)
    var buffer = RecordBuffer()
    for round in 0..<4 {
      let layout = randomLayout(&generator, id: UInt16(round))
      buffer.reset(layout)
      var model = RecordModel()
      for step in 0..<60 {
        try edit(&buffer, &model, &generator)
        let now = try RecordModel(buffer.view)
        #expect(now == model, "seed \(seed), round \(round), step \(step)")
      }
      buffer.seal(commit: seed, seed: 99)
      let bytes = array(buffer.bytes)
      let view = try RecordView(bytes.span.bytes, layout: layout, seed: 99)
      let stored = try RecordModel(view)
      #expect(stored == model, "seed \(seed), round \(round)")
      // The same values in another order, on a fresh record, are the same bytes.
      var fresh = RecordBuffer(layout: layout)
      for field in (0..<layout.fieldCount).reversed() {
        if let value = model.attributes[field] { try fresh.set(field, value) }
        if let id = model.toOnes[field] { fresh.setToOne(field, id) }
        if let ids = model.lists[field] { try fresh.setInlineIDs(field, ids) }
        if let head = model.chunked[field] { fresh.setHead(field, head) }
      }
      fresh.seal(commit: seed, seed: 99)
      #expect(array(fresh.bytes) == bytes, "seed \(seed), round \(round)")
    }
  }

  @Test(arguments: UInt64(0)..<60) func recordsOfAnOlderLayoutAreConverted(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed)
    let old = randomLayout(&generator, id: 1, maximumFields: 40)
    let new = randomLayout(&generator, id: 2, maximumFields: 40)
    var buffer = RecordBuffer(layout: old)
    var model = RecordModel()
    for _ in 0..<100 { try edit(&buffer, &model, &generator) }
    buffer.seal(commit: 5, seed: 1)
    let bytes = array(buffer.bytes)
    var converted = RecordBuffer()
    let view = try RecordView(bytes.span.bytes, layout: old, seed: 1)
    let missing = try converted.convert(view, to: new)
    var expected = RecordModel()
    var expectedMissing: [Int] = []
    for field in 0..<new.fieldCount {
      guard let source = old.fieldIndex(ofProperty: new[field].propertyCode), old[source] == new[field] else {
        expectedMissing.append(field)
        continue
      }
      expected.attributes[field] = model.attributes[source]
      expected.toOnes[field] = model.toOnes[source]
      expected.lists[field] = model.lists[source]
      expected.chunked[field] = model.chunked[source]
    }
    let result = try RecordModel(converted.view)
    #expect(result == expected, "seed \(seed)")
    #expect(missing == expectedMissing, "seed \(seed)")
    converted.seal(commit: 6, seed: 1)
    let stored = array(converted.bytes)
    _ = try RecordView(stored.span.bytes, layout: new, seed: 1).commit
  }

  @Test func aBufferGrowsAndIsUsedAgain() throws {
    var generator = SeededGenerator(9)
    let data = Data(generator.bytes(100_000))
    var buffer = RecordBuffer(layout: Example.layout)
    try buffer.setString(Example.field(6), "before")
    try buffer.set(Example.field(8), .binary(data))
    try buffer.setInlineIDs(Example.field(3), Example.members)
    let head = buffer.view.head(Example.field(3))
    buffer.setHead(Example.field(3), head)
    buffer.seal(commit: 1, seed: 2)
    let large = array(buffer.bytes)

    var other = RecordBuffer()
    other.load(try RecordView(large.span.bytes, layout: Example.layout, seed: 2))
    let text = try other.view.value(Example.field(6))
    #expect(text == "before")
    let binary = try other.view.value(Example.field(8))
    #expect(binary == .binary(data))
    // A record that cannot be loaded leaves the buffer unchanged.
    let damaged = Array(large.dropLast())
    do {
      other.load(try RecordView(damaged.span.bytes, layout: Example.layout, seed: 2))
      Issue.record("a damaged record was loaded")
    } catch {
      #expect(error == .checksumMismatch)
    }
    #expect(array(other.bytes) == large)
    let small = try Example.record()
    other.load(try RecordView(small.span.bytes, layout: Example.layout, seed: Example.seed))
    #expect(array(other.bytes) == small)

    let wide = RecordLayout(
      id: 8, entityCode: 1, fields: (1...400).map { .init(propertyCode: $0, kind: .uuid) })
    other = RecordBuffer()
    other.reset(wide)
    #expect(other.byteCount == 24 + 50 + 400 * 16)
  }

  @Test func aRecordThatWouldBeTooLargeIsRefusedAndUnchanged() throws {
    var buffer = RecordBuffer(layout: Example.layout)
    try buffer.setString(Example.field(6), "kept")
    let before = array(buffer.bytes)
    // Only the length counts: the bytes are never read.
    let endless = UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: 4096), count: 1 << 30)
    #expect(throws: RecordError.recordTooLarge) {
      var copy = RecordBuffer(layout: Example.layout)
      try copy.setVariable(Example.field(8), endless)
    }
    do {
      try buffer.setVariable(Example.field(8), endless)
      Issue.record("1 GiB and more was accepted")
    } catch {
      #expect(error == .recordTooLarge)
    }
    #expect(array(buffer.bytes) == before)
  }

  @Test func aRecordHasRoomForItsListsUntilTheyAreFull() throws {
    let layout = RecordLayout(
      id: 1, entityCode: 1,
      fields: [
        .init(propertyCode: 1, kind: .toMany), .init(propertyCode: 2, kind: .string),
        .init(propertyCode: 3, kind: .toMany),
      ])
    var buffer = RecordBuffer(layout: layout)
    try buffer.setString(Example.index(of: 2, in: layout), "a text")
    let full = buffer.byteCount + 2 * 16 * 8
    for count in 0...16 {
      try buffer.setInlineIDs(
        Example.index(of: 1, in: layout), (0..<count).map { ObjectID(rootCode: 1, serial: UInt64($0) + 1) })
      let hasRoom = (buffer.hasRoomForLists(limit: full), buffer.hasRoomForLists(limit: full - 1))
      #expect(hasRoom == (true, false), "\(count) ids")
    }
    let hasRoom = buffer.hasRoomForLists()
    #expect(hasRoom)
  }
}

extension Example {
  fileprivate static func index(of code: UInt16, in layout: RecordLayout) -> Int {
    layout.fieldIndex(ofProperty: code) ?? 0
  }
}
