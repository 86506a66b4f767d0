package import KVCloneModel
package import KVCloneRecords

/// The part of the store that a snapshot can see, determined from keys alone.
///
/// Serials are ascending and never reused, so everything that belongs to an object with a serial at or above the
/// snapshot's watermark is newer. The writer saves no preimage of such keys, and a reader of the snapshot does not see
/// them.
package final class SnapshotHorizon: Sendable {
  /// The epoch that began with the snapshot.
  package let epoch: UInt64
  /// The first newer serial, by root code.
  private let nextSerials: [UInt64]
  private let nextBlobSerial: UInt64
  package let nextIndexID: UInt16
  package let orderedLists: OrderedLists

  package init(_ snapshot: SnapshotValue, _ orderedLists: OrderedLists) {
    epoch = snapshot.epoch
    var nextSerials = [UInt64](repeating: 0, count: 1 + Int(snapshot.watermarks.last?.rootCode ?? 0))
    for watermark in snapshot.watermarks { nextSerials[Int(watermark.rootCode)] = watermark.nextSerial }
    self.nextSerials = nextSerials
    nextBlobSerial = snapshot.nextBlobSerial
    nextIndexID = snapshot.nextIndexID
    self.orderedLists = orderedLists
  }

  /// Whether preimages of a table are saved. The others contain nothing of objects, or nothing that is ever replaced.
  package static func isVersioned(_ table: TableCode) -> Bool {
    if table.rootCode != nil { return true }
    return table == .links || table == .indexes || table == .provenance || table == .blobInfo
  }

  /// The first newer serial of a root entity.
  func nextSerial(rootCode: UInt16) -> UInt64 {
    Int(rootCode) < nextSerials.count ? nextSerials[Int(rootCode)] : 0
  }

  /// The least id of a root entity's newer objects.
  package func firstLater(rootCode: UInt16) -> ObjectID {
    // All serials may be used.
    let serial = min(nextSerial(rootCode: rootCode), ObjectID.maximumSerial + 1)
    return ObjectID(rawValue: (UInt64(rootCode) << 48).addingReportingOverflow(serial).partialValue)
  }

  /// Whether the object's id was assigned before the snapshot.
  package func sees(_ id: ObjectID) -> Bool { id.serial < nextSerial(rootCode: id.rootCode) }

  /// Whether the blob's serial was assigned before the snapshot.
  package func sees(blob serial: UInt64) -> Bool { serial < nextBlobSerial }

  /// Whether a key of a versioned table may have had a value in the snapshot. True for an invalid key.
  @inline(__always)
  package func sees(_ table: TableCode, _ key: UnsafeRawBufferPointer) -> Bool {
    if table.rootCode != nil { return key.count != 8 || sees(Self.id(key, at: 0)) }
    return seesOther(table, key)
  }

  private func seesOther(_ table: TableCode, _ key: UnsafeRawBufferPointer) -> Bool {
    switch table {
    case .provenance: return key.count != 8 || sees(Self.id(key, at: 0))
    case .links: return seesLink(key)
    case .indexes:
      guard key.count >= 10 else { return true }
      return Self.indexID(key) < nextIndexID && sees(Self.id(key, at: key.count - 8))
    case .blobInfo: return key.count != 8 || sees(blob: Self.number(key, at: 0))
    default: return true
    }
  }

  /// The position of an unordered list's chunk is at most its least member; a chunk at a newer object's position
  /// therefore has only newer members. The label of an ordered list's chunk has no such meaning.
  private func seesLink(_ key: UnsafeRawBufferPointer) -> Bool {
    guard key.count == LinkKey.length else { return true }
    guard sees(Self.id(key, at: 0)) else { return false }
    switch key[10] {
    case LinkKey.Kind.chunk.rawValue:
      let code = UInt16(bigEndian: key.loadUnaligned(fromByteOffset: 8, as: UInt16.self))
      return orderedLists.contains(code) || sees(Self.id(key, at: 11))
    case LinkKey.Kind.memberIndex.rawValue: return sees(Self.id(key, at: 11))
    default: return true
    }
  }

  /// Sets a bound to the last possibly visible key of a table in order of age; returns false if no key is visible.
  package func moveToLast(_ table: TableCode, _ bound: ReusedBytes) -> Bool {
    let next = table.rootCode.map { nextSerial(rootCode: $0) } ?? nextBlobSerial
    guard next > 1 else { return false }
    bound.removeAll()
    bound.appendBigEndian(UInt64(table.rootCode ?? 0) << 48 | min(next - 1, ObjectID.maximumSerial))
    return true
  }

  /// Whether the keys of a table are in order of age: all keys behind an invisible one are invisible.
  package static func isInOrderOfAge(_ table: TableCode) -> Bool {
    table.rootCode != nil || table == .blobInfo
  }

  /// The index id in a key of `indexes`.
  package static func indexID(_ key: UnsafeRawBufferPointer) -> UInt16 {
    key.count < 2 ? .max : UInt16(bigEndian: key.loadUnaligned(as: UInt16.self))
  }

  @inline(__always)
  package static func number(_ key: UnsafeRawBufferPointer, at offset: Int) -> UInt64 {
    UInt64(bigEndian: key.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  private static func id(_ key: UnsafeRawBufferPointer, at offset: Int) -> ObjectID {
    ObjectID(rawValue: number(key, at: offset))
  }
}
