package import KVCloneModel
import KVCloneRecords

/// Collects a write transaction's entry in the history, in flat memory: inserts are ranges of serials, updates a bit
/// for each object and changed property, deletions are written when a part is full.
package struct HistoryRecorder {
  /// Inserted objects by root entity: ranges of serials, ascending and not adjacent. Copies for savepoints share it.
  private final class Births {
    var ranges: [UInt16: [Range<UInt64>]] = [:]
  }

  private let births = Births()
  /// Undoes changes of the sets, once there was a savepoint.
  var journal: SerialJournal?
  /// Objects that were inserted and deleted in the same transaction: they are omitted from the history.
  private var stillborn = ObjectSet()
  private var updates: [UInt16: Updates] = [:]
  /// The deletions that are not written yet.
  private(set) var deletions: [ChangePart.Deleted] = []
  /// The size of their tombstones.
  private(set) var tombstoneBytes = 0
  /// The number of written deletions and of their parts.
  private(set) var writtenDeletions: UInt64 = 0
  private(set) var writtenParts: UInt32 = 0

  package init() {}

  /// Returns a function that removes the inserted objects that are recorded from now on.
  func insertsRestorer() -> () -> Void {
    let counts = births.ranges.mapValues { ($0.count, $0.last) }
    return { [births] in
      for root in Array(births.ranges.keys) {
        guard let (count, last) = counts[root], let last else {
          births.ranges[root] = nil
          continue
        }
        births.ranges[root]?.removeSubrange(count...)
        births.ranges[root]?[count - 1] = last
      }
    }
  }

  /// Objects of one root entity.
  fileprivate struct Updates {
    var objects = SerialSet()
    /// The objects that changed, by the code of the changed property, ascending.
    var properties: [(code: UInt16, objects: SerialSet)] = []
  }

  /// Records inserted objects with consecutive serials, above all recorded before.
  package mutating func noteInserts(from first: ObjectID, count: UInt64) {
    guard count > 0 else { return }
    let range = first.serial..<first.serial + count
    births.ranges[first.rootCode, default: []].appendJoining(range)
  }

  /// Records that a property of an object changed, unless the object is new.
  package mutating func noteUpdate(_ id: ObjectID, property: UInt16) {
    if isBorn(id) { return }
    let root = id.rootCode
    if updates[root] == nil { updates[root] = Updates() }
    updates[root]?.note(id.serial, property, journal)
  }

  /// Records that an object was deleted.
  mutating func noteDeletion(_ entry: ChangePart.Deleted) {
    if isBorn(entry.id) {
      stillborn.insert(entry.id, journal)
      return
    }
    updates[entry.id.rootCode]?.objects.remove(entry.id.serial, journal)
    tombstoneBytes += entry.tombstone.count
    deletions.append(entry)
  }

  /// Clears the waiting deletions after they were written.
  mutating func deletionsAreWritten() {
    writtenDeletions += UInt64(deletions.count)
    writtenParts += 1
    deletions.removeAll(keepingCapacity: true)
    tombstoneBytes = 0
  }

  /// Whether the object was inserted in this transaction.
  func isBorn(_ id: ObjectID) -> Bool {
    guard let ranges = births.ranges[id.rootCode], let last = ranges.last else { return false }
    if last.contains(id.serial) { return true }
    if ranges.count == 1 { return false }
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound <= id.serial { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].contains(id.serial)
  }

  /// The number of updated objects.
  var updatedCount: Int { updates.values.reduce(0) { $0 + $1.objects.count } }

  /// Calls `body` with each range of inserted objects that still exist, by root entity and serial.
  func forEachInserted<E: Error>(_ body: (ChangePart.Inserted) throws(E) -> Void) throws(E) {
    for root in births.ranges.keys.sorted() {
      let gone = stillborn.set(rootCode: root)
      for range in births.ranges[root] ?? [] {
        var start = range.lowerBound
        while start < range.upperBound {
          let end = min(gone?.next(from: start) ?? .max, range.upperBound)
          if start < end {
            try body(.init(first: ObjectID(rootCode: root, serial: start), count: end - start))
          }
          start = end + 1
        }
      }
    }
  }

  /// Calls `body` with each updated object and its changed properties, by root entity and serial.
  func forEachUpdated<E: Error>(_ body: (ChangePart.Updated) throws(E) -> Void) throws(E) {
    for root in updates.keys.sorted() {
      guard let updates = updates[root] else { continue }
      try updates.objects.forEach { (serial) throws(E) in
        var codes: [UInt16] = []
        for (code, objects) in updates.properties where objects.contains(serial) { codes.append(code) }
        try body(.init(id: ObjectID(rootCode: root, serial: serial), properties: codes))
        return true
      }
    }
  }
}

extension HistoryRecorder.Updates {
  fileprivate mutating func note(_ serial: UInt64, _ property: UInt16, _ journal: SerialJournal?) {
    objects.insert(serial, journal)
    let place = properties.firstIndex { $0.code >= property } ?? properties.count
    if place == properties.count || properties[place].code != property {
      properties.insert((property, SerialSet()), at: place)
    }
    properties[place].objects.insert(serial, journal)
  }
}

extension [Range<UInt64>] {
  /// Appends a range above all others, merged if adjacent.
  fileprivate mutating func appendJoining(_ range: Range<UInt64>) {
    if let last, last.upperBound == range.lowerBound {
      self[count - 1] = last.lowerBound..<range.upperBound
    } else {
      append(range)
    }
  }
}
