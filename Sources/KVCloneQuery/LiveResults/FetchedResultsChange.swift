public import KVCloneCore
public import KVCloneModel

/// A change of the results of a request: the current results and the difference from the previous ones, like the
/// callbacks of Core Data's `NSFetchedResultsController`.
public struct FetchedResultsChange: Sendable, Hashable {
  /// An inserted, deleted or updated object with its index.
  public struct Position: Sendable, Hashable {
    /// The id of the object.
    public let id: ObjectID
    /// The index of the object in the current results; for deleted objects, in the previous results.
    public let index: Int
  }

  /// A remaining object with a new position relative to the other remaining objects.
  public struct Move: Sendable, Hashable {
    /// The id of the object.
    public let id: ObjectID
    /// The index in the previous results.
    public let from: Int
    /// The index in the current results.
    public let to: Int
  }

  /// The ids of the current results, in the order of the request.
  public let ids: [ObjectID]
  /// The position of the current results in the history of the store.
  public let token: HistoryToken
  /// Whether these are the first results. All objects are then in ``inserted``.
  public let isInitial: Bool
  /// Objects that left the results, with their previous indices, ascending.
  public let deleted: [Position]
  /// Objects that entered the results, with their current indices, ascending.
  public let inserted: [Position]
  /// The smallest set of moves that explains the new order of the remaining objects, ascending by current index.
  public let moved: [Move]
  /// Remaining objects that were written, with their current indices, ascending. Moved objects may be among them.
  public let updated: [Position]

  /// Whether the change contains no differences.
  public var isEmpty: Bool { deleted.isEmpty && inserted.isEmpty && moved.isEmpty && updated.isEmpty }

  /// The difference between two lists without duplicates.
  ///
  /// - Parameter isUpdated: whether an object was written in between; called for each that is in both.
  init(
    from old: [ObjectID], to ids: [ObjectID], token: HistoryToken, isInitial: Bool = false,
    isUpdated: (ObjectID) -> Bool
  ) {
    self.ids = ids
    self.token = token
    self.isInitial = isInitial
    let places = Dictionary(zip(old, old.indices), uniquingKeysWith: { first, _ in first })
    var stayed: [Move] = []
    var inserted: [Position] = []
    var updated: [Position] = []
    for (index, id) in ids.enumerated() {
      guard let from = places[id] else {
        inserted.append(Position(id: id, index: index))
        continue
      }
      stayed.append(Move(id: id, from: from, to: index))
      if isUpdated(id) { updated.append(Position(id: id, index: index)) }
    }
    var isGone = Array(repeating: true, count: old.count)
    for move in stayed { isGone[move.from] = false }
    deleted = old.indices.filter { isGone[$0] }.map { Position(id: old[$0], index: $0) }
    self.inserted = inserted
    self.updated = updated
    moved = Self.moves(stayed)
  }

  /// The remaining objects in both lists, without a longest subsequence that kept its order.
  private static func moves(_ stayed: [Move]) -> [Move] {
    // Patience sorting: by length, the ends of the subsequences with the lowest ends, each with its predecessor.
    var ends: [Int] = []
    var previous = Array(repeating: -1, count: stayed.count)
    for index in stayed.indices {
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if stayed[ends[middle]].from < stayed[index].from { low = middle + 1 } else { high = middle }
      }
      if low > 0 { previous[index] = ends[low - 1] }
      if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    if ends.count == stayed.count { return [] }
    var isInOrder = Array(repeating: false, count: stayed.count)
    var index = ends.last ?? -1
    while index >= 0 {
      isInOrder[index] = true
      index = previous[index]
    }
    return stayed.indices.filter { !isInOrder[$0] }.map { stayed[$0] }
  }

  /// Applies the change to a list with one element per result.
  ///
  /// Deleted and moved elements are removed by their previous indices from the end. Inserted and moved elements are
  /// then inserted by their current indices from the start.
  ///
  /// - Parameters:
  ///   - list: the elements of the previous results, in their order.
  ///   - insert: creates the element of an inserted object.
  /// - Throws: the error of `insert`; the list is unchanged then.
  public func apply<Element>(to list: inout [Element], insert: (ObjectID) throws -> Element) rethrows {
    var arriving = try inserted.map { (index: $0.index, element: try insert($0.id)) }
    for move in moved { arriving.append((move.to, list[move.from])) }
    arriving.sort { $0.index < $1.index }
    let leaving = Set(deleted.map(\.index) + moved.map(\.from))
    var kept = list.enumerated().filter { !leaving.contains($0.offset) }.map(\.element).makeIterator()
    var result: [Element] = []
    result.reserveCapacity(ids.count)
    for (index, element) in arriving {
      while result.count < index, let next = kept.next() { result.append(next) }
      result.append(element)
    }
    while let next = kept.next() { result.append(next) }
    list = result
  }
}
