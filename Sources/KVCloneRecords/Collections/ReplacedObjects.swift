package import KVCloneModel
import Synchronization

/// The objects that were replaced by others in a transaction, for use after it.
package final class ReplacedObjects: Sendable {
  private let replaced = Mutex<[ObjectID: ObjectID]>([:])

  package init() {}

  /// All replaced objects so far, for savepoints.
  package var all: [ObjectID: ObjectID] { replaced.withLock { $0 } }

  package func restore(_ all: [ObjectID: ObjectID]) { replaced.withLock { $0 = all } }

  package func note(_ others: [ObjectID: ObjectID]) { replaced.withLock { $0.merge(others) { $1 } } }

  /// The object that finally replaces an object.
  package func last(from id: ObjectID) -> ObjectID { replaced.withLock { $0.last(from: id) } }
}

extension [ObjectID: ObjectID] {
  /// Follows the chain of replacements to its end.
  package func last(from id: ObjectID) -> ObjectID {
    var last = id
    while let next = self[last] { last = next }
    return last
  }
}
