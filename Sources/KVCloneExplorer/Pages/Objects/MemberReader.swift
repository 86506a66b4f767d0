import KVClone
import KVCloneRecords

/// Reads a bounded number of the members of a relationship, from any position of its list.
enum MemberReader {
  /// Counting the objects that refer to another one ends at this number.
  static let countLimit = 10_000

  /// The list of a relationship: in the record of its owner, or in chunks.
  enum List {
    case inline([ObjectID])
    case chunks(ListAddress, isOrdered: Bool)
  }

  /// Returns the list of a relationship, and its number of members.
  static func list(
    of relationship: CompiledRelationship, _ id: ObjectID, _ entity: CompiledEntity, in record: RecordView,
    _ session: borrowing Session
  ) -> (list: List, count: Int) {
    guard let field = entity.field(relationship.field, code: relationship.code, in: record) else {
      return (.inline([]), 0)
    }
    guard relationship.isToMany else {
      let target = record.toOne(field).map { [$0] } ?? []
      return (.inline(target), target.count)
    }
    let head = record.head(field)
    if !head.isChunked { return (.inline(record.inlineIDs(field).array), head.count) }
    return (.chunks(session.address(id, relationship.code), isOrdered: relationship.isOrdered), head.count)
  }

  /// Returns the number of objects in a list without a stored count, counted up to ``countLimit``.
  static func count(_ list: ListAddress, in session: borrowing Session) throws(StoreError) -> MemberCount {
    var count = MemberCount(value: 0)
    try session.storage.forEachChunk(list) { (ids) throws(StoreError) in
      count.value += ids.count
      count.isLowerBound = count.value >= countLimit
      return !count.isLowerBound
    }
    return count
  }

  /// Returns at most `limit` members from a position on, and the position of the rest.
  static func page(
    _ list: List, from cursor: MemberCursor?, limit: Int, in session: borrowing Session
  ) throws(StoreError) -> (ids: [ObjectID], next: MemberCursor?) {
    switch list {
    case .inline(let ids):
      var rest = ids[...]
      if case .after(let id) = cursor?.place { rest = (rest.firstIndex(of: id).map { rest[($0 + 1)...] } ?? rest) }
      guard rest.count > limit, let last = rest.prefix(limit).last else { return (Array(rest), nil) }
      return (Array(rest.prefix(limit)), MemberCursor(.after(last), ordinal: (cursor?.ordinal ?? 0) + limit))
    case .chunks(let address, let isOrdered):
      return try page(address, isOrdered, from: cursor, limit: limit, in: session)
    }
  }

  private static func page(
    _ list: ListAddress, _ isOrdered: Bool, from cursor: MemberCursor?, limit: Int, in session: borrowing Session
  ) throws(StoreError) -> (ids: [ObjectID], next: MemberCursor?) {
    let chunk = ChunkBuffer()
    var position: UInt64 = 0
    var found: (position: UInt64, count: Int)?
    switch cursor?.place {
    case .after(let id)?:
      position = id.rawValue
      found = try session.storage.copyChunk(list, .atOrBefore, position, isOrdered: isOrdered, chunk)
    case .inChunk(let label, _)?: position = label
    case nil: break
    }
    if found == nil { found = try session.storage.copyChunk(list, .atOrAfter, position, isOrdered: isOrdered, chunk) }
    var ids: [ObjectID] = []
    while let current = found {
      for offset in firstOffset(of: current, chunk, cursor)..<current.count {
        if ids.count == limit, let last = ids.last {
          let ordinal = (cursor?.ordinal ?? 0) + limit
          return (
            ids,
            MemberCursor(isOrdered ? .inChunk(label: current.position, offset: offset) : .after(last), ordinal: ordinal)
          )
        }
        ids.append(chunk.ids[offset])
      }
      guard current.position < .max else { break }
      found = try session.storage.copyChunk(list, .atOrAfter, current.position + 1, isOrdered: isOrdered, chunk)
    }
    return (ids, nil)
  }

  /// The first member of a chunk that a page shows.
  private static func firstOffset(
    of chunk: (position: UInt64, count: Int), _ buffer: ChunkBuffer, _ cursor: MemberCursor?
  )
    -> Int
  {
    switch cursor?.place {
    case .after(let id)?: (0..<chunk.count).first { buffer.ids[$0] > id } ?? chunk.count
    case .inChunk(let label, let offset)? where label == chunk.position: min(offset, chunk.count)
    default: 0
    }
  }

  /// Returns the names of members. One that cannot be read has a name without a text, and a problem.
  static func names<Reading: ObjectReading & ~Copyable>(
    of ids: [ObjectID], in transaction: borrowing Reading
  ) -> [MemberFacts] {
    var names: [MemberFacts] = []
    var rest = ids[...]
    while !rest.isEmpty {
      let next = transaction._withSession { session in
        let next = rest.prefix(session.readWindow())
        session.prefetch(next)
        return next
      }
      rest = rest.dropFirst(next.count)
      for id in next { names.append(name(of: id, in: transaction)) }
    }
    return names
  }

  private static func name<Reading: ObjectReading & ~Copyable>(
    of id: ObjectID, in transaction: borrowing Reading
  ) -> MemberFacts {
    do {
      let model = transaction._withSession { session in session.schema.model }
      return MemberFacts(name: try DisplayName.read(id, in: model, transaction))
    } catch {
      let root = transaction._withSession { session in session.schema.entity(code: id.rootCode)?.name }
      let problem = (error as? any KVCloneError)?.message ?? "it cannot be read"
      return MemberFacts(
        name: DisplayName(entity: root ?? String(id.rootCode), serial: id.serial), problem: problem)
    }
  }
}
