#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif
package import KVCloneModel

/// The origin of a clone; its key is the clone's id. source id u64 | commit u64 | operation u64 | flags u64 (1: the
/// source is of another store) | with flag 1: that store's UUID, 16 bytes.
package struct ProvenanceValue: ValueCodec, Hashable {
  package var source: ObjectID
  /// The commit of the source's state that was cloned.
  package var commit: UInt64
  /// The number of the operation: the commit that made the clone.
  package var operation: UInt64
  /// The source's store, if it is another one.
  package var store: UUID?
  /// The base of the clone, if it is part of a draft.
  package var draft: Draft?

  /// The base that a draft's clones share, and the copy that one of them belongs to.
  package struct Draft: Hashable, Sendable {
    /// The number of the base, which names its snapshot.
    package var base: UInt32
    /// The number of the copy, from 0.
    package var copy: UInt32

    package init(base: UInt32, copy: UInt32) {
      self.base = base
      self.copy = copy
    }
  }

  private static let hasStore: UInt64 = 1
  private static let hasDraft: UInt64 = 2

  package init(source: ObjectID, commit: UInt64, operation: UInt64, store: UUID? = nil, draft: Draft? = nil) {
    self.source = source
    self.commit = commit
    self.operation = operation
    self.store = store
    self.draft = draft
  }

  package func write(to writer: inout ByteWriter) {
    writer.put64(source.rawValue)
    writer.put64(commit)
    writer.put64(operation)
    writer.put64((store == nil ? 0 : Self.hasStore) | (draft == nil ? 0 : Self.hasDraft))
    if let store { withUnsafeBytes(of: store.uuid) { writer.putRaw($0) } }
    if let draft {
      writer.put32(draft.base)
      writer.put32(draft.copy)
    }
  }

  package init(from reader: inout ByteReader) throws(RecordError) {
    source = ObjectID(rawValue: try reader.get64())
    commit = try reader.get64()
    operation = try reader.get64()
    let flags = try reader.get64()
    guard flags <= Self.hasStore | Self.hasDraft else { throw .badFlag }
    if flags & Self.hasStore != 0 { store = try reader.getUUID() }
    if flags & Self.hasDraft != 0 { draft = Draft(base: try reader.get32(), copy: try reader.get32()) }
  }
}

/// A completed operation with an idempotency key (the key's bytes are the key).
///
/// flags u32 (0) | roots u32 | commit u64 | time f64 | expires f64 (NaN: never) | root ids u64 each | arguments'
/// digest: length u32, bytes | result: length u32, JSON.
package struct OperationValue: ValueCodec, Hashable {
  package var commit: UInt64
  /// Seconds since 2001.
  package var time: Double
  /// Seconds since 2001, or nil.
  package var expires: Double?
  /// The objects that the operation made, in the order it returned them.
  package var roots: [ObjectID]
  /// Detects a repetition with other arguments, which is an error.
  package var argumentDigest: [UInt8]
  /// Further results of the operation: JSON, or empty.
  package var result: [UInt8]

  package init(
    commit: UInt64, time: Double, expires: Double? = nil, roots: [ObjectID], argumentDigest: [UInt8],
    result: [UInt8] = []
  ) {
    self.commit = commit
    self.time = time
    self.expires = expires
    self.roots = roots
    self.argumentDigest = argumentDigest
    self.result = result
  }

  package func write(to writer: inout ByteWriter) {
    writer.put32(0)
    writer.put32(UInt32(roots.count))
    writer.put64(commit)
    writer.putDouble(time)
    writer.putDouble(expires ?? .nan)
    for root in roots { writer.put64(root.rawValue) }
    writer.putBytes(argumentDigest)
    writer.putBytes(result)
  }

  package init(from reader: inout ByteReader) throws(RecordError) {
    guard try reader.get32() == 0 else { throw .badFlag }
    let count = try reader.getCount(width: 8)
    commit = try reader.get64()
    time = try reader.getDouble()
    expires = try reader.getOptionalDouble()
    roots = []
    for _ in 0..<count { roots.append(ObjectID(rawValue: try reader.get64())) }
    argumentDigest = try reader.getBytes()
    result = try reader.getBytes()
  }
}

/// The new id of an object that a migration moved; its key is the old id. new id u64 | commit u64.
package struct RedirectValue: ValueCodec, Hashable {
  package var target: ObjectID
  /// The commit of the migration.
  package var commit: UInt64

  package init(target: ObjectID, commit: UInt64) {
    self.target = target
    self.commit = commit
  }

  package func write(to writer: inout ByteWriter) {
    writer.put64(target.rawValue)
    writer.put64(commit)
  }

  package init(from reader: inout ByteReader) throws(RecordError) {
    target = ObjectID(rawValue: try reader.get64())
    commit = try reader.get64()
  }
}
