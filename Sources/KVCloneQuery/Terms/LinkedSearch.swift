import KVCloneCore
import KVCloneModel

/// A search for objects by the target of a relationship: an index finds the targets, and their inverse lists are
/// examined.
struct LinkedSearch: Sendable {
  /// The destination entity of the relationship.
  let entity: CompiledEntity
  let scan: IndexScan
  /// The objects found by the index, by ascending id.
  let found: [ObjectID]
  /// The inverse relationship.
  let inverse: QueryLink
}
