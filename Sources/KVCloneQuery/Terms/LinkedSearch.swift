import KVCloneCore
import KVCloneModel

/// Objects whose relationship has to lead to one of others, where an index tells those others: they are looked up, and
/// what they lead back to is looked at.
struct LinkedSearch: Sendable {
  /// The entity that the relationship leads to.
  let entity: CompiledEntity
  let scan: IndexScan
  /// What the index has, by ascending id.
  let found: [ObjectID]
  /// The relationship on the other side.
  let inverse: QueryLink
}
