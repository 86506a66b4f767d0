import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport

/// The content of a store with the model `snapshotModel`, without orders, and its three-way merge by the rules: a
/// simple model of publish and update. Books are never deleted.
struct LibraryState: Equatable {
  struct Item: Equatable {
    let entity: String
    var values: [String: AttributeValue]
    /// The book of a page.
    var book: ObjectID?
    /// The tags of a book.
    var tags: Set<ObjectID> = []
  }

  private(set) var items: [ObjectID: Item] = [:]

  private init() {}

  init(_ store: ObjectStore) throws {
    self = try store.read { tx in try LibraryState(tx) }
  }

  init(_ tx: borrowing ReadTransaction) throws {
    for (entity, names) in [("Book", ["number", "title"]), ("Page", ["text"]), ("Tag", ["name"])] {
      for id in try tx.fetchIDs(FetchRequest(entity)) {
        var item = Item(entity: entity, values: [:])
        for name in names { item.values[name] = try tx.value(id, name) }
        if entity == "Page" { item.book = try tx.toOne(id, "book") }
        if entity == "Book" {
          item.values["cover"] = try tx.data(id, "cover").map { .binary($0) }
          item.tags = Set(try tx.members(id, "tags"))
        }
        items[id] = item
      }
    }
  }

  /// Whether an object was changed in a way that prevents its deletion (M4).
  private func hasChanged(_ id: ObjectID, since base: Self) -> Bool {
    guard let old = base.items[id], let new = items[id] else { return false }
    if old.values != new.values || new.book != nil && new.book != old.book { return true }
    return items.contains { book, item in
      item.tags.contains(id) && !(base.items[book]?.tags.contains(id) ?? false)
    }
  }

  /// The merged state, with every conflict won by one side.
  static func merged(base: Self, ours: Self, theirs: Self, winner: MergeSide) -> Self {
    var result = LibraryState()
    // Tags are decided before the links to them.
    var (restored, kept): (Set<ObjectID>, Set<ObjectID>) = ([], [])
    for id in base.items.keys {
      let (mine, other) = (ours.items[id], theirs.items[id])
      if mine == nil, other != nil, winner == .theirs, theirs.hasChanged(id, since: base) { restored.insert(id) }
      if mine != nil, other == nil, winner == .ours, ours.hasChanged(id, since: base) { kept.insert(id) }
    }
    for id in Set(ours.items.keys).union(theirs.items.keys) {
      switch (base.items[id], ours.items[id], theirs.items[id]) {
      case (nil, let mine?, nil): result.items[id] = mine
      case (nil, nil, let other?): result.items[id] = other
      case (let old, let mine?, let other?):
        result.items[id] = merged(old, mine, other, winner) { tag, wasLinked, isOurs, isTheirs in
          if restored.contains(tag) { return isTheirs }
          if kept.contains(tag) { return isOurs }
          return isOurs == wasLinked ? isTheirs : isOurs
        }
      case (_, let mine?, nil): if kept.contains(id) { result.items[id] = mine }
      case (_, nil, let other?): if restored.contains(id) { result.items[id] = other }
      case (_, nil, nil): continue
      }
    }
    let present = Set(result.items.keys)
    for id in present { result.items[id]?.tags.formIntersection(present) }
    return result
  }

  private static func merged(
    _ old: Item?, _ mine: Item, _ other: Item, _ winner: MergeSide,
    _ isLinked: (_ tag: ObjectID, _ wasLinked: Bool, _ isOurs: Bool, _ isTheirs: Bool) -> Bool
  ) -> Item {
    func value<V: Equatable>(_ old: V, _ mine: V, _ other: V) -> V {
      if mine == other || other == old { return mine }
      return mine == old || winner == .theirs ? other : mine
    }
    var item = mine
    for name in Set(mine.values.keys).union(other.values.keys) {
      item.values[name] = value(old?.values[name], mine.values[name], other.values[name])
    }
    item.book = value(old?.book, mine.book, other.book)
    item.tags = mine.tags.union(other.tags).filter {
      isLinked($0, old?.tags.contains($0) ?? false, mine.tags.contains($0), other.tags.contains($0))
    }
    return item
  }
}
