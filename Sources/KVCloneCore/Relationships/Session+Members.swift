package import KVCloneModel
package import KVCloneRecords

extension Session {
  /// Returns the address of the chunks of an object's list.
  package func address(_ owner: ObjectID, _ code: UInt16) -> ListAddress {
    ListAddress(links: schema.tables.links, owner: owner, relationship: code)
  }

  /// Calls `body` with the members of a relationship in their stored order (unordered: ascending), until it returns
  /// false.
  package borrowing func forEachMember(
    _ id: ObjectID, _ relationship: CompiledRelationship, in view: borrowing RecordView, _ entity: CompiledEntity,
    _ body: (ObjectID) throws(StoreError) -> Bool
  ) throws(StoreError) {
    guard let field = entity.field(relationship.field, code: relationship.code, in: view) else { return }
    guard relationship.isToMany else {
      if let target = view.toOne(field) { _ = try body(target) }
      return
    }
    let head = view.head(field)
    guard head.isChunked else {
      let ids = view.inlineIDs(field)
      for index in 0..<ids.count where try !body(ids[index]) { return }
      return
    }
    try storage.forEachChunk(address(id, relationship.code), count: head.count) { (ids) throws(StoreError) in
      for index in 0..<ids.count where try !body(ids[index]) { return false }
      return true
    }
  }

  /// Calls `body` with the members of a to-many relationship in the order of `forEachMember`, many at a time.
  package borrowing func forEachMemberRun(
    _ id: ObjectID, _ relationship: CompiledRelationship, in view: borrowing RecordView, _ entity: CompiledEntity,
    _ body: (ObjectIDList) throws(StoreError) -> Bool
  ) throws(StoreError) {
    guard let field = entity.field(relationship.field, code: relationship.code, in: view) else { return }
    let head = view.head(field)
    guard head.isChunked else {
      _ = try body(view.inlineIDs(field))
      return
    }
    try storage.forEachChunk(address(id, relationship.code), count: head.count, body)
  }

