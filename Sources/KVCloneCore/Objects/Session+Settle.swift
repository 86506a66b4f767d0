import KVCloneModel

/// Inserting many objects in one transaction: see ``WaitingInserts``.
extension Session {
  /// Fewer are written one by one: a cursor that stays would cost more than it saves.
  private static let fewCount = 8

  /// Writes what new objects owe others. After a failure the transaction is good for nothing but being given up.
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

  /// One object at a time whatever the number of its new members.
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
