import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// One list of an object.
struct OrderedList: Hashable {
  let owner: ObjectID
  let code: UInt16
}

/// The clones that an ordered list gains: a single clone needs no ordering.
struct OrderedGain {
  var count = 0
  let first: ObjectID
  /// The source's lists with the members that are cloned into the list; several may correspond to one in another store.
  var origins: [OrderedList]
}

/// The last phase of a clone: outside objects gain the clones that link to them (R9, R12).
extension CloneStream {
  /// Records that an ordered list of an outside object gains a clone.
  ///
  /// - Parameter origin: the list in the source; nil within a store, where it is the same list.
  mutating func noteOrdered(_ list: OrderedList, clone: ObjectID, origin: OrderedList? = nil) {
    ordered[list, default: OrderedGain(first: clone, origins: origin == nil ? [list] : [])].count += 1
    if let origin, ordered[list]?.origins.contains(origin) == false { ordered[list]?.origins.append(origin) }
  }

  /// Adds clones to the lists of outside objects, one object at a time whatever the number of clones.
  mutating func publishOutside() throws(StoreError) {
    var touched: [ObjectID] = []
    var links = 0
    var rootCode: UInt16?
    let window = session.prefetchWindow(isAscending: true)
    try outside.drain(window: window) { (target, code, clones, next) throws(StoreError) in
      session.prefetch(next)
      // Targets ascend, and so do their records and their lists.
      if target.rootCode != rootCode, let table = session.schema.objectTable(rootCode: target.rootCode) {
        rootCode = target.rootCode
        session.storage.retainCursors(in: [table, session.address(target, code).links])
      }
      if try gain(target, code, clones) { touched.append(target) }
      links += clones.count
    }
    session.storage.retainCursors(in: [])
    for id in touched { _ = tally.touched.insert(id) }
    tally.bytesWritten += UInt64(links) * 8
  }

  /// Adds clones to one side of an outside object's relationship; returns whether the object itself changed.
  private func gain(_ target: ObjectID, _ code: UInt16, _ clones: DeferredLinks.Group) throws(StoreError) -> Bool {
    if context.bridge != nil {
      // The planner has verified that the to-one relationship is empty.
      let entity = try session.entity(of: target)
      if let index = entity.relationshipIndexByCode[code], !entity.relationships[index].isToMany {
        for clone in clones { _ = try session.attach(target, code, clone) }
        return true
      }
    }
    return try RelationshipLinks.addMembers(target, code, clones, chunk, in: &session)
  }

  /// Adds clones to ordered lists: at the end, in the order of their sources in the list, copy after copy (R12).
  mutating func publishOrdered() throws(StoreError) {
    var windows = ReadWindows(source.storage)
    for (list, gain) in ordered.sorted(by: { ($0.key.owner, $0.key.code) < ($1.key.owner, $1.key.code) }) {
      windows.next()
      _ = tally.touched.insert(list.owner)
      if gain.count == 1 {
        tally.bytesWritten += 8
        try RelationshipLinks.addMembers(list.owner, list.code, [gain.first], chunk, in: &session)
        continue
      }
      var sources: [[ObjectID]] = []
      for origin in gain.origins { sources.append(try Self.sources(of: origin, context, source)) }
      for copy in 0..<context.copies {
        context.select(copy: copy)
        for sources in sources {
          let clones = sources.compactMap { context.cloneID(of: $0) }
          tally.bytesWritten += UInt64(clones.count) * 8
          if gain.origins.count > 1 {
            // A clone may be in several of the lists.
            for clone in clones { _ = try session.attach(list.owner, list.code, clone) }
          } else {
            try RelationshipLinks.addMembers(list.owner, list.code, clones, chunk, in: &session)
          }
        }
      }
    }
    ordered.removeAll()
  }

  /// The members of a source's list with clones that link to its owner, or to the corresponding object.
  private static func sources(of list: OrderedList, _ context: CloneContext, _ source: borrowing Session)
    throws(StoreError) -> [ObjectID]
  {
    let view = try source.existingRecord(list.owner)
    let entity = try source.schema.entity(of: view, id: list.owner)
    let relationship = try entity.relationship(code: list.code, list.owner, source.schema)
    var sources: [ObjectID] = []
    // Members are scanned, and the view was read before.
    var windows = ReadWindows(source.storage)
    try source.forEachMember(list.owner, relationship, in: view, entity) { (member) throws(StoreError) in
      windows.next()
      guard context.cloneID(of: member) != nil else { return true }
      guard let plan = context.book.plan(try source.entity(of: member).code),
        let step = plan.relationships.first(where: {
          $0.relationship.hasInverse && $0.relationship.inverseCode == list.code
        })
      else { throw source.schema.corrupted(member, .wrongLayout) }
      if case .original = try context.linkTarget(step, member, list.owner, source) { sources.append(member) }
      return true
    }
    return sources
  }
}
