import Foundation
import KVClone
import KVCloneCore

/// The operations of other clients.
extension StoreOracle {
  /// Repeats an operation that a client has committed; a snapshot changes nothing.
  ///
  /// - Throws: ``StoreDifference`` if the operation inserts an object under the id of another one.
  package mutating func repeatOperation(_ operation: SharedOperations.Operation) throws {
    func ids(_ values: [UInt64]) -> [ObjectID] { values.map { ObjectID(rawValue: $0) } }
    switch operation {
    case .insert(let value, let entity, let name):
      let id = ObjectID(rawValue: value)
      guard objects[id] == nil else { throw StoreDifference("the id \(id) was given twice") }
      insert(id, entity, entity == "Tag" ? [:] : [entity == "Note" ? "text" : "name": .string(name)])
    case .setName(let id, let name): set(ObjectID(rawValue: id), "name", .string(name))
    case .setCode(let id, let code): set(ObjectID(rawValue: id), "code", code.map { .integer($0) })
    case .setData(let id, let count, let byte):
      set(ObjectID(rawValue: id), "data", .binary(Data(repeating: byte, count: count)))
    case .link(let id, let name, let targets): link(ObjectID(rawValue: id), name, ids(targets))
    case .unlink(let id, let name, let targets): unlink(ObjectID(rawValue: id), name, ids(targets))
    case .setMembers(let id, let name, let targets): setMembers(ObjectID(rawValue: id), name, ids(targets))
    case .delete(let targets): _ = try delete(ids(targets))
    case .snapshot: break
    }
  }
}
