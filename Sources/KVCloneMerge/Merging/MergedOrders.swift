import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// The lists with another order than that of ours. A reference type.
final class MergedOrders {
  private let addresses: PropertyMap<UInt64>
  private let records: ScratchRecords

  init(in space: ScratchSpace) {
    addresses = PropertyMap(in: space)
    records = ScratchRecords(in: space)
  }

  /// The objects with such lists.
  var owners: ObjectSet { addresses.owners }

  func set(_ place: PropertyPlace, to members: [ObjectID]) throws(StoreError) {
    try addresses.set(place, to: records.end)
    try records.append(members)
  }

  subscript(place: PropertyPlace) -> [ObjectID]? {
    addresses[place].map { address in
      var reader = records.reader(at: address)
      return reader.ids()
    }
  }
}
