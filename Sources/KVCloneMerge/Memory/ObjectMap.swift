package import KVCloneCore
package import KVCloneLMDB
package import KVCloneModel
package import KVCloneRecords

/// An object for each of many objects, which may exceed memory. A reference type.
package final class ObjectMap {
  /// The objects with values.
  package private(set) var keys = ObjectSet()
  private let values: ScratchMap<UInt64, UInt64>

  package init(in space: ScratchSpace) { values = ScratchMap(in: space) }

  package var count: Int { values.count }
  package var isEmpty: Bool { values.isEmpty }

  package subscript(id: ObjectID) -> ObjectID? {
    keys.contains(id) ? values[id.rawValue].map(ObjectID.init(rawValue:)) : nil
  }

  package func set(_ id: ObjectID, to value: ObjectID) throws(StoreError) {
    _ = keys.insert(id)
    try values.set(id.rawValue, to: value.rawValue)
  }
}
