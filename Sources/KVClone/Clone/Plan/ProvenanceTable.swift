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
    try _withSession { (session) throws(StoreError) in try ProvenanceTable.entry(of: id, in: session) }
  }
}

/// The provenance of clones (R33): a table with one entry per clone, which is deleted with the clone.
enum ProvenanceTable {
  fileprivate static func entry(of id: ObjectID, in session: borrowing Session) throws(StoreError) -> CloneProvenance? {
    guard try session.exists(id) else { throw session.schema.notFound(id) }
    let key = ShortKey.object(id)
    guard let value = try session.storage.get(session.schema.tables.provenance, key.bytes) else { return nil }
    do throws(RecordError) {
      let entry = try ProvenanceValue(stored: value, seed: ValueEnvelope.seed(tableCode: .provenance, objectID: id))
      return CloneProvenance(
        source: entry.source, sourceCommit: entry.commit, cloneCommit: entry.operation, sourceStore: entry.store)
    } catch {
      let name = try session.name(of: id)
      throw StoreError(
        .corrupted, "the provenance entry of \(name) is corrupted: \(error) Run `check` to see the extent",
        object: name)
    }
  }

  /// Writes the entry of a clone.
  ///
  /// - Parameter isHighest: whether the entry comes after all others.
  static func write(
    _ entry: ProvenanceValue, of clone: ObjectID, isHighest: Bool = false, in session: inout Session
  ) throws(StoreError) {
    let key = ShortKey.object(clone)
    let value = entry.encoded(seed: ValueEnvelope.seed(tableCode: .provenance, objectID: clone))
    if isHighest {
      try session.storage.append(session.schema.tables.provenance, key.bytes, value.span.bytes)
    } else {
      try session.storage.put(session.schema.tables.provenance, key.bytes, value.span.bytes)
    }
    session.state.hasProvenance = true
  }

  /// Writes the entries of all clones of an operation.
  ///
  /// - Parameters:
  ///   - store: the store that was cloned from, or nil for the same store.
  ///   - base: the number of the base that the clones keep; nil for none.
  /// - Returns: the serials of the clones, by root code.
  @discardableResult
  static func writeAll(
    of clone: CloneContext, sourceCommit: UInt64, store: UUID?, base: UInt32? = nil, in session: inout Session
  ) throws -> [UInt16: ClosedRange<UInt64>] {
    var serials: [UInt16: ClosedRange<UInt64>] = [:]
    for set in clone.mark.set.roots {
      guard let first = set.next(from: 0) else { continue }
      var isHighest: Bool?
      for copy in 0..<clone.copies {
        var next: UInt64? = first
        var place = 0
        var done = 0
        while let serial = next {
          let source = ObjectID(rootCode: set.rootCode, serial: serial)
          guard let id = clone.cloneID(of: source, copy: copy) else { throw clone.schema.notFound(source) }
          let appends = try isHighest ?? isAboveAll(id, in: session)
          isHighest = appends
          let draft = base.map { ProvenanceValue.Draft(base: $0, copy: UInt32(copy)) }
          let value = ProvenanceValue(
            source: source, commit: sourceCommit, operation: session.commit, store: store, draft: draft)
          let known = serials[id.rootCode] ?? id.serial...id.serial
          serials[id.rootCode] = min(known.lowerBound, id.serial)...max(known.upperBound, id.serial)
          try write(value, of: id, isHighest: appends, in: &session)
          next = set.next(from: serial + 1, &place)
          done += 1
          if done & 1023 == 0 { try clone.cancellation.check() }
        }
      }
    }
    return serials
  }

  /// Whether a clone's entry comes after all existing ones, as it does if the highest root entity is cloned, or the
  /// only one.
  private static func isAboveAll(_ clone: ObjectID, in session: borrowing Session) throws(StoreError) -> Bool {
    let last = ShortKey.object(ObjectID(rawValue: .max))
    guard let entry = try session.storage.seek(session.schema.tables.provenance, last.bytes, .atOrBefore) else {
      return true
    }
    return (try? NumberKey.objectID(entry.key)).map { $0 < clone } ?? false
  }
}
