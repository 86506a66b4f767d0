import KVCloneModel

/// The pairs of source and destination objects of an entity mapping: sixteen bytes a pair.
final class MigrationAssociations {
  private struct Pair {
    let source: UInt64
    let destination: UInt64
  }

  /// In order of creation.
  private var pairs: [Pair] = []
  /// Sorted by source and destination, if the pairs are not created in that order; created on first use.
  private var bySource: [Pair] = []
  private var byDestination: [Pair] = []

  // Most mappings create pairs in this order: then nothing has to be sorted, and lookups between two additions are
  // cheap.
  private var isBySource = true
  private var isByDestination = true

  var count: Int { pairs.count }

  func add(_ source: ObjectID, _ destination: ObjectID) {
    if let last = pairs.last {
      if source.rawValue < last.source { isBySource = false }
      if destination.rawValue < last.destination { isByDestination = false }
    }
    pairs.append(Pair(source: source.rawValue, destination: destination.rawValue))
  }

  /// A pair by its index in order of creation.
  subscript(index: Int) -> (source: ObjectID, destination: ObjectID) {
    (ObjectID(rawValue: pairs[index].source), ObjectID(rawValue: pairs[index].destination))
  }

  func destinations(of source: ObjectID) -> [ObjectID] {
    if !isBySource, bySource.count != pairs.count {
      // Pairs of one source stay in their order.
      bySource = pairs.enumerated().sorted { ($0.element.source, $0.offset) < ($1.element.source, $1.offset) }
        .map(\.element)
    }
    return Self.run(isBySource ? pairs : bySource, \.source, source.rawValue).map { ObjectID(rawValue: $0.destination) }
  }

  func sources(of destination: ObjectID) -> [ObjectID] {
    if !isByDestination, byDestination.count != pairs.count {
      byDestination = pairs.sorted { $0.destination < $1.destination }
    }
    return Self.run(isByDestination ? pairs : byDestination, \.destination, destination.rawValue)
      .map { ObjectID(rawValue: $0.source) }
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
