import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The last part of a clone: outside objects learn of the clones that link to them (R9, R12), and shared blobs are
/// counted (R25).
extension Session {
  /// Adds clones to the lists of outside objects, one object at a time whatever the number of clones.
  mutating func publishOutside(_ state: inout CloneStream) throws(StoreError) {
    var touched: [ObjectID] = []
    var links = 0
    var rootCode: UInt16?
    // The session is captured by nobody else, and the closure does not escape.
    try state.outside.drain { (target, code, clones) throws(StoreError) in
      // Targets ascend, and so do their records and their lists.
      if target.rootCode != rootCode, let table = schema.objectTable(rootCode: target.rootCode) {
        rootCode = target.rootCode
        storage.retainCursors(in: [table, address(target, code).links])
      }
      if try addMembers(target, code, clones, state.chunk) { touched.append(target) }
      links += clones.count
    }
    storage.retainCursors(in: [])
    for id in touched { _ = state.tally.touched.insert(id) }
    state.tally.bytesWritten += UInt64(links) * 8
  }

  /// The same for ordered lists: clones come at the end, in the order that their sources have in the list, copy after copy
  /// (R12).
  mutating func publishOrderedOutside(_ state: inout CloneStream) throws(StoreError) {
    let context = state.context
    for (list, gain) in state.orderedOutside.sorted(by: { ($0.key.target, $0.key.code) < ($1.key.target, $1.key.code) })
    {
      _ = state.tally.touched.insert(list.target)
      state.tally.bytesWritten += UInt64(gain.count) * 8
      if gain.count == 1 {
        _ = try addMembers(list.target, list.code, [gain.first], state.chunk)
        continue
      }
      let entity = try entity(of: list.target)
      let relationship = try entity.relationship(code: list.code, list.target, schema)
      var sources: [ObjectID] = []
      for member in try members(list.target, relationship) where context.cloneID(of: member) != nil {
        if try isLinked(member, to: list.target, through: gain.relationship, context) { sources.append(member) }
      }
      for copy in 0..<context.book.options.count {
        context.select(copy: copy)
        _ = try addMembers(list.target, list.code, sources.compactMap { context.cloneID(of: $0) }, state.chunk)
      }
    }
    state.orderedOutside.removeAll()
  }

  /// Whether the clone of `member` is linked to the original `target`.
  private borrowing func isLinked(
    _ member: ObjectID, to target: ObjectID, through code: UInt16, _ context: CloneContext
  ) throws(StoreError) -> Bool {
    let entity = try entity(of: member)
    guard let plan = context.book.plan(entity.code),
      let step = plan.relationships.first(where: { $0.relationship.code == code })
    else { throw schema.corrupted(member, .wrongLayout, entity.layout) }
    if case .original = try linkTarget(step, member, target, context) { return true }
    return false
  }

  /// Adds a referrer to the blob of each serial, and forgets the serials.
  mutating func countReferrers(_ serials: inout [UInt64]) throws(StoreError) {
    try storage.addReferences(blobTables, Self.tally(&serials))
  }

  /// How often each serial is there; the serials are forgotten.
  static func tally(_ serials: inout [UInt64]) -> [(serial: UInt64, count: UInt64)] {
    serials.sort()
    var counts: [(serial: UInt64, count: UInt64)] = []
    for serial in serials {
      if counts.last?.serial == serial {
        counts[counts.count - 1].count += 1
      } else {
        counts.append((serial, 1))
      }
    }
    serials.removeAll(keepingCapacity: true)
    return counts
  }

  /// Counts the new referrers of shared blobs.
  mutating func publishBlobs(_ state: inout CloneStream) throws(StoreError) {
    try countReferrers(&state.blobs)
  }
}
