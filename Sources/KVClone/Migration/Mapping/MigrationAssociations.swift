import KVCloneModel

/// Which objects of the destination an entity mapping has made of which of the source: sixteen bytes a pair.
final class MigrationAssociations {
  private struct Pair {
    let source: UInt64
    let destination: UInt64
  }

  /// In the order in which they came.
  private var pairs: [Pair] = []
  /// The same, by source and by destination; made when somebody asks.
  private var bySource: [Pair] = []
  private var byDestination: [Pair] = []

  var count: Int { pairs.count }

  func add(_ source: ObjectID, _ destination: ObjectID) {
    pairs.append(Pair(source: source.rawValue, destination: destination.rawValue))
  }

  /// A pair by its place in the order in which they came.
  subscript(index: Int) -> (source: ObjectID, destination: ObjectID) {
    (ObjectID(rawValue: pairs[index].source), ObjectID(rawValue: pairs[index].destination))
  }

  func destinations(of source: ObjectID) -> [ObjectID] {
    if bySource.count != pairs.count {
      // Mostly they come in this order, and those of one source stay in theirs.
      bySource = pairs
      let isSorted = zip(pairs, pairs.dropFirst()).allSatisfy { $0.source <= $1.source }
      if !isSorted {
        bySource = pairs.enumerated().sorted { ($0.element.source, $0.offset) < ($1.element.source, $1.offset) }
          .map(\.element)
      }
    }
    return Self.run(bySource, \.source, source.rawValue).map { ObjectID(rawValue: $0.destination) }
  }

  func sources(of destination: ObjectID) -> [ObjectID] {
    if byDestination.count != pairs.count { byDestination = pairs.sorted { $0.destination < $1.destination } }
    return Self.run(byDestination, \.destination, destination.rawValue).map { ObjectID(rawValue: $0.source) }
  }

  private static func run(_ pairs: [Pair], _ key: KeyPath<Pair, UInt64>, _ wanted: UInt64) -> ArraySlice<Pair> {
    var low = 0
    var high = pairs.count
    while low < high {
      let middle = (low + high) / 2
      if pairs[middle][keyPath: key] < wanted { low = middle + 1 } else { high = middle }
    }
    var end = low
    while end < pairs.count, pairs[end][keyPath: key] == wanted { end += 1 }
    return pairs[low..<end]
  }
}
