import Foundation
import KVClone

/// A number for everything that a store holds, the same for equal contents whatever their ids are.
///
/// An object stands for its rank among its entity's objects: a transaction that failed and was repeated leaves a gap in
/// the serials, but not in the ranks.
enum StoreDigest {
  /// - Returns: the content's digest, in hexadecimal, and how many large values the objects have between them.
  static func digest(_ store: ObjectStore) throws -> (digest: String, blobCount: Int) {
    let entities = store.model.entities.filter { !$0.isAbstract }.sorted { $0.name < $1.name }
    return try store.read { transaction in
      var ranks: [ObjectID: UInt64] = [:]
      for entity in entities {
        for id in try Workload.ids(of: entity.name, in: transaction) { ranks[id] = UInt64(ranks.count) }
      }
      var hash = ContentHash()
      var blobs: Set<UInt64> = []
      for entity in entities {
        hash.add(entity.name)
        try transaction.forEachObject(of: entity.name) { object in
          hash.add(ranks[object.id] ?? .max)
          try add(object, entity, transaction, ranks, &hash, &blobs)
          return true
        }
      }
      return (String(hash.value, radix: 16), blobs.count)
    }
  }

  private static func add(
    _ object: ManagedObject, _ entity: EntityDescription, _ transaction: borrowing ReadTransaction,
    _ ranks: [ObjectID: UInt64], _ hash: inout ContentHash, _ blobs: inout Set<UInt64>
  ) throws {
    for name in entity.attributes.map(\.name).sorted() {
      hash.add(name)
      switch try object.value(name) {
      case nil: hash.add(0)
      case .integer(let value): hash.add(UInt64(bitPattern: value))
      case .date(let date): hash.add(date.timeIntervalSinceReferenceDate.bitPattern)
      case .string(let text): hash.add(text)
      case .binary(let data): data.withUnsafeBytes { hash.add($0) }
      case .blob(let blob):
        blobs.insert(blob.id)
        hash.add(blob.byteCount)
        // The pieces in which the bytes come are the store's business; their lengths are multiples of eight but for
        // the last.
        _ = try transaction.readData(object.id, name) { span in span.withUnsafeBytes { hash.add($0) } }
      case .some(let other): hash.add("\(other)")
      }
    }
    for name in entity.relationships.map(\.name).sorted() {
      hash.add(name)
      let members = try transaction.members(object.id, name)
      hash.add(UInt64(members.count))
      for member in members { hash.add(ranks[member] ?? .max) }
    }
  }
}

/// Quick to compute in a debug build too; it is not stored anywhere.
struct ContentHash {
  private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

  mutating func add(_ word: UInt64) {
    value = (value ^ word) &* 0x9FB2_1C65_1E98_DF25
    value ^= value >> 32
  }

  mutating func add(_ text: String) {
    var text = text
    text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
  }

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    var offset = 0
    while offset + 8 <= bytes.count {
      add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset += 8
    }
    var rest: UInt64 = UInt64(bytes.count - offset)
    for byte in bytes[offset...] { rest = rest << 8 | UInt64(byte) }
    if bytes.count > offset { add(rest) }
  }
}
