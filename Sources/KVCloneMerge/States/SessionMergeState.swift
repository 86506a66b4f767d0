package import KVCloneCore
package import KVCloneModel
import KVCloneRecords

/// A state of a merge that a session shows: the store, a branch or a snapshot.
package final class SessionMergeState: MergeState {
  private let session: Session
  /// The author and time of a commit, from the history; nil for a commit that it lacks.
  private let change: (UInt64) throws(StoreError) -> ObjectChange?
  /// The commit that deleted an object, from the history; nil if it lacks that.
  private let deletion: (ObjectID) throws(StoreError) -> ObjectChange?

  /// - Parameters:
  ///   - deletion: returns the commit that deleted an object.
  ///   - change: returns the author and time of a commit.
  package init(
    _ session: consuming Session, deletion: @escaping (ObjectID) throws(StoreError) -> ObjectChange? = { _ in nil },
    change: @escaping (UInt64) throws(StoreError) -> ObjectChange? = { _ in nil }
  ) {
    self.session = session
    self.deletion = deletion
    self.change = change
  }

  /// Calls `body` with the session: what it reads is valid during the call.
  private func read<Result>(_ body: (borrowing Session) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try body(session)
  }

  package func entity(of id: ObjectID) throws(StoreError) -> CompiledEntity? {
    try read { (session) throws(StoreError) in
      guard let view = try session.record(id) else { return nil }
      return try session.schema.entity(of: view, id: id)
    }
  }

  package func values(of id: ObjectID, _ entity: CompiledEntity) throws(StoreError) -> [AttributeValue?] {
    try read { (session) throws(StoreError) in
      let view = try session.existingRecord(id)
      var values: [AttributeValue?] = []
      values.reserveCapacity(entity.attributes.count)
      for attribute in entity.attributes {
        values.append(try entity.value(of: attribute, in: view, id: id, schema: session.schema))
      }
      return values
    }
  }

  package func members(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> [ObjectID] {
    try read { (session) throws(StoreError) in
      // A subentity has an inherited relationship at another place of its records.
      let entity = try session.entity(of: id)
      guard let index = entity.relationshipIndexByCode[relationship.code] else { return [] }
      return try session.members(id, entity.relationships[index])
    }
  }

  package func storedMemberCount(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> Int {
    try read { (session) throws(StoreError) in
      let view = try session.existingRecord(id)
      guard let field = view.layout.fieldIndex(ofProperty: relationship.code) else { return 0 }
      return relationship.isToMany ? view.head(field).count : view.toOne(field) == nil ? 0 : 1
    }
  }

  package func hasMember(
    _ member: ObjectID, _ id: ObjectID, _ relationship: CompiledRelationship
  ) throws(StoreError) -> Bool {
    try read { (session) throws(StoreError) in
      let view = try session.existingRecord(id)
      guard let field = view.layout.fieldIndex(ofProperty: relationship.code) else { return false }
      guard relationship.isToMany else { return view.toOne(field) == member }
      let head = view.head(field)
      guard head.isChunked else { return view.inlineIDs(field).firstIndex(of: member) != nil }
      let list = session.address(id, relationship.code)
      return relationship.isOrdered
        ? try session.storage.containsOrdered(list, member, head: head)
        : try session.storage.containsUnordered(list, member)
    }
  }

  package func referrers(of id: ObjectID, _ code: UInt16) throws(StoreError) -> [ObjectID] {
    try read { (session) throws(StoreError) in try session.referrers(id, code) }
  }

  package func holders(of constraint: CompiledConstraint, _ key: UniqueKey) throws(StoreError) -> [ObjectID] {
    try read { (session) throws(StoreError) in
      var found: [ObjectID] = []
      let tables = session.schema.tables
      try session.storage.scan(tables.indexes, within: key.bytes.span.bytes) { (entry, _) throws(StoreError) in
        do throws(RecordError) {
          guard try IndexKey.values(of: copy entry).isEqual(to: key.bytes) else { return false }
          found.append(try IndexKey.objectID(of: copy entry))
        } catch {
          throw StoreError(.corrupted, "an index has a malformed key; run `check` to see the extent")
        }
        return true
      }
      guard let values = key.truncated else { return found }
      var holders: [ObjectID] = []
      for id in found {
        let view = try session.existingRecord(id)
        let entity = try session.schema.entity(of: view, id: id)
        if try constraint.values(entity, view, id, session.schema) == values { holders.append(id) }
      }
      return holders
    }
  }

  package func digest(of blob: BlobReference) throws(StoreError) -> UInt64 {
    try read { (session) throws(StoreError) in
      try session.storage.existingBlobInfo(session.blobTables, blob.id).digest
    }
  }

  package func lastChange(of id: ObjectID) throws(StoreError) -> ObjectChange? {
    let commit = try read { (session) throws(StoreError) -> UInt64? in
      guard let table = session.schema.objectTable(rootCode: id.rootCode) else { return nil }
      let key = ShortKey.object(id)
      guard let bytes = try session.storage.get(table, key.bytes) else { return nil }
      do throws(RecordError) {
        return try RecordView.commit(of: bytes)
      } catch {
        throw session.schema.corrupted(id, error)
      }
    }
    guard let commit else { return try deletion(id) }
    return try change(commit)
  }
}
