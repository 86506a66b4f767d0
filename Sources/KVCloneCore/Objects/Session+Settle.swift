import KVCloneModel

/// The application of deferred changes of inserted objects; see ``DeferredInserts``.
extension Session {
  /// Below this number, changes are written one by one: retaining a cursor would cost more than it saves.
  private static let fewCount = 8

  /// Writes the deferred inverse links and index entries of inserted objects. After a failure, the transaction is
  /// abort-only.
  package mutating func settle() throws(StoreError) {
    guard let deferred, !deferred.isEmpty else { return }
    do throws(StoreError) {
      try settleLinks(deferred)
      try settleKeys(deferred)
    } catch {
      changes.fail(error)
      throw error
    }
  }

  /// Writes each target once, regardless of the number of its new members.
  private mutating func settleLinks(_ deferred: DeferredInserts) throws(StoreError) {
    let keepsPlaces = deferred.links.count >= Self.fewCount
    var rootCode: UInt16?
    try deferred.links.drain(window: prefetchWindow(isAscending: true)) {
      (target, code, members, next) throws(StoreError) in
      prefetch(next)
      // Targets ascend, and so do their records and their lists.
      if keepsPlaces, target.rootCode != rootCode, let table = schema.objectTable(rootCode: target.rootCode) {
        rootCode = target.rootCode
        storage.retainCursors(in: [table, schema.tables.links])
      }
      try RelationshipLinks.addMembers(target, code, members, deferred.chunk, validates: true, in: &self)
    }
    if keepsPlaces { storage.retainCursors(in: []) }
  }

  private mutating func settleKeys(_ deferred: DeferredInserts) throws(StoreError) {
    let keepsPlaces = deferred.keys.count >= Self.fewCount
    if keepsPlaces { storage.retainCursors(in: [schema.tables.indexes]) }
    var keys = DeferredKeys()
    swap(&keys, &deferred.keys)
    try keys.drain { (key) throws(StoreError) in try IndexEntries.put(key, in: &self) }
    if keepsPlaces { storage.retainCursors(in: []) }
  }
}
