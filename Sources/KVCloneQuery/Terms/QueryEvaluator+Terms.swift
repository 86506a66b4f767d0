import Foundation
package import KVCloneCore
package import KVCloneModel
package import KVCloneRecords

/// Evaluates expressions.
extension QueryEvaluator {
  /// Returns a term's value; a list with all elements in memory for a term with many.
  package func value(
    _ term: QueryTerm, _ id: ObjectID, _ view: borrowing RecordView, _ session: borrowing Session
  ) throws(StoreError) -> QueryValue {
    if case .constant(let value) = term.node { return value }
    // The most common term: the object's own attribute.
    if case .attribute(let owner, let column) = term.node, case .current = owner.node, column.composite == nil {
      return try stored(column, session, view, id)
    }
    var values: [QueryValue] = []
    let isList = term.isList
    try forEachValue(term, id, view, session) { (value) throws(StoreError) in
      values.append(value)
      return isList
    }
    return isList ? .list(values) : values.first ?? .null
  }

  /// Calls `body` with each value of a term, until it returns false: once for a single value, and not at all if an
  /// intermediate relationship of a key path is empty.
  func forEachValue(
    _ term: QueryTerm, _ id: ObjectID, _ view: borrowing RecordView, _ session: borrowing Session,
    _ body: (QueryValue) throws(StoreError) -> Bool
  ) throws(StoreError) {
    switch term.node {
    case .constant(let value):
      guard case .list(let values) = value else {
        _ = try body(value)
        return
      }
      for value in values where try !body(value) { return }
    case .current: _ = try body(.object(id))
    case .place(let index): _ = try body(places[index])
    case .element(let depth): _ = try body(.object(elements[depth]))
    case .attribute(let owner, let column):
      try forEachObject(owner, id, view, session) { (session, entity, view, owner) throws(StoreError) in
        if let composite = column.composite {
          return try body(QueryValue(try entity.value(named: composite, in: view, id: owner, schema: schema)))
        }
        return try body(try stored(column, session, view, owner))
      }
    case .relationship(let owner, let link):
      try forEachObject(owner, id, view, session) { (session, entity, view, owner) throws(StoreError) in
        try forEachTarget(link, session, entity, view, owner, body)
      }
    case .memberCount(let owner, let link):
      try forEachObject(owner, id, view, session) { (_, entity, view, _) throws(StoreError) in
        try body(.integer(Int64(Self.count(link, entity, view))))
      }
    case .subquery(let members, let depth, let condition):
      try forEachValue(members, id, view, session) { (member) throws(StoreError) in
        guard case .object(let object) = member else { return true }
        // The members may come from an outer subquery: its element is no longer needed and is replaced.
        elements.removeLast(elements.count - depth)
        elements.append(object)
        defer { elements.removeLast(max(0, elements.count - depth)) }
        return try holds(condition, id, view, session) ? try body(member) : true
      }
    case .list(let terms):
      for term in terms where try !body(try value(term, id, view, session)) { return }
    case .conditional(let condition, let yes, let no):
      let chosen = try holds(condition, id, view, session) ? yes : no
      try forEachValue(chosen, id, view, session, body)
    case .collection(let function, let list):
      let value = try aggregate(function, list, id, view, session)
      guard case .list(let values) = value else {
        _ = try body(value)
        return
      }
      for value in values where try !body(value) { return }
    case .function(let function, let terms):
      var arguments: [QueryValue] = []
      for term in terms { arguments.append(try value(term, id, view, session)) }
      let value = QueryFunctions.call(function, arguments)
      // `mode:` returns many.
      guard case .list(let values) = value else {
        _ = try body(value)
        return
      }
      for value in values where try !body(value) { return }
    case .cast(let other, let type):
      let given = try value(other, id, view, session)
      let converted: QueryValue
      do throws(CastProblem) {
        converted = try QueryFunctions.cast(given, to: type)
      } catch {
        // A group of objects has no object of its own.
        let entity = id.rawValue == 0 ? nil : try schema.entity(of: view, id: id).name
        throw castError(error, other, type, entity.map { "\($0)/\(id.serial)" }, entity)
      }
      _ = try body(converted)
    case .combination(let left, let operation, let right):
      let values = QueryFunctions.combine(
        try value(left, id, view, session).elements, operation, try value(right, id, view, session).elements)
      for value in values where try !body(value) { return }
    case .item(let list, let position):
      _ = try body(try item(list, position, id, view, session))
    }
  }

