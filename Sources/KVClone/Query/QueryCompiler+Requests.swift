import KVCloneModel

extension Session {
  /// What makes expressions about an entity's objects ready.
  borrowing func queryCompiler(_ entity: CompiledEntity) -> QueryCompiler {
    QueryCompiler(schema, entity) { [schema, storeUUID] text in try? schema.parse(text, storeUUID: storeUUID).id }
  }
}

extension QueryCompiler {
  /// The term of an expression that gives one value.
  ///
  /// - Throws: `invalidPredicate` also for one that gives many.
  mutating func single(_ expression: QueryExpression) throws(StoreError) -> QueryTerm {
    let term = try term(expression)
    guard !term.isList else {
      throw invalid(
        "\(term.text) leads to many values, and a dictionary has room for one; use a collection operator such as @count",
        term)
    }
    return term
  }

  /// One step of an order.
  mutating func order(_ sort: QuerySortDescriptor) throws(StoreError) -> CompiledRequest.Order {
    try check(sort.options)
    let term = try term(sort.key)
    guard !term.isList, term.kind.isOrdered else {
      throw StoreError(
        .wrongType, "results cannot be sorted by \(term.text), which is \(term.kind.name)", entity: entity.name,
        property: term.path)
    }
    return .init(term: term, ascending: sort.ascending, options: sort.options)
  }
}

extension CompiledRequest.Order {
  /// A value as it is compared.
  func key(_ value: QueryValue) -> QueryValue {
    if case .string(let text) = value { return .string(QueryText.folded(text, options)) }
    return value
  }
}
