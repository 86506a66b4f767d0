import KVCloneCore
import KVCloneLMDB
package import KVCloneModel
package import KVCloneRecords

/// The attributes that the result has and ours has not, by index in the entity. A reference type.
package final class MergedAttributes {
  private let addresses: PropertyMap<UInt64>
  private let records: ScratchRecords

  init(in space: ScratchSpace) {
    addresses = PropertyMap(in: space)
    records = ScratchRecords(in: space)
  }

  /// The objects with such attributes.
  package var owners: ObjectSet { addresses.owners }

  func set(_ index: Int, of id: ObjectID, to value: AttributeValue?) throws(StoreError) {
    try addresses.set(PropertyPlace(owner: id, code: UInt16(index)), to: records.end)
    try records.append(value)
  }

  /// The value of an attribute; nil if it is that of ours.
  package func value(_ index: Int, of id: ObjectID) -> AttributeValue?? {
    guard owners.contains(id), let address = addresses[PropertyPlace(owner: id, code: UInt16(index))] else {
      return nil
    }
    var reader = records.reader(at: address)
    return .some(reader.value())
  }
}
