package import KVCloneCore
package import KVCloneModel
import KVCloneRecords

/// The objects that one clone created, as ranges of serials: a clone numbers those of a root entity consecutively.
package struct CreatedClones: Sendable {
  private var ranges: [UInt16: ClosedRange<UInt64>] = [:]

  package init() {}

  package mutating func insert(_ id: ObjectID) {
    let range = ranges[id.rootCode] ?? id.serial...id.serial
    ranges[id.rootCode] = min(range.lowerBound, id.serial)...max(range.upperBound, id.serial)
  }

  /// The number of serials in the ranges. If it is the number of clones, no other object is in them: an attempt that
  /// was repeated leaves a gap, which can have objects of other transactions.
  package var span: UInt64 { ranges.values.reduce(0) { $0 + ($1.upperBound - $1.lowerBound + 1) } }

  /// Returns the objects that still exist, in ascending order of their ids.
  fileprivate func remaining(in session: borrowing Session) throws(StoreError) -> ObjectSet {
    var found = ObjectSet()
    for (rootCode, range) in ranges {
      guard session.schema.objectTable(rootCode: rootCode) != nil else { continue }
      for serial in range {
        let id = ObjectID(rootCode: rootCode, serial: serial)
        if try session.exists(id) { _ = found.insert(id) }
      }
    }
    return found
  }

  /// Returns the number of objects that still exist.
  package func count<Reader: ObjectReading & ~Copyable>(in transaction: borrowing Reader) throws(StoreError) -> Int {
    try transaction._withSession { (session) throws(StoreError) in try remaining(in: session).count }
  }
}

extension WriteTransaction {
  /// Deletes exactly the objects of a clone that still exist, without the delete rules of the model: these would also
  /// delete shared objects, or refuse the delete because of them. Links of other objects to them are removed.
  ///
  /// - Returns: the number of deleted objects.
  /// - Throws: `corrupted` and other ``StoreError``. The commit validates the objects that lose links.
  package mutating func delete(_ clones: CreatedClones) throws(StoreError) -> Int {
    try changeObjects { (session) throws(StoreError) in
      let ids = try clones.remaining(in: session)
      return try ObjectDeletion.deleteAll(ids, validatesAll: true, in: &session)
    }
  }
}
