package import KVCloneModel

/// Undoes changes of sets of serials, for savepoints.
///
/// It records which serials were added to or removed from which set since a savepoint. Undoing inverts the membership of
/// each, so the order does not matter, and a serial that was changed twice needs no entry. Consecutive serials share an
/// entry, and many entries become bitmaps, so that the memory of a large savepoint is a bit per object.
package final class SerialJournal {
  /// A state to which the sets can be rolled back.
  package struct Savepoint {
    fileprivate let start: Int
    fileprivate let outerStart: Int
  }

  private struct Entry {
    let set: SerialSet
    var serials: Range<UInt64>
    /// Replaces the range.
    var bitmap: SerialSet?

    func forEach(_ body: (UInt64) -> Void) {
      guard let bitmap else { return serials.forEach(body) }
      bitmap.forEach { serial in
        body(serial)
        return true
      }
    }
  }

  /// The number of entries of a savepoint that become bitmaps.
  private static let compressedCount = 4096

  private var entries: [Entry] = []
  /// The first entry of the innermost savepoint.
  private var start = 0
  private var savepointCount = 0

  package init() {}

  /// The number of entries in memory.
  package var entryCount: Int { entries.count }

  /// Begins a savepoint. Savepoints end in the reverse order of their begin.
  package func begin() -> Savepoint {
    let savepoint = Savepoint(start: entries.count, outerStart: start)
    start = entries.count
    savepointCount += 1
    return savepoint
  }

  /// Restores the sets to their state at the savepoint, and ends it.
  package func rollBack(to savepoint: Savepoint) {
    for entry in entries[savepoint.start...] { entry.forEach(entry.set.toggle) }
    entries.removeSubrange(savepoint.start...)
    release(savepoint)
  }

  /// Ends a savepoint and keeps the changes since.
  package func release(_ savepoint: Savepoint) {
    start = savepoint.outerStart
    savepointCount -= 1
    if savepointCount == 0 { entries.removeAll(keepingCapacity: entries.count < Self.compressedCount) }
  }

  /// Records that a serial was added or removed.
  @inline(__always)
  fileprivate func note(_ set: SerialSet, _ serial: UInt64) {
    if savepointCount > 0 { add(set, serial) }
  }

  private func add(_ set: SerialSet, _ serial: UInt64) {
    let last = entries.count - 1
    if last >= start, entries[last].set === set, entries[last].bitmap == nil, entries[last].serials.upperBound == serial
    {
      entries[last].serials = entries[last].serials.lowerBound..<serial + 1
      return
    }
    if entries.count - start >= Self.compressedCount { compress() }
    entries.append(Entry(set: set, serials: serial..<serial + 1))
  }

  /// Replaces the entries of the innermost savepoint by one bitmap for each set.
  private func compress() {
    var compressed: [ObjectIdentifier: Entry] = [:]
    for entry in entries[start...] {
      let bitmap = compressed[ObjectIdentifier(entry.set)]?.bitmap ?? SerialSet()
      entry.forEach(bitmap.toggle)
      compressed[ObjectIdentifier(entry.set)] = Entry(set: entry.set, serials: 0..<0, bitmap: bitmap)
    }
    entries.replaceSubrange(start..., with: compressed.values)
  }
}

extension SerialSet {
  /// Adds a missing serial, and removes a present one.
  fileprivate func toggle(_ serial: UInt64) {
    if !insert(serial) { _ = remove(serial) }
  }

  /// Adds `serial` and records that.
  package func insert(_ serial: UInt64, _ journal: SerialJournal?) {
    if insert(serial) { journal?.note(self, serial) }
  }

  /// Removes `serial` and records that.
  package func remove(_ serial: UInt64, _ journal: SerialJournal?) {
    if remove(serial) { journal?.note(self, serial) }
  }
}

extension ObjectSet {
  /// Adds `id` and records that.
  package mutating func insert(_ id: ObjectID, _ journal: SerialJournal?) {
    if insert(id), let journal, let set = set(rootCode: id.rootCode) { journal.note(set, id.serial) }
  }

  /// Removes `id` and records that.
  package func remove(_ id: ObjectID, _ journal: SerialJournal?) {
    set(rootCode: id.rootCode)?.remove(id.serial, journal)
  }
}
