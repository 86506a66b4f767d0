public import KVCloneModel

/// What has become of the results of a request: the results, and how they differ from those before, as Core Data's
/// `NSFetchedResultsController` tells it.
public struct FetchedResultsChange: Sendable, Hashable {
  /// An object that came or went, with its index.
  public struct Position: Sendable, Hashable {
    /// The object.
    public let id: ObjectID
    /// Where it is or was.
    public let index: Int
  }

  /// An object that stands elsewhere among those that stayed.
  public struct Move: Sendable, Hashable {
    /// The object.
    public let id: ObjectID
    /// Its index in the results of before.
    public let from: Int
    /// Its index in the results of now.
    public let to: Int
  }

  /// The results of now, in the request's order.
  public let ids: [ObjectID]
  /// The place in the store's history that they are of.
  public let token: HistoryToken
  /// Whether these are the first results: everything is inserted then.
  public let isInitial: Bool
  /// Objects that are results no more, with their indices of before, ascending.
  public let deleted: [Position]
  /// Objects that are results now and were not, with their indices of now, ascending.
  public let inserted: [Position]
  /// The fewest objects whose move explains the order of those that stayed, by their indices of now, ascending.
  public let moved: [Move]
  /// Objects that stayed and were written to, with their indices of now, ascending; those that moved too.
  public let updated: [Position]

  /// Whether nothing differs.
  public var isEmpty: Bool { deleted.isEmpty && inserted.isEmpty && moved.isEmpty && updated.isEmpty }

  /// The difference between two lists in which every object stands once.
  ///
  /// - Parameter isUpdated: whether an object was written to in between; asked of each that stayed.
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

  /// What is left of those that stayed without a longest part that is in its order still.
  private static func moves(_ stayed: [Move]) -> [Move] {
    // Patience sorting: by length, the ends of the runs that end lowest, each with the one before it.
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

  /// Carries the difference out on the list of before: what goes and moves is taken out by its old index, from the end on,
  /// then what comes and moves is put in by its new one, from the beginning on.
  ///
  /// - Parameters:
  ///   - list: has an element for each result of before, in their order.
  ///   - insert: makes the element of an object that comes.
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
