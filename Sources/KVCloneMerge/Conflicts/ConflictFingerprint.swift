#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Hashes what an answer depends on, equally in all processes.
struct ConflictFingerprint {
  private var hash = XXH64Stream(seed: 0)

  var value: UInt64 { hash.finalize() }

  mutating func add(_ number: UInt64) {
    withUnsafeBytes(of: number.littleEndian) { hash.update($0) }
  }

  mutating func add(_ text: String) {
    add(UInt64(text.utf8.count))
    var text = text
    text.withUTF8 { hash.update(UnsafeRawBufferPointer($0)) }
  }

  mutating func add(_ id: ObjectID?) { add(id?.rawValue ?? 0) }

  mutating func add(_ ids: [ObjectID]) {
    add(UInt64(ids.count))
    for id in ids { add(id) }
  }

  /// Adds a value that `state` shows.
  mutating func add(_ value: AttributeValue?, in state: any MergeState) throws(StoreError) {
    guard let value else { return add(0) }
    switch value {
    case .integer(let value): add(1, UInt64(bitPattern: value))
    case .decimal(let value): add(2, value.description)
    case .double(let value): add(3, value.bitPattern)
    case .float(let value): add(4, UInt64(value.bitPattern))
    case .string(let value): add(5, value)
    case .boolean(let value): add(6, value ? 1 : 0)
    case .date(let value): add(7, value.timeIntervalSinceReferenceDate.bitPattern)
    case .binary(let value): add(8, value)
    case .uuid(let value): add(9, value.uuidString)
    case .uri(let value): add(10, value)
    case .transformable(let value): add(11, value)
    case .composite(let elements):
      add(12, UInt64(elements.count))
      for (name, element) in elements.sorted(by: { $0.key < $1.key }) {
        add(name)
        try add(element, in: state)
      }
    case .blob(let blob):
      add(13, blob.byteCount)
      add(try state.digest(of: blob))
    }
  }

  private mutating func add(_ kind: UInt64, _ number: UInt64) {
    add(kind)
    add(number)
  }

  private mutating func add(_ kind: UInt64, _ text: String) {
    add(kind)
    add(text)
  }

  private mutating func add(_ kind: UInt64, _ bytes: Data) {
    add(kind, UInt64(bytes.count))
    bytes.withUnsafeBytes { hash.update($0) }
  }
}
