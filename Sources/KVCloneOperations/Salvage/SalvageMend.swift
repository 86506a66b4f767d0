#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Makes the copied data consistent: removes unreadable values and lists, restores both sides of each relationship, and
/// rebuilds all derived data.
struct SalvageMend {
  /// The number of objects per transaction, so that memory stays flat.
  private static let batchCount = 4096

  let engine: LMDBEngine
  let schema: Schema
  let storeUUID: UUID
  let commit: UInt64
  let run: SalvageRun

  func mend() throws(StoreError) {
    run.steps.begin(.repair)
    try forEachObject { (mend: inout RecordMend, id) throws(StoreError) in try mend.mend(id, run) }
    try forEachObject { (mend: inout LinkMend, id) throws(StoreError) in try mend.mend(id, run) }
    try reportLists()
  }

  /// Visits all objects, in batches with a transaction each; `body` may change everything.
  private func forEachObject<Mend: SessionOwner & ~Copyable>(
    _ body: (inout Mend, ObjectID) throws(StoreError) -> Void
  ) throws(StoreError) {
    for rootCode in schema.rootCodes {
      var next: ObjectID? = ObjectID(rootCode: rootCode, serial: 0)
      while let start = next {
        try run.steps.check()
        let session = try writeSession()
        let ids: [ObjectID]
        (ids, next) = try Self.ids(session, from: start, limit: Self.batchCount)
        var mend = Mend(session)
        for id in ids { try body(&mend, id) }
        try mend.finish().commitStorage()
      }
    }
  }

  /// The next objects of a table, and the one after them.
  private static func ids(
    _ session: borrowing Session, from start: ObjectID, limit: Int
  ) throws(StoreError) -> ([ObjectID], ObjectID?) {
    let schema = session.schema
    guard let table = schema.objectTable(rootCode: start.rootCode) else { return ([], nil) }
    var ids: [ObjectID] = []
    var next: ObjectID?
    let key = ShortKey.object(start)
    try session.storage.scanToEnd(of: table, from: key.bytes) { (key, _) throws(StoreError) in
      let id = try schema.objectID(key)
      if ids.count == limit {
        next = id
        return false
      }
      ids.append(id)
      return true
    }
    return (ids, next)
  }

  func writeSession() throws(StoreError) -> Session {
    StoreContext(uuid: storeUUID, engine: engine).session(
      try engine.beginWrite(label: "salvage", timeout: .zero), schema, commit: commit)
  }

  /// Reports the current members of lists that lost chunks.
  private func reportLists() throws(StoreError) {
    let session = StoreContext(uuid: storeUUID).session(try engine.beginRead(), schema, commit: commit)
    let lists = run.brokenLists.sorted {
      ($0.key.owner, $0.key.relationship) < ($1.key.owner, $1.key.relationship)
    }
    for (list, broken) in lists {
      let relationship = broken.relationship
      let count = try session.count(list.owner, relationship.name)
      if count < broken.expected {
        run.lose(
          .list, object: broken.object, property: relationship.name,
          breaksRule: count < relationship.description.minCount,
          "\(broken.expected - count) of its \(broken.expected) members are lost with a chunk of the list")
      }
      if relationship.isOrdered, broken.foundCount > 0 {
        run.lose(
          .order, object: broken.object, property: relationship.name,
          "the order of \(broken.foundCount) members is lost; they were appended")
      }
    }
  }
}
