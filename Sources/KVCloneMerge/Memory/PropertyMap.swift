package import KVCloneCore
package import KVCloneLMDB
package import KVCloneModel
package import KVCloneRecords

/// A property of an object: a relationship by its code, or an attribute by its index in the entity.
package struct PropertyPlace: Hashable, BitwiseCopyable {
  private let rawOwner: UInt64
  package let code: UInt16

  package init(owner: ObjectID, code: UInt16) {
    rawOwner = owner.rawValue
    self.code = code
  }

  package var owner: ObjectID { ObjectID(rawValue: rawOwner) }
}

/// A value for each of many properties of objects, which may exceed memory. A reference type.
package final class PropertyMap<Value: BitwiseCopyable> {
  /// The objects with values. Iterating them, and the properties of each, visits all values in ascending order.
  package private(set) var owners = ObjectSet()
  private let values: ScratchMap<PropertyPlace, Value>

  package init(in space: ScratchSpace) { values = ScratchMap(in: space) }

  package var isEmpty: Bool { values.isEmpty }

  package subscript(place: PropertyPlace) -> Value? { values[place] }

  package func set(_ place: PropertyPlace, to value: Value) throws(StoreError) {
    _ = owners.insert(place.owner)
    try values.set(place, to: value)
  }

  package func contains(_ place: PropertyPlace) -> Bool { values[place] != nil }
}

/// Properties of objects, which may exceed memory. A reference type.
package final class PropertySet {
  private let map: PropertyMap<Bool>

  package init(in space: ScratchSpace) { map = PropertyMap(in: space) }

  /// The objects with such properties.
  package var owners: ObjectSet { map.owners }
  package var isEmpty: Bool { map.isEmpty }

  package func insert(_ place: PropertyPlace) throws(StoreError) { try map.set(place, to: true) }

  package func contains(_ place: PropertyPlace) -> Bool { map.contains(place) }
}
