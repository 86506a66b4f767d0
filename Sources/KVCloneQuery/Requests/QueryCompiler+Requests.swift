import Foundation
package import KVCloneCore
import KVCloneModel

extension QueryCompiler {
  /// Creates a compiler for expressions about an entity's objects.
  package init(_ entity: CompiledEntity, in session: borrowing Session) {
    self.init(session.schema, entity, storeUUID: session.storeUUID)
  }
}

extension Schema {
  /// Returns a compiler for a request, after checking the request's limits and formats.
  ///
  /// - Throws: `unknownEntity`, `invalidPredicate`.
  func compiler(for request: FetchRequest, storeUUID: UUID) throws(StoreError) -> QueryCompiler {
    let entity = try entity(request.entityName)
    guard request.fetchLimit >= 0, request.fetchOffset >= 0 else {
      throw StoreError(
        .invalidPredicate, "the limit and the offset of a request must not be negative; pass 0 or more",
        entity: entity.name)
    }
    let compiler = QueryCompiler(self, entity, storeUUID: storeUUID)
    if request.predicate?.isTooDeep ?? false || request.sortDescriptors.contains(where: { $0.key.isTooDeep }) {
      throw compiler.tooDeep
    }
    return compiler
  }
}

extension QueryCompiler {
  package var tooDeep: StoreError {
    invalid("the predicate or a sort key is nested too deeply; reduce its nesting")
  }

  /// Compiles the parts of a request other than its condition.
  mutating func frame(of request: FetchRequest) throws(StoreError) -> RequestFrame {
    var order: [CompiledRequest.Order] = []
    for sort in request.sortDescriptors { order.append(try self.order(sort)) }
    return RequestFrame(request, entity, order: order)
  }

  /// Compiles an expression with a single value.
  ///
  /// - Throws: `invalidPredicate` also for an expression with many values.
  mutating func single(_ expression: QueryExpression) throws(StoreError) -> QueryTerm {
    let term = try term(expression)
    guard !term.isList else {
      throw invalid(
        "\(term.text) is to-many, and a dictionary entry is a single value; use a collection operator such as @count",
        term)
    }
    return term
  }

  /// Compiles one sort descriptor.
  mutating func order(_ sort: QuerySortDescriptor) throws(StoreError) -> CompiledRequest.Order {
    try check(sort.options, isSortKey: true)
    let term = try term(sort.key)
    guard !term.isList, term.kind.isOrdered else {
      throw StoreError(
        .wrongType, "results cannot be sorted by \(term.text), which is \(term.kind.name); sort by another key",
        entity: entity.name,
        property: term.path)
    }
    return .init(term: term, ascending: sort.ascending, options: sort.options)
  }
}

extension CompiledRequest.Order {
  /// Returns the sort key of a value.
  func key(_ value: QueryValue) -> QueryValue {
    guard case .string(let text) = value else { return value }
    let folded = QueryText.folded(text, options)
    return .string(options.contains(.numeric) ? QueryText.numericKey(folded) : folded)
  }
}
