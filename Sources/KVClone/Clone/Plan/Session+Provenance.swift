#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
public import KVCloneCore
public import KVCloneModel
import KVCloneRecords

extension ObjectReading where Self: ~Copyable {
  /// Returns the source of a clone that was created with ``CloneOptions/recordsProvenance`` (R33); nil for other
  /// objects.
  ///
  /// - Throws: `objectNotFound` if the object does not exist; `corrupted` if the entry is unreadable.
  public borrowing func provenance(of id: ObjectID) throws(StoreError) -> CloneProvenance? {
    try _withSession { (session) throws(StoreError) in try session.provenance(of: id) }
  }
}

/// Provenance (R33): a table of its own, one entry for a clone, which goes when the clone goes.
extension Session {
  borrowing func provenance(of id: ObjectID) throws(StoreError) -> CloneProvenance? {
    guard try exists(id) else { throw schema.notFound(id) }
    let key = ShortKey.object(id)
    guard let value = try storage.get(schema.tables.provenance, key.bytes) else { return nil }
    do throws(RecordError) {
      let entry = try ProvenanceValue(stored: value, seed: ValueEnvelope.seed(tableCode: .provenance, objectID: id))
      return CloneProvenance(
        source: entry.source, sourceCommit: entry.commit, cloneCommit: entry.operation, sourceStore: entry.store)
    } catch {
      let name = try name(of: id)
      throw StoreError(
        .corrupted, "the provenance entry of \(name) is corrupted: \(error) Run `check` to see the extent",
        object: name)
    }
  }

  /// Remembers what a clone was made from.
  mutating func noteProvenance(_ clone: ObjectID, _ entry: ProvenanceValue, isHighest: Bool) throws(StoreError) {
    let key = ShortKey.object(clone)
    let value = entry.encoded(seed: ValueEnvelope.seed(tableCode: .provenance, objectID: clone))
    if isHighest {
      try storage.append(schema.tables.provenance, key.bytes, value.span.bytes)
    } else {
      try storage.put(schema.tables.provenance, key.bytes, value.span.bytes)
    }
    changes.hasProvenance = true
  }

  /// Whether a clone's entry comes after all that there are: so it is where the highest root entity is cloned, or the
  /// only one.
  borrowing func isAboveAllProvenance(_ clone: ObjectID) throws(StoreError) -> Bool {
    let last = ShortKey.object(ObjectID(rawValue: .max))
    guard let entry = try storage.seek(schema.tables.provenance, last.bytes, .atOrBefore) else { return true }
    return (try? NumberKey.objectID(entry.key)).map { $0 < clone } ?? false
  }
}
