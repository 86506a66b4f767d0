import KVCloneModel

/// The application of deferred changes of inserted objects; see ``WaitingInserts``.
extension Session {
  /// Below this number, changes are written one by one: retaining a cursor would cost more than it saves.
  private static let fewCount = 8

  /// Writes the deferred inverse links and index entries of inserted objects. After a failure, the transaction is
  /// abort-only.
  package mutating func settle() throws(StoreError) {
    guard let waiting, !waiting.isEmpty else { return }
    do throws(StoreError) {
      try settleLinks(waiting)
      try settleKeys(waiting)
    } catch {
      changes.fail(error)
      throw error
    }
  }

  /// Writes each target once, regardless of the number of its new members.
  private mutating func settleLinks(_ waiting: WaitingInserts) throws(StoreError) {
    let keepsPlaces = waiting.links.count >= Self.fewCount
    var rootCode: UInt16?
    try waiting.links.drain { (target, code, members) throws(StoreError) in
      // Targets ascend, and so do their records and their lists.
      if keepsPlaces, target.rootCode != rootCode, let table = schema.objectTable(rootCode: target.rootCode) {
        rootCode = target.rootCode
        storage.retainCursors(in: [table, schema.tables.links])
      }
      try RelationshipLinks.addMembers(target, code, members, waiting.chunk, validates: true, in: &self)
    }
    if keepsPlaces { storage.retainCursors(in: []) }
  }

  private mutating func settleKeys(_ waiting: WaitingInserts) throws(StoreError) {
    let keepsPlaces = waiting.keys.count >= Self.fewCount
    if keepsPlaces { storage.retainCursors(in: [schema.tables.indexes]) }
    var keys = WaitingKeys()
    swap(&keys, &waiting.keys)
    try keys.drain { (key) throws(StoreError) in try IndexEntries.put(key, in: &self) }
    if keepsPlaces { storage.retainCursors(in: []) }
  }
}
