package import KVCloneModel
package import KVCloneRecords

/// What a snapshot can see of the store, told by keys alone.
///
/// Serials are given in order and never again, so whatever belongs to an object with a serial at or above the snapshot's
/// watermark came later. The writer saves no previous state of such keys, and a reader of the snapshot does not see them.
package final class SnapshotHorizon: Sendable {
  /// The epoch that began with the snapshot.
  package let epoch: UInt64
  /// By root code: the first serial that came later.
  private let nextSerials: [UInt64]
  private let nextBlobSerial: UInt64
  private let nextIndexID: UInt16
  private let orderedLists: OrderedLists

  package init(_ snapshot: SnapshotValue, _ orderedLists: OrderedLists) {
    epoch = snapshot.epoch
    var nextSerials = [UInt64](repeating: 0, count: 1 + Int(snapshot.watermarks.last?.rootCode ?? 0))
    for watermark in snapshot.watermarks { nextSerials[Int(watermark.rootCode)] = watermark.nextSerial }
    self.nextSerials = nextSerials
    nextBlobSerial = snapshot.nextBlobSerial
    nextIndexID = snapshot.nextIndexID
    self.orderedLists = orderedLists
  }

  /// The tables of which previous states are saved. The others tell nothing of objects, or nothing that is ever replaced.
  package static func isVersioned(_ table: TableCode) -> Bool {
    if table.rootCode != nil { return true }
    return table == .links || table == .indexes || table == .provenance || table == .blobInfo
  }

  /// The first serial of a root entity that came later.
  func nextSerial(rootCode: UInt16) -> UInt64 {
    Int(rootCode) < nextSerials.count ? nextSerials[Int(rootCode)] : 0
  }

  /// The id that the first object of a root entity that came later has, at least.
  package func firstLater(rootCode: UInt16) -> ObjectID {
    // All serials may be used up.
    let serial = min(nextSerial(rootCode: rootCode), ObjectID.maximumSerial + 1)
    return ObjectID(rawValue: (UInt64(rootCode) << 48).addingReportingOverflow(serial).partialValue)
  }

  /// Whether the object was given its id before.
  package func sees(_ id: ObjectID) -> Bool { id.serial < nextSerial(rootCode: id.rootCode) }

  /// Whether the blob was given its serial before.
  package func sees(blob serial: UInt64) -> Bool { serial < nextBlobSerial }

  /// Whether a key of a versioned table may have had a value then. A key that cannot be understood may.
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

  /// A chunk of an unordered list has the name of a member that is the least of it, at most; so one with the name of an
  /// object that came later has no others. What an ordered list's chunk is called says nothing.
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

  /// Sets a bound to the last key that may be seen of a table in the order of age; false where there is none.
  package func moveToLast(_ table: TableCode, _ bound: ReusedBytes) -> Bool {
    let next = table.rootCode.map { nextSerial(rootCode: $0) } ?? nextBlobSerial
    guard next > 1 else { return false }
    bound.removeAll()
    bound.appendBigEndian(UInt64(table.rootCode ?? 0) << 48 | min(next - 1, ObjectID.maximumSerial))
    return true
  }

  /// Whether the keys of a table ascend as the snapshot ages: behind one that it does not see is none that it sees.
  package static func isInOrderOfAge(_ table: TableCode) -> Bool {
    table.rootCode != nil || table == .blobInfo
  }

  /// The index of a key of `indexes`.
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
