import KVClone

extension Sequence where Element: Hashable {
  /// The elements without those that occurred before: what is named twice in a list counts once.
  func withoutRepeats() -> [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }
}

extension ObjectReading where Self: ~Copyable {
  /// The objects that arguments name, each once, in the order given: `Note/1` and its URI are one object.
  borrowing func objectIDs(named names: [String]) throws(StoreError) -> [ObjectID] {
    var ids: [ObjectID] = []
    for name in names { ids.append(try objectID(named: name)) }
    return ids.withoutRepeats()
  }
}
