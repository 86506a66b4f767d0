/// A branch; its key is the name's UTF-8.
///
/// flags u32 (0) | number u32 | created f64 | expires f64 (NaN: never) | last commit u64 | entries u64 | bytes u64 |
/// changed objects u64 | layers: count u32, (code u32, base epoch u64, base name: length u32, UTF-8)* | object counts:
/// count u32, (root u16, objects u64)*.
package struct BranchValue: ValueCodec, Hashable {
  /// The changes of the branch over one base. All layers but the last are only shown by snapshots of the branch.
  package struct Layer: Hashable, Sendable {
    package var code: UInt32
    /// The base: a snapshot of the store.
    package var baseEpoch: UInt64
    package var baseName: String

    package init(code: UInt32, baseEpoch: UInt64, baseName: String) {
      self.code = code
      self.baseEpoch = baseEpoch
      self.baseName = baseName
    }
  }

  package struct ObjectCount: Hashable, Sendable {
    package var rootCode: UInt16
    package var count: UInt64

    package init(rootCode: UInt16, count: UInt64) {
      self.rootCode = rootCode
      self.count = count
    }
  }

  /// The number of the branch, which is never reused.
  package var number: UInt32
  /// Seconds since 2001.
  package var created: Double
  /// Seconds since 2001, or nil.
  package var expires: Double?
  /// The last commit on the branch; that of its base before the first.
  package var lastCommit: UInt64
  /// The number of entries of the present layer, and the size of their keys and values, in bytes.
  package var entryCount: UInt64 = 0
  package var byteCount: UInt64 = 0
  /// The number of objects that the present layer inserts, changes or deletes.
  package var changedObjectCount: UInt64 = 0
  /// In the order of their creation, at least one.
  package var layers: [Layer]
  /// The numbers of objects that the branch shows, one per root entity, ascending by code.
  package var objectCounts: [ObjectCount]

  package init(
    number: UInt32, created: Double, expires: Double? = nil, lastCommit: UInt64, layers: [Layer],
    objectCounts: [ObjectCount]
  ) {
    self.number = number
    self.created = created
    self.expires = expires
    self.lastCommit = lastCommit
    self.layers = layers
    self.objectCounts = objectCounts
  }

  /// The layer that the branch shows and writes.
  package var present: Layer { layers[layers.count - 1] }

  /// The numbers under which the branch has entries.
  package var numbers: [UInt32] { [number] + layers.map(\.code) }

  /// Whether the branch may have other entries than when a snapshot was created.
  package func hasChanged(since snapshot: SnapshotValue) -> Bool {
    lastCommit > snapshot.commit || layers.contains { $0.baseEpoch > snapshot.epoch }
  }

  package func write(to writer: inout ByteWriter) {
    writer.put32(0)
    writer.put32(number)
    writer.putDouble(created)
    writer.putDouble(expires ?? .nan)
    writer.put64(lastCommit)
    writer.put64(entryCount)
    writer.put64(byteCount)
    writer.put64(changedObjectCount)
    writer.put32(UInt32(layers.count))
    for layer in layers {
      writer.put32(layer.code)
      writer.put64(layer.baseEpoch)
      writer.putString(layer.baseName)
    }
    writer.put32(UInt32(objectCounts.count))
    for count in objectCounts {
      writer.put16(count.rootCode)
      writer.put64(count.count)
    }
  }

  package init(from reader: inout ByteReader) throws(RecordError) {
    guard try reader.get32() == 0 else { throw .badFlag }
    number = try reader.get32()
    created = try reader.getDouble()
    expires = try reader.getOptionalDouble()
    lastCommit = try reader.get64()
    entryCount = try reader.get64()
    byteCount = try reader.get64()
    changedObjectCount = try reader.get64()
    // As for counters: adding cannot overflow.
    for value in [lastCommit, entryCount, byteCount, changedObjectCount] where value > UInt64(Int64.max) {
      throw .outOfRange
    }
    layers = []
    for _ in 0..<(try reader.getCount(width: 16)) {
      let layer = Layer(
        code: try reader.get32(), baseEpoch: try reader.get64(), baseName: try reader.getString())
      guard layer.code > 0, layer.baseEpoch > 0, layer.baseEpoch <= UInt64(Int64.max) else { throw .outOfRange }
      if let last = layers.last, last.code >= layer.code { throw .badOrder }
      layers.append(layer)
    }
    guard number > 0, !layers.isEmpty else { throw .outOfRange }
    objectCounts = []
    for _ in 0..<(try reader.getCount(width: 10)) {
      let count = ObjectCount(rootCode: try reader.get16(), count: try reader.get64())
      guard count.count <= UInt64(Int64.max) else { throw .outOfRange }
      if let last = objectCounts.last, last.rootCode >= count.rootCode { throw .badOrder }
      objectCounts.append(count)
    }
  }
}