  /// Calls `body` with every object of a term, and its record.
  private func forEachObject(
    _ term: QueryTerm, _ id: ObjectID, _ view: borrowing RecordView, _ session: borrowing Session,
    _ body: (borrowing Session, CompiledEntity, borrowing RecordView, ObjectID) throws(StoreError) -> Bool
  ) throws(StoreError) {
    if case .current = term.node {
      _ = try body(session, try schema.entity(of: view, id: id), view, id)
      return
    }
    try forEachValue(term, id, view, session) { (value) throws(StoreError) in
      // A constant may name a deleted object.
      guard case .object(let object) = value, let record = try session.record(object) else { return true }
      return try body(session, try schema.entity(of: record, id: object), record, object)
    }
  }

  private func stored(
    _ column: QueryColumn, _ session: borrowing Session, _ view: borrowing RecordView, _ id: ObjectID
  ) throws(StoreError) -> QueryValue {
    guard let field = view.layout.fieldIndex(ofProperty: column.code) else { return column.defaultValue }
    if column.readsLargeValues, !view.isNull(field), view.isBlob(field) {
      var data = Data()
      _ = try BlobValues.read(id, column.name, in: session) { (bytes) throws(StoreError) in
        bytes.withUnsafeBytes { data.append(contentsOf: $0) }
      }
      return QueryValue(column.type == .binary ? .binary(data) : .transformable(data))
    }
    do throws(RecordError) {
      return QueryValue(try view.value(field))
    } catch {
      throw schema.corrupted(id, error, view.layout)
    }
  }

  /// Returns whether `body` continues.
  private func forEachTarget(
    _ link: QueryLink, _ session: borrowing Session, _ entity: CompiledEntity, _ view: borrowing RecordView,
    _ id: ObjectID, _ body: (QueryValue) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bool {
    guard let index = entity.relationshipIndexByCode[link.code] else { return true }
    var goesOn = true
    try session.forEachMember(id, entity.relationships[index], in: view, entity) { (target) throws(StoreError) in
      goesOn = try body(.object(target))
      return goesOn
    }
    return goesOn
  }

  private static func count(_ link: QueryLink, _ entity: CompiledEntity, _ view: borrowing RecordView) -> Int {
    guard let field = view.layout.fieldIndex(ofProperty: link.code) else { return 0 }
    if link.isToMany { return view.head(field).count }
    return view.toOne(field) == nil ? 0 : 1
  }

  private func item(
    _ list: QueryTerm, _ position: QueryPosition, _ id: ObjectID, _ view: borrowing RecordView,
    _ session: borrowing Session
  ) throws(StoreError) -> QueryValue {
    var wanted = 0
    switch position {
    case .first: break
    case .last, .size: wanted = .max
    case .at(let term):
      guard case .integer(let index)? = try value(term, id, view, session).number, index >= 0 else { return .null }
      wanted = Int(clamping: index)
    }
    var found = QueryValue.null
    var count = 0
    try forEachValue(list, id, view, session) { (value) throws(StoreError) in
      if count == wanted || wanted == .max { found = value }
      count += 1
      return count <= wanted
    }
    if case .size = position { return .integer(Int64(count)) }
    return found
  }

  /// Computes `@count`, `@sum` and the others over the elements that are not nil (`@count` includes those), one by one.
  private func aggregate(
    _ function: QueryCollectionOperator, _ list: QueryTerm, _ id: ObjectID, _ view: borrowing RecordView,
    _ session: borrowing Session
  ) throws(StoreError) -> QueryValue {
    var aggregate = QueryAggregate(function)
    try forEachValue(list, id, view, session) { (value) throws(StoreError) in
      aggregate.add(value)
      return true
    }
    return aggregate.value
  }
}
