package import KVCloneCore
package import KVCloneModel
import KVCloneRecords

/// A state of the objects that a merge reads: of the store, of a branch, or of clones under the ids of their sources.
///
/// All states of a merge have the same schema.
package protocol MergeState {
  /// Returns the concrete entity of an object; nil if the state has no such object.
  func entity(of id: ObjectID) throws(StoreError) -> CompiledEntity?
  /// Returns the stored values of an existing object, by index of `CompiledEntity.attributes`; nil for transient ones.
  func values(of id: ObjectID, _ entity: CompiledEntity) throws(StoreError) -> [AttributeValue?]
  /// Returns the members of a relationship of an existing object in their stored order; at most one for a to-one
  /// relationship.
  func members(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> [ObjectID]
  /// Returns the number of members of a relationship of an existing object, hidden ones included.
  func storedMemberCount(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> Int
  /// Returns the members of a relationship that the state hides. In a draft, a link between a source and a clone is
  /// hidden from ours, which returns the clone's source; one from an object outside to a source is hidden from theirs.
  func hiddenMembers(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> [ObjectID]
  /// Returns the objects that refer to an object through a relationship without an inverse, and that the state hides: in
  /// a draft, clones from ours, which returns their sources, and sources from theirs.
  func hiddenReferrers(of id: ObjectID, _ code: UInt16) throws(StoreError) -> [ObjectID]
  /// Returns whether a relationship of an existing object has a member.
  func hasMember(_ member: ObjectID, _ id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> Bool
  /// Returns the objects that refer to an object through a relationship without an inverse, by its hidden code.
  func referrers(of id: ObjectID, _ code: UInt16) throws(StoreError) -> [ObjectID]
  /// Returns the objects with an index entry of these values under a constraint.
  func holders(of constraint: CompiledConstraint, _ key: UniqueKey) throws(StoreError) -> [ObjectID]
  /// Returns the digest of a blob that the state shows.
  func digest(of blob: BlobReference) throws(StoreError) -> UInt64
  /// Returns the commit that last changed or deleted an object; nil if the state does not know it (M15).
  func lastChange(of id: ObjectID) throws(StoreError) -> ObjectChange?
}

extension MergeState {
  package func hasMember(_ member: ObjectID, _ id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError)
    -> Bool
  {
    try members(of: id, relationship).contains(member)
  }

  package func lastChange(of id: ObjectID) throws(StoreError) -> ObjectChange? { nil }

  package func storedMemberCount(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> Int {
    try members(of: id, relationship).count
  }

  package func hiddenMembers(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> [ObjectID] {
    []
  }

  package func hiddenReferrers(of id: ObjectID, _ code: UInt16) throws(StoreError) -> [ObjectID] { [] }
}

extension MergeState {
  /// Returns the members of a relationship; empty if the object does not exist, or its entity lacks the relationship.
  func membersIfPresent(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> [ObjectID] {
    guard let entity = try entity(of: id), entity.relationshipIndexByCode[relationship.code] != nil else { return [] }
    return try members(of: id, relationship)
  }

  /// Returns the target of a to-one relationship; nil also for an object that does not exist.
  func target(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> ObjectID? {
    try membersIfPresent(of: id, relationship).first
  }
}

/// The values of an object under a uniqueness constraint, as its index compares them.
package struct UniqueKey: Hashable {
  /// The bytes of the index entry without the object's id.
  package let bytes: [UInt8]
  /// The values themselves; nil if the bytes contain them completely.
  package let truncated: [AttributeValue?]?

  /// - Returns: nil if a value is nil, which never conflicts (R24), or of a kind that no key can hold.
  package init?(_ constraint: CompiledConstraint, _ values: [AttributeValue?]) {
    guard let builder = constraint.builder(for: values) else { return nil }
    bytes = builder.bytes
    truncated = builder.isTruncated ? values : nil
  }
}
