import Foundation
import KVCloneModel
import KVCloneRecords

/// Payloads of small values. The fuzzer cannot find checksums, so the target adds a valid checksum to each payload and
/// tests the decoder behind it.
let valueTargets: [FuzzTarget] = [
  FuzzTarget(
    name: "format", seeds: [Array(FormatRecord(storeUUID: UUID(), created: 1.5).encoded().dropFirst(8))], run: format),
  roundTrip("counter", CounterValue.self, [CounterValue(258)]),
  roundTrip("blobinfo", BlobInfo.self, [BlobInfo(chunkCount: 1, referenceCount: 3, byteCount: 77, digest: 9)]),
  roundTrip("member-index", MemberIndexValue.self, [MemberIndexValue(label: 77)]),
  roundTrip("layout", RecordLayout.self, [everyKind]),
  roundTrip(
    "snapshot", SnapshotValue.self,
    [
      SnapshotValue(
        epoch: 2, commit: 3, created: 1.5, objectCount: 11, nextBlobSerial: 4, modelNumber: 5, nextLayoutID: 6,
        nextIndexID: 7, nextEntityCode: 8,
        watermarks: [.init(rootCode: 1, nextSerial: 10), .init(rootCode: 2, nextSerial: 20)])
    ]),
  roundTrip(
    "change-header", ChangeHeader.self,
    [
      ChangeHeader(
        partCount: 2, time: 1.5, insertedCount: 3, updatedCount: 4, deletedCount: 5, author: "me", operation: "clone")
    ]),
  roundTrip(
    "change-part", ChangePart.self,
    [
      .inserted([.init(first: someID, count: 100)]), .updated([.init(id: someID, properties: [1, 9])]),
      .deleted([.init(id: someID, entityCode: 4, tombstone: Array("{}".utf8))]),
    ]),
  roundTrip(
    "provenance", ProvenanceValue.self,
    [
      ProvenanceValue(source: someID, commit: 6, operation: 7),
      ProvenanceValue(
        source: someID, commit: 6, operation: 7,
        store: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))),
    ]),
  roundTrip(
    "operation", OperationValue.self,
    [
      OperationValue(
        commit: 6, time: 1.5, expires: 2.5, roots: [someID], argumentDigest: [1, 2], result: Array("{}".utf8))
    ]),
  roundTrip(
    "increment", IncrementValue.self,
    [
      IncrementValue(
        commit: 9, created: 1.5, sinceName: "mon", sinceEpoch: 2, sinceCommit: 3, sinceCreated: 0.5,
        counts: [.init(table: .metadata, entries: 12), .init(table: .objects(rootCode: 1), entries: 4)])
    ]),
  roundTrip("redirect", RedirectValue.self, [RedirectValue(target: someID, commit: 6)]),
  FuzzTarget(
    name: "saved-keys", seeds: [[9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5, 0, 3, 0, 97, 98, 99]], run: savedKeys),
  FuzzTarget(name: "preimage", seeds: [[0], [1, 9, 8]], run: preimage),
  FuzzTarget(name: "envelope", seeds: [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]], run: envelope),
]

let someID = ObjectID(rawValue: 1 << 48 | 5)
private let seed: UInt64 = 0x1122_3344_5566_7788

/// Checks that a decoded value encodes to the same bytes: each value has one form, and decoding is lossless.
private func roundTrip<Value: ValueCodec>(
  _ name: String, _ type: Value.Type, _ examples: [Value]
) -> FuzzTarget {
  FuzzTarget(name: name, seeds: examples.map { Array($0.encoded(seed: seed).dropFirst(8)) }) { bytes in
    let stored = ValueEnvelope.encode(Array(bytes), seed: seed)
    guard let value = try? Value(stored: stored, seed: seed) else { return }
    precondition(value.encoded(seed: seed) == stored, "decoded and encoded, the bytes differ")
  }
}

/// Checks the format record, which has its own checksum.
@Sendable private func format(_ bytes: UnsafeRawBufferPointer) {
  let stored = FormatRecord.sealed(Array(bytes))
  guard let record = try? FormatRecord(stored: stored.span.bytes) else { return }
  precondition(record.encoded() == stored, "decoded and encoded, the bytes differ")
}

@Sendable private func preimage(_ bytes: UnsafeRawBufferPointer) {
  let stored = ValueEnvelope.encode(Array(bytes), seed: seed)
  guard let view = try? PreimageView(stored.span.bytes, seed: seed) else { return }
  let again = view.isPresent ? PreimageView.encode(view.value, seed: seed) : PreimageView.encode(nil, seed: seed)
  precondition(again == stored, "decoded and encoded, the bytes differ")
}

@Sendable private func savedKeys(_ bytes: UnsafeRawBufferPointer) {
  let stored = ValueEnvelope.encode(Array(bytes), seed: seed)
  guard let view = try? SavedKeysView(stored.span.bytes, seed: seed) else { return }
  var again = PreimageKeys()
  var left = view.byteCount
  view.forEach { table, key in
    key.withUnsafeBytes { again.append(table, $0, byteCount: left) }
    left = 0
  }
  if view.count == 0 { return }
  again.take(seed: seed) { bytes in
    precondition(bytes.withUnsafeBytes { Array($0) } == stored, "decoded and encoded, the bytes differ")
  }
}

/// Checks that an envelope accepts exactly the values with a valid checksum.
@Sendable private func envelope(_ bytes: UnsafeRawBufferPointer) {
  var input = FuzzInput(bytes)
  let seed = input.number()
  let value = input.remaining
  let sealed = ValueEnvelope.encode(value, seed: seed)
  precondition(ValueEnvelope.isIntact(sealed.span.bytes, seed: seed), "a sealed value is not intact")
  if ValueEnvelope.isIntact(value.span.bytes, seed: seed) {
    precondition(
      ValueEnvelope.encode(Array(value.dropFirst(8)), seed: seed) == value, "an intact value has another form")
  }
  if value.count == 8 {
    let word = value.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
    let hash = XXH3.hash(littleEndianWord: word, seed: seed)
    precondition(hash == XXH3.hash(value.span.bytes, seed: seed), "a word's hash differs from that of its bytes")
  }
  var stream = XXH64Stream(seed: seed)
  let middle = value.count / 3
  stream.update(Array(value[..<middle]).span.bytes)
  stream.update(Array(value[middle...]).span.bytes)
  precondition(stream.finalize() == value.withUnsafeBytes { XXH64.hash($0, seed: seed) }, "a hash in pieces differs")
}
