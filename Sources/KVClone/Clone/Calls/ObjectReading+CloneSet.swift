public import KVCloneCore
public import KVCloneModel

extension ObjectReading where Self: ~Copyable {
  /// Returns the objects that a clone of `roots` would copy, ordered by root entity and then serial number.
  ///
  /// - Throws: ``CloneError`` if a root does not exist or a rule is invalid; ``StoreError`` if the store cannot be
  ///   read.
  public borrowing func cloneSet(of roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> [ObjectID] {
    try _withSession { session in
      let book = try CloneRuleBook.book(roots, options, in: session)
      if let error = book.errors.first { throw error }
      let mark = try CloneMarker.mark(roots, book, CloneMonitor(), in: session)
      var ids: [ObjectID] = []
      mark.set.forEach { id in
        ids.append(id)
        return true
      }
      return ids
    }
  }
}
