package import KVCloneCore
package import KVCloneModel
package import KVCloneRecords

/// A change of ours that a merge makes. The operations of a plan are in the order in which they are made: all objects
/// first, then attributes, links, orders, and deletions in one call at the end (M4).
package enum MergeOperation {
  /// Inserts an object under its id, without links. Blobs are those that theirs shows.
  case insert(ObjectID, CompiledEntity, [Assignment])
  /// Sets attributes.
  case set(ObjectID, CompiledEntity, [Assignment])
  /// Sets a to-one relationship.
  case setTarget(ObjectID, CompiledRelationship, ObjectID?)
  /// Adds and removes members of a to-many relationship; new members of an ordered one get their place later.
  case changeMembers(ObjectID, CompiledRelationship, added: [ObjectID], removed: [ObjectID])
  /// Sets the order of all members of a list.
  case setOrder(ObjectID, CompiledRelationship, [ObjectID])
  /// Deletes objects by the delete rules, which reach no others.
  case delete(ObjectSet)

  /// A stored attribute with its value; nil clears it.
  package struct Assignment: Hashable {
    package let attribute: CompiledAttribute
    package let value: AttributeValue?

    package static func == (left: Self, right: Self) -> Bool {
      left.attribute.code == right.attribute.code && left.value == right.value
    }

    package func hash(into hasher: inout Hasher) {
      hasher.combine(attribute.code)
      hasher.combine(value)
    }
  }
}
