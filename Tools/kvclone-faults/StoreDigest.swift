import Foundation
import KVClone

/// The contents of a store in a comparable form.
struct StoreContent: Equatable {
  /// A digest of all contents, in hexadecimal.
  let digest: String
  /// The possible number of blobs: at least those of the objects, and at most also those of removed entities that a
  /// snapshot still shows.
  let blobCount: ClosedRange<Int>
}

/// A digest of all objects, snapshots and branches, the same for equal contents with different ids.
///
/// The rank among the objects of its entity identifies an object: a failed and repeated transaction leaves a gap in the
/// serials, but not in the ranks. Names of automatic snapshots are excluded too, because they contain the time.
struct StoreDigest {
  var hash = ContentHash()
  /// Hashes of blobs, which never change, so that each is read once.
  private var hashOfBlob: [UInt64: UInt64] = [:]

  static func content(of store: ObjectStore) throws -> StoreContent {
    var run = StoreDigest()
    let content = try run.add(store)
    // The blobs of branches are described by their own entries.
    for info in try store.branches.list() {
      run.hash.add("branch \(info.name) of \(info.baseSnapshot ?? "no snapshot")")
      _ = try run.add(try store.branches.open(info.name))
    }
    return StoreContent(
      digest: String(run.hash.value, radix: 16), blobCount: content.now.count...content.all.count)
  }

  /// Adds the present state and the snapshots of a store or of a branch.
  ///
  /// - Returns: the blobs of the objects, and these with the blobs of removed entities that a snapshot still shows.
  private mutating func add(_ store: ObjectStore) throws -> (now: Set<UInt64>, all: Set<UInt64>) {
    let now = try store.read { try add(store.model, $0) }
    var blobs = now.blobs
    for info in try store.snapshots() {
      guard let model = WorkloadModel.version(named: info.modelVersion) else {
        throw Finding("the snapshot \(info.name) matches no version of the model")
      }
      hash.add(info.isAutomatic ? "automatic" : info.name)
      hash.add(UInt64(info.objectCount))
      let snapshot = try store.snapshot(named: info.name)
      let then = try snapshot.read { try add(model, $0) }
      if model.modelHash == store.model.modelHash { continue }
      blobs.formUnion(then.blobs)
      try store.read { try addRedirects(then.names, $0, now.ranks) }
    }
    return (now.blobs, blobs)
  }

  private struct View {
    var ranks: [ObjectID: UInt64] = [:]
    var blobs: Set<UInt64> = []
    /// The names of objects that get new ids in a migration.
    var names: [String] = []
  }

  private mutating func add(_ model: ManagedObjectModel, _ transaction: borrowing ReadTransaction) throws -> View {
    hash.add(model.modelHash.hex)
    let entities = model.entities.filter { !$0.isAbstract }.sorted { $0.name < $1.name }
    var view = View()
    for entity in entities {
      for id in try Workload.ids(of: entity.name, in: transaction) {
        view.ranks[id] = UInt64(view.ranks.count)
        if WorkloadModel.movingEntities.contains(entity.name) { view.names.append(try transaction.name(of: id)) }
      }
    }
    for entity in entities {
      hash.add(entity.name)
      let attributes = entity.attributes.map(\.name).sorted()
      let relationships = entity.relationships.map(\.name).sorted()
      try transaction.forEachObject(of: entity.name) { object in
        hash.add(view.ranks[object.id] ?? .max)
        for name in attributes {
          hash.add(name)
          try add(try object.value(name), of: object.id, name, transaction, &view.blobs)
        }
        for name in relationships {
          hash.add(name)
          let members = try transaction.members(object.id, name)
          hash.add(UInt64(members.count))
          for member in members { hash.add(view.ranks[member] ?? .max) }
        }
        return true
      }
    }
    return view
  }

  /// - Parameter blobs: receives the serial of a blob.
  mutating func add(
    _ value: AttributeValue?, of id: ObjectID, _ name: String, _ transaction: borrowing ReadTransaction,
    _ blobs: inout Set<UInt64>
  ) throws {
    switch value {
    case nil: hash.add("nil")
    case .integer(let value): hash.add(UInt64(bitPattern: value))
    case .date(let date): hash.add(date.timeIntervalSinceReferenceDate.bitPattern)
    case .string(let text): hash.add(text)
    case .binary(let data): data.withUnsafeBytes { hash.add($0) }
    case .blob(let blob):
      blobs.insert(blob.id)
      if hashOfBlob[blob.id] == nil {
        var content = ContentHash()
        content.add(blob.byteCount)
        // The store determines the chunks; their lengths are multiples of eight except for the last one.
        _ = try transaction.readData(id, name) { span in span.withUnsafeBytes { content.add($0) } }
        hashOfBlob[blob.id] = content.value
      }
      hash.add(hashOfBlob[blob.id] ?? 0)
    case .some(let other): hash.add("\(other)")
    }
  }

  /// Adds the current targets of the names that objects had in an earlier version.
  private mutating func addRedirects(
    _ names: [String], _ transaction: borrowing ReadTransaction, _ ranks: [ObjectID: UInt64]
  ) throws {
    for name in names {
      do {
        hash.add(ranks[try transaction.objectID(named: name)] ?? .max)
      } catch {
        guard error.kind == .objectNotFound else { throw error }
        hash.add("gone")
      }
    }
  }
}

/// A hash that is fast in a debug build; it is not stored anywhere.
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
