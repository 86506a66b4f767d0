package import KVCloneModel
import KVCloneRecords

extension Session {
  /// The number of objects to announce with `prefetch` at once; 0 if announcing is of no use.
  package borrowing func prefetchWindow(isAscending: Bool = false) -> Int {
    storage.prefetchWindow(isAscending: isAscending)
  }

  /// The number of objects to read at once: those that are announced together, or a few if announcing is of no use.
  package borrowing func readWindow() -> Int { max(prefetchWindow(), 16) }

  /// Announces that the records of these objects are read next, at most `prefetchWindow` at once.
  package borrowing func prefetch(_ ids: ArraySlice<ObjectID>) {
    guard prefetchWindow() > 0 else { return }
    var rest = ids
    while let first = rest.first {
      let run = rest.prefix { $0.rootCode == first.rootCode }
      rest = rest.dropFirst(run.count)
      // A single object is read at once anyway.
      guard ids.count > 1, let table = schema.objectTable(rootCode: first.rootCode) else { continue }
      storage.prefetch(table, run)
    }
  }

  /// Calls `body` with each object of a set, ascending, until it returns false, and announces them before.
  borrowing func forEachAnnounced(_ set: ObjectSet, _ body: (ObjectID) throws(StoreError) -> Bool) throws(StoreError) {
    let window = prefetchWindow(isAscending: true)
    guard window > 1 else { return try set.forEach(body) }
    var next: [ObjectID] = []
    var isStopped = false
    func visit() throws(StoreError) {
      prefetch(next[...])
      for id in next where !isStopped { isStopped = try !body(id) }
      next.removeAll(keepingCapacity: true)
    }
    try set.forEach { (id) throws(StoreError) in
      next.append(id)
      if next.count == window { try visit() }
      return !isStopped
    }
    try visit()
  }
}
