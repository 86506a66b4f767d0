package import KVCloneModel
import Synchronization

/// Objects that gave way to others in a transaction, to be looked at after it.
package final class ReplacedObjects: Sendable {
  private let replaced = Mutex<[ObjectID: ObjectID]>([:])

  package init() {}

  /// All that gave way so far, for savepoints.
  var all: [ObjectID: ObjectID] { replaced.withLock { $0 } }

  func restore(_ all: [ObjectID: ObjectID]) { replaced.withLock { $0 = all } }

  func note(_ others: [ObjectID: ObjectID]) { replaced.withLock { $0.merge(others) { $1 } } }

  /// The object that has an object's place.
  package func last(from id: ObjectID) -> ObjectID { replaced.withLock { $0.last(from: id) } }
}

extension [ObjectID: ObjectID] {
  /// Of objects with those that they gave way to, the one that has an object's place in the end.
  package func last(from id: ObjectID) -> ObjectID {
    var last = id
    while let next = self[last] { last = next }
    return last
  }
}
