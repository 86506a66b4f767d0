import KVCloneCore
import KVCloneModel

/// Results with their sort keys, and ids as tiebreakers; limited to the required number of results.
struct SortedResults {
  private struct Entry {
    let keys: [QueryValue]
    let id: ObjectID
  }

  private let directions: [Bool]
  /// Whether equal results are in descending order of their ids.
  private let descendsByID: Bool
  private let limit: Int?
  /// Without a limit, in the order of insertion. With one, a heap with the last of the kept results as its first
  /// element.
  private var entries: [Entry] = []

  init(_ directions: [Bool], descendsByID: Bool = false, limit: Int?) {
    self.directions = directions
    self.descendsByID = descendsByID
    self.limit = limit
  }

  /// The first sort key of the last kept result, once the limit is reached.
  var lastKey: QueryValue? {
    guard let limit, entries.count >= limit else { return nil }
    return entries.first?.keys[0]
  }

  /// Whether a result with this first key sorts behind all kept results, so its other keys need not be computed.
  func isBehindAll(_ key: QueryValue) -> Bool {
    guard let limit, entries.count >= limit, let last = entries.first else { return false }
    switch key.sortOrder(against: last.keys[0]) {
    case .same: return false
    case .less: return !directions[0]
    case .greater: return directions[0]
    }
  }

  /// Inserts a result; returns whether it is kept.
  @discardableResult
  mutating func insert(_ keys: [QueryValue], _ id: ObjectID) -> Bool {
    let entry = Entry(keys: keys, id: id)
    guard let limit, entries.count >= limit else {
      entries.append(entry)
      if limit != nil { moveUp(entries.count - 1) }
      return true
    }
    guard let last = entries.first, precedes(entry, last) else { return false }
    entries[0] = entry
    moveDown(0)
    return true
  }

  /// The ids in order.
  var ids: [ObjectID] { entries.sorted { precedes($0, $1) }.map(\.id) }

  private func precedes(_ left: Entry, _ right: Entry) -> Bool {
    for (index, ascending) in directions.enumerated() {
      switch left.keys[index].sortOrder(against: right.keys[index]) {
      case .same: continue
      case .less: return ascending
      case .greater: return !ascending
      }
    }
    return descendsByID ? left.id > right.id : left.id < right.id
  }

  /// Whether a result with these keys sorts behind a place between results.
  func isBeyond(_ place: ResultPosition, _ keys: [QueryValue], _ id: ObjectID) -> Bool {
    precedes(Entry(keys: place.keys, id: place.id), Entry(keys: keys, id: id))
  }

  private mutating func moveUp(_ index: Int) {
    var index = index
    while index > 0 {
      let parent = (index - 1) / 2
      guard precedes(entries[parent], entries[index]) else { return }
      entries.swapAt(parent, index)
      index = parent
    }
  }

  private mutating func moveDown(_ index: Int) {
    var index = index
    while true {
      var last = index
      for child in [2 * index + 1, 2 * index + 2] where child < entries.count && precedes(entries[last], entries[child])
      {
        last = child
      }
      if last == index { return }
      entries.swapAt(index, last)
      index = last
    }
  }
}