  /// Returns a copy of the members of a relationship.
  package borrowing func members(_ id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> [ObjectID]
  {
    let view = try existingRecord(id)
    var members: [ObjectID] = []
    try forEachMember(id, relationship, in: view, try schema.entity(of: view, id: id)) { (member) throws(StoreError) in
      members.append(member)
      return true
    }
    return members
  }

  /// Returns the number of members of a relationship from the record, regardless of the list's length.
  package borrowing func count(_ id: ObjectID, _ relationship: String) throws(StoreError) -> Int {
    let view = try existingRecord(id)
    let entity = try schema.entity(of: view, id: id)
    return count(id, try entity.relationship(relationship), in: view, entity)
  }

  /// Like ``count(_:_:)``, for a record that was already read.
  package borrowing func count(
    _ id: ObjectID, _ relationship: CompiledRelationship, in view: borrowing RecordView, _ entity: CompiledEntity
  ) -> Int {
    guard let field = entity.field(relationship.field, code: relationship.code, in: view) else { return 0 }
    if relationship.isToMany { return view.head(field).count }
    return view.toOne(field) == nil ? 0 : 1
  }

  /// Returns the target of an object's to-one relationship, in any layout of its record.
  package borrowing func toOne(_ id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> ObjectID? {
    let view = try existingRecord(id)
    return view.layout.fieldIndex(ofProperty: relationship.code).flatMap { view.toOne($0) }
  }

  /// Returns the objects that refer to `id` through a relationship without an inverse, by its hidden code.
  package borrowing func referrers(_ id: ObjectID, _ code: UInt16) throws(StoreError) -> [ObjectID] {
    try storage.members(address(id, code))
  }

  /// Calls `body` with the members of a relationship in batches. Each batch is a copy, so `body` may change everything
  /// but this list.
  package mutating func forEachMemberBatch(
    _ id: ObjectID, _ relationship: CompiledRelationship,
    _ body: (inout Session, [ObjectID]) throws(StoreError) -> Void
  ) throws(StoreError) {
    let (count, inline) = try inlineMembers(id, relationship)
    if let inline {
      if !inline.isEmpty { try body(&self, inline) }
      return
    }
    let list = address(id, relationship.code)
    var seen = 0
    try forEachBatch(list) { (session, members) throws(StoreError) in
      seen += members.count
      try body(&session, members)
    }
    if seen != count { throw list.wrongCount(seen, head: count) }
  }

  /// Like `forEachMemberBatch`, for a list in chunks.
  package mutating func forEachBatch(
    _ list: ListAddress, _ body: (inout Session, [ObjectID]) throws(StoreError) -> Void
  ) throws(StoreError) {
    var next: UInt64? = 0
    while let position = next, let batch = try storage.memberBatch(list, from: position) {
      try body(&self, batch.members)
      next = batch.next
    }
  }

  /// Returns the number of members, and those in the object's record; nil if they are in chunks.
  private borrowing func inlineMembers(_ id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError)
    -> (count: Int, members: [ObjectID]?)
  {
    let view = try existingRecord(id)
    let entity = try schema.entity(of: view, id: id)
    guard let field = entity.field(relationship.field, code: relationship.code, in: view) else { return (0, []) }
    guard relationship.isToMany else { return view.toOne(field).map { (1, [$0]) } ?? (0, []) }
    let head = view.head(field)
    return (head.count, head.isChunked ? nil : view.inlineIDs(field).array)
  }

  /// Adds `target` to one side of a relationship, without the other side; returns whether it was not a member before.
  ///
  /// A to-one relationship must be empty, or have `target` already.
  package mutating func attach(_ id: ObjectID, _ code: UInt16, _ target: ObjectID, at index: Int? = nil)
    throws(StoreError)
    -> Bool
  {
    let entity = try load(id)
    let relationship = try entity.relationship(code: code, id, schema)
    let field = relationship.field
    if !relationship.isToMany {
      if scratch.view.toOne(field) == target { return false }
      try changeToOne(id, entity, relationship, target)
      return true
    }
    let list = address(id, code)
    var head = scratch.view.head(field)
    if !head.isChunked {
      guard let position = Self.place(of: target, in: scratch, relationship, at: index) else { return false }
      if head.count < FormatLimits.inlineIDLimit {
        try edit(id) { (record) throws(RecordError) in try record.insertInlineID(field, at: position, target) }
      } else {
        var all = inlineMembers(field)
        all.insert(target, at: position)
        try writeList(list, all, relationship, field)
      }
    } else if relationship.isOrdered {
      guard try !storage.containsOrdered(list, target, head: head) else { return false }
      try storage.insertOrdered(list, target, at: index, head: &head)
      scratch.setHead(field, head)
    } else {
      guard try insertUnordered(list, target) else { return false }
      scratch.setHead(field, ListHead(count: head.count + 1, isChunked: true))
    }
    try store(id, entity)
    noteUpdate(id, property: code)
    try DerivedChanges.linkChanged(id, entity, relationship, gained: target, in: &self)
    return true
  }

  /// Adds a member to an unordered list in chunks; returns false if it was present. New objects of this transaction
  /// usually belong at the end.
  private mutating func insertUnordered(_ list: ListAddress, _ target: ObjectID) throws(StoreError) -> Bool {
    if changes.inserted.contains(target) {
      let waiting = deferredInserts()
      if try storage.appendsUnordered(list, CollectionOfOne(target), waiting.chunk) { return true }
    }
    return try storage.insertUnordered(list, target)
  }

  /// Returns the position for a new member in an inline list; nil if it is already a member.
  static func place(
    of target: ObjectID, in record: borrowing RecordBuffer, _ relationship: CompiledRelationship, at index: Int?
  ) -> Int? {
    let ids = record.view.inlineIDs(relationship.field)
    if relationship.isOrdered { return ids.firstIndex(of: target) == nil ? index ?? ids.count : nil }
    let position = ids.lowerBound(of: target)
    return position < ids.count && ids[position] == target ? nil : position
  }

  /// Returns a copy of the members of an inline list of the record in `scratch`.
  package borrowing func inlineMembers(_ field: Int) -> [ObjectID] {
    scratch.view.inlineIDs(field).array
  }

  /// Removes `target` from one side of a relationship, without the other side; returns whether it was a member.
  package mutating func detach(_ id: ObjectID, _ code: UInt16, _ target: ObjectID, validates: Bool = true)
    throws(StoreError)
    -> Bool
  {
    let entity = try load(id)
    let relationship = try entity.relationship(code: code, id, schema)
    let field = relationship.field
    if !relationship.isToMany {
      guard scratch.view.toOne(field) == target else { return false }
      try changeToOne(id, entity, relationship, nil, validates: validates)
      return true
    }
    let list = address(id, code)
    var head = scratch.view.head(field)
    if !head.isChunked {
      guard let index = scratch.view.inlineIDs(field).firstIndex(of: target) else { return false }
      scratch.removeInlineID(field, at: index)
    } else {
      if relationship.isOrdered {
        guard try storage.removeOrdered(list, target, head: &head) else { return false }
      } else {
        guard try storage.removeUnordered(list, target) else { return false }
        guard head.count > 0 else { throw list.corrupted("It has members, and its head has the count 0.") }
        head = ListHead(count: head.count - 1, isChunked: true)
      }
      if head.count < FormatLimits.inlineAgainBelow {
        let left = try storage.members(list, count: head.count)
        try storage.deleteList(list)
        try edit(id) { (record) throws(RecordError) in try record.setInlineIDs(field, left) }
      } else {
        scratch.setHead(field, head)
      }
    }
    try store(id, entity)
    noteUpdate(id, property: code, validates: validates)
    try DerivedChanges.linkChanged(id, entity, relationship, lost: target, in: &self)
    return true
  }

  /// Replaces a to-many list with `ids` in their order (unordered: any order). Its old members are already unlinked.
  mutating func replaceList(_ id: ObjectID, _ relationship: CompiledRelationship, _ ids: [ObjectID]) throws(StoreError)
  {
    let entity = try load(id)
    let list = address(id, relationship.code)
    if scratch.view.head(relationship.field).isChunked { try storage.deleteList(list) }
    try writeList(list, relationship.isOrdered ? ids : ids.sorted(), relationship, relationship.field)
    try store(id, entity)
    noteUpdate(id, property: relationship.code)
    try DerivedChanges.linkChanged(id, entity, relationship, in: &self)
  }

  /// Puts a new object's members into its record in `scratch`, without the inverse side.
  mutating func putMembers(_ targets: [ObjectID], _ relationship: CompiledRelationship, of id: ObjectID)
    throws(StoreError)
  {
    guard relationship.isToMany else { return scratch.setToOne(relationship.field, targets.first) }
    if targets.isEmpty { return }
    try writeList(
      address(id, relationship.code), relationship.isOrdered ? targets : targets.sorted(), relationship,
      relationship.field)
  }

  /// Writes a whole list into the record in `scratch`, or into chunks with a head there.
  package mutating func writeList(
    _ list: ListAddress, _ ids: [ObjectID], _ relationship: CompiledRelationship, _ field: Int
  ) throws(StoreError) {
    if ids.count <= FormatLimits.inlineIDLimit {
      scratch.setHead(field, ListHead(count: 0, isChunked: true))
      try edit(list.owner) { (record) throws(RecordError) in try record.setInlineIDs(field, ids) }
    } else if relationship.isOrdered {
      var head = ListHead(count: 0, isChunked: true)
      try storage.writeOrdered(list, ids, head: &head)
      scratch.setHead(field, head)
    } else {
      try storage.writeUnordered(list, ids)
      scratch.setHead(field, ListHead(count: ids.count, isChunked: true))
    }
  }

  private mutating func changeToOne(
    _ id: ObjectID, _ entity: CompiledEntity, _ relationship: CompiledRelationship, _ target: ObjectID?,
    validates: Bool = true
  ) throws(StoreError) {
    let codes = entity.indexedCodes.intersection([relationship.code])
    let oldKeys = try IndexEntries.keys(id, entity, of: codes, in: self)
    scratch.setToOne(relationship.field, target)
    try store(id, entity)
    try IndexEntries.replace(oldKeys, id, entity, of: codes, in: &self)
    noteUpdate(id, property: relationship.code, validates: validates)
    try DerivedChanges.linkChanged(id, entity, relationship, in: &self)
  }

  /// Changes the record in `scratch`; the only possible failure is its size limit.
  package mutating func edit(_ id: ObjectID, _ change: (inout RecordBuffer) throws(RecordError) -> Void)
    throws(StoreError)
  {
    do throws(RecordError) {
      try change(&scratch)
    } catch {
      throw StoreError(
        .limitExceeded, "\(scratchName(id)) cannot grow: \(error)", object: scratchName(id))
    }
  }
}

extension CompiledEntity {
  /// Returns the relationship with a code that a stored link implies for this entity.
  package func relationship(code: UInt16, _ id: ObjectID, _ schema: Schema) throws(StoreError) -> CompiledRelationship {
    guard let index = relationshipIndexByCode[code] else { throw schema.corrupted(id, .wrongLayout, layout) }
    return relationships[index]
  }

  /// Returns the relationship without an inverse that has the hidden list `code`.
  package func relationship(referrerCode code: UInt16) -> CompiledRelationship? {
    relationships.first { !$0.hasInverse && $0.inverseCode == code }
  }
}
