import KVCloneModel

/// The conflicts of a merge, in ascending order of ids.
///
/// They do not need to fit into memory: they are in a temporary file if they are many, and each access reads one, in
/// some microseconds. The list needs neither the store nor a transaction.
public struct ConflictList<Element: Sendable>: RandomAccessCollection, Sendable {
  private let element: @Sendable (Int) -> Element

  /// The number of conflicts.
  public let count: Int
  /// 0.
  public var startIndex: Int { 0 }
  /// The number of conflicts.
  public var endIndex: Int { count }

  init(count: Int, _ element: @escaping @Sendable (Int) -> Element) {
    self.count = count
    self.element = element
  }

  package init(_ elements: [Element]) {
    self.init(count: elements.count) { elements[$0] }
  }

  /// Reads a conflict.
  public subscript(position: Int) -> Element {
    precondition(position >= 0 && position < count, "a position outside the list")
    return element(position)
  }
}

extension ConflictList {
  /// Creates a list of the elements of two sorted lists. It needs four bytes of memory for each.
  init<Place: Comparable>(merging first: Self, _ second: Self, by place: (Element) -> Place) {
    if second.isEmpty {
      self = first
      return
    }
    // The positions in the first list, then those in the second one.
    var order: [UInt32] = []
    var (left, right) = (0, 0)
    while left < first.count || right < second.count {
      let takesFirst = right == second.count || left < first.count && place(first[left]) <= place(second[right])
      order.append(UInt32(takesFirst ? left : first.count + right))
      if takesFirst { left += 1 } else { right += 1 }
    }
    self.init(count: order.count) { [order] position in
      let index = Int(order[position])
      return index < first.count ? first[index] : second[index - first.count]
    }
  }
}

extension ConflictList: ExpressibleByArrayLiteral {
  /// Creates a list of these conflicts, in this order.
  public init(arrayLiteral elements: Element...) { self.init(elements) }
}

extension ConflictList: Equatable where Element: Equatable {
  /// Returns whether both have the same conflicts in the same order.
  public static func == (left: ConflictList, right: ConflictList) -> Bool { left.elementsEqual(right) }
}

extension ConflictList: Encodable where Element: Encodable {
  /// Encodes an array of the conflicts.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    for conflict in self { try container.encode(conflict) }
  }
}

extension ConflictLog {
  /// All conflicts.
  var resolvedList: ConflictList<ResolvedConflict> { ConflictList(count: count) { self[$0] } }

  /// The conflicts without an answer.
  var openList: ConflictList<ObjectConflict> { ConflictList(count: openCount) { self.openConflict($0) } }
}
