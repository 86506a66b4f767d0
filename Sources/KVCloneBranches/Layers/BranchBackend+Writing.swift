package import KVCloneCore
package import KVCloneLMDB
import KVCloneRecords

extension BranchBackend {
  package func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    switch place(table.code, key) {
    case .store: try inner.put(table, key, value)
    case .own(let number): try putOwn(number, table.code, key, value)
    case .blobInfo: try putBlobInfo(table, key, value)
    case .layered: try putLayered(table, key, value)
    }
  }

  /// Keys above all others of the branch may be in the middle of its layer.
  package func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    if case .store = place(table.code) { return try inner.append(table, key, value) }
    try put(table, key, value)
  }

  package func appendRun(_ table: StorageTable, _ entries: UnsafeBufferPointer<StorageEntryPointers>) throws(StoreError)
  {
    if case .store = place(table.code) { return try inner.appendRun(table, entries) }
    for entry in entries { try put(table, entry.key, entry.value) }
  }

  package func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    switch place(table.code, key) {
    case .store: return try inner.delete(table, key)
    case .own(let number): return try removeEntry(number, table.code, key)
    case .blobInfo: return try deleteBlobInfo(table, key)
    case .layered: return try deleteLayered(table, key)
    }
  }

  // MARK: Entries of the layer

  private func putLayered(
    _ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws(StoreError) {
    let old = try oldEntry(layer, table.code, key)
    if let root = table.code.rootCode {
      let existed: Bool
      if let old { existed = old.hasValue } else { existed = try base.get(table, key) != nil }
      if !existed { count(root, 1) }
      if old == nil { record.changedObjectCount += 1 }
    }
    try putEntry(layer, table.code, value, replacing: old?.byteCount)
  }

  private func deleteLayered(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    let isOfBase = try base.get(table, key) != nil
    let old = try oldEntry(layer, table.code, key)
    let existed = old?.hasValue ?? isOfBase
    guard existed else { return false }
    if let root = table.code.rootCode {
      count(root, -1)
      if isOfBase, old == nil { record.changedObjectCount += 1 }
      if !isOfBase { record.changedObjectCount -= min(1, record.changedObjectCount) }
    }
    if isOfBase {
      try putEntry(layer, table.code, nil, replacing: old?.byteCount)
    } else if let old {
      try dropEntry(old.byteCount, isOfLayer: true)
    }
    return true
  }

  // MARK: Entries of the branch alone

  private func putOwn(
    _ number: UInt32, _ table: TableCode, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws(StoreError) {
    let old = try oldEntry(number, table, key)
    try putEntry(number, table, value, replacing: old?.byteCount)
  }

  /// Removes an entry without a tombstone; returns whether it existed.
  func removeEntry(_ number: UInt32, _ table: TableCode, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    guard let old = try oldEntry(number, table, key) else { return false }
    try dropEntry(old.byteCount, isOfLayer: number == layer)
    return true
  }

  // MARK: Single entries

  /// Sets `entryKey` to the key in `overlays`, and returns the form and the size of its entry.
  func oldEntry(_ number: UInt32, _ table: TableCode, _ key: UnsafeRawBufferPointer) throws(StoreError)
    -> (hasValue: Bool, byteCount: Int)?
  {
    OverlayKey.write(layer: number, table: table, key: key, to: entryKey)
    guard let stored = try inner.get(tables.overlays, entryKey.bytes) else { return nil }
    return (try reader.value(stored, at: entryKey.bytes) != nil, entryKey.count + stored.count)
  }

  /// Writes the entry with the key `entryKey`.
  ///
  /// - Parameters:
  ///   - value: nil for a tombstone.
  ///   - replaced: the size of the entry that it replaces; nil if there was none.
  func putEntry(
    _ number: UInt32, _ table: TableCode, _ value: UnsafeRawBufferPointer?, replacing replaced: Int?
  ) throws(StoreError) {
    let seed = ValueEnvelope.seed(tableCode: .overlays, key: entryKey.bytes)
    PreimageView.write(value, seed: seed, to: entryValue)
    try inner.put(tables.overlays, entryKey.bytes, entryValue.bytes)
    (isChanged, isWritten) = (true, true)
    guard number == layer else { return }
    noteEntries(table, true)
    if replaced == nil { record.entryCount += 1 }
    record.byteCount &+= UInt64(entryKey.count + entryValue.count)
    record.byteCount -= min(record.byteCount, UInt64(replaced ?? 0))
  }

  /// Removes the entry with the key `entryKey`.
  private func dropEntry(_ byteCount: Int, isOfLayer: Bool) throws(StoreError) {
    _ = try inner.delete(tables.overlays, entryKey.bytes)
    (isChanged, isWritten) = (true, true)
    guard isOfLayer else { return }
    record.entryCount -= min(1, record.entryCount)
    record.byteCount -= min(record.byteCount, UInt64(byteCount))
  }

  // MARK: The record

  /// Adds to the number of objects of a root entity.
  private func count(_ root: UInt16, _ change: Int64) {
    if lastCount >= record.objectCounts.count || record.objectCounts[lastCount].rootCode != root {
      lastCount = record.objectCounts.firstIndex { $0.rootCode >= root } ?? record.objectCounts.count
      if lastCount == record.objectCounts.count || record.objectCounts[lastCount].rootCode != root {
        record.objectCounts.insert(.init(rootCode: root, count: 0), at: lastCount)
      }
    }
    let old = record.objectCounts[lastCount].count
    record.objectCounts[lastCount].count = change < 0 ? old - min(old, UInt64(-change)) : old + UInt64(change)
  }

  /// Writes the branch's record, if the transaction has changed entries of the branch.
  ///
  /// - Parameter commit: the commit that the transaction makes; nil if its number is stored already.
  package func writeRecord(commit: UInt64? = nil) throws(StoreError) {
    guard isChanged, !isFrozen else { return }
    isChanged = false
    if let commit {
      record.lastCommit = commit
    } else {
      record.lastCommit = try Metadata.counter(
        StorageTransaction(lookingInto: inner), tables.store.metadata, MetadataKey.commitCounter)
    }
    let (key, value) = BranchRecords.encode(record, name)
    try inner.put(tables.branches, unsafePointers(key.span.bytes), unsafePointers(value.span.bytes))
  }
}
