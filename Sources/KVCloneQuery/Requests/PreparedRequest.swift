import KVCloneCore
public import KVCloneModel
import Synchronization
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A fetch request that is compiled once and run with different values, like a prepared statement of SQLite or a fetch
/// request template of Core Data.
///
/// ```swift
/// let byCode = try store.prepare(FetchRequest("Item", predicate: try QueryPredicate(format: "code == $code")))
/// let items = try store.read { tx in try tx.fetch(byCode, ["code": 5]) }
/// ```
///
/// The results and their order are the same as for the request with its variables replaced by `substituting(_:)`.
/// Decisions that depend on values, such as the choice of an index, are made for each run. Any number of threads may
/// use a prepared request at once.
///
/// A prepared request belongs to its store, also after the store is closed and reopened. If the model or the indexes
/// have changed by then, the request is compiled again automatically.
public final class PreparedRequest: Sendable {
  /// The original request, with variables in its predicate.
  public let request: FetchRequest
  /// The names of the variables that require a value, without the `$`.
  public let variables: Set<String>

  private let storeUUID: UUID
  private let template: Mutex<RequestTemplate>

  init(_ request: FetchRequest, _ schema: Schema, storeUUID: UUID) throws(StoreError) {
    self.request = request
    variables = request.predicate?.freeVariables ?? []
    self.storeUUID = storeUUID
    template = Mutex(try RequestTemplate(request, schema, storeUUID: storeUUID))
  }

  /// Compiles a fetch request template of the model of a store; nil if it has none with the name.
  static func template(named name: String, of store: ObjectStore) throws(StoreError) -> PreparedRequest? {
    let request: FetchRequest?
    do {
      request = try store.model.fetchRequestFromTemplate(withName: name)
    } catch {
      throw StoreError(
        .invalidPredicate, "the predicate of the fetch request template \(name) cannot be parsed: \(error)")
    }
    guard let request else { return nil }
    return try PreparedRequest(request, store.schema, storeUUID: store.uuid)
  }

  /// Returns the request as compiled for a session's schema.
  func template(for session: borrowing Session) throws(StoreError) -> RequestTemplate {
    let known = template.withLock { $0 }
    if known.schema === session.schema { return known }
    guard session.storeUUID == storeUUID else {
      throw StoreError(
        .invalidPredicate, "the request was prepared by another store; prepare it with the store that runs it",
        entity: request.entityName)
    }
    let fresh = try RequestTemplate(request, session.schema, storeUUID: storeUUID)
    template.withLock { $0 = fresh }
    return fresh
  }
}

/// A request as compiled for one schema, independent of the values of its variables.
final class RequestTemplate: Sendable {
  let schema: Schema
  let frame: RequestFrame
  /// The lookup for the results, if a lookup is enough.
  let lookup: KeyLookup?
  /// The condition; nil if there is no predicate, or if it can only be compiled with its values.
  let condition: OpenCondition?

  init(_ request: FetchRequest, _ schema: Schema, storeUUID: UUID) throws(StoreError) {
    self.schema = schema
    var compiler = try schema.compiler(for: request, storeUUID: storeUUID)
    var condition: OpenCondition?
    if let predicate = request.predicate {
      condition = try compiler.open(predicate)
      if condition == nil { try compiler.checkNames(predicate) }
    }
    self.condition = condition
    frame = try compiler.frame(of: request)
    let entity = compiler.entity
    lookup = request.predicate.flatMap {
      KeyLookup($0, entity, includesSubentities: request.includesSubentities)
    }
  }
}

extension QueryCompiler {
  /// - Throws: `unknownProperty`, for names that can be resolved without the values of variables.
  fileprivate mutating func checkNames(_ predicate: QueryPredicate) throws(StoreError) {
    let nothing = Dictionary(uniqueKeysWithValues: predicate.freeVariables.map { ($0, QueryArgument.null) })
    guard let filled = try? predicate.substituting(nothing) else { return }
    do throws(StoreError) {
      _ = try condition(filled)
    } catch {
      if error.kind == .unknownProperty { throw error }
    }
  }
}

extension FetchExecutor {
  /// - Throws: `invalidPredicate` if a variable has no value, or one that it cannot have; see `compile(_:)`.
  static func compile(
    _ prepared: PreparedRequest, _ values: QueryVariables, isCount: Bool = false,
    use: RequestPlanner.IndexUse = .whereCheaper, in session: borrowing Session
  ) throws(StoreError) -> CompiledRequest {
    let template = try prepared.template(for: session)
    guard let predicate = prepared.request.predicate else {
      return try plan(template.frame, nil, isCount: isCount, use: use, in: session)
    }
    let binder = QueryBinder(compiler: QueryCompiler(template.frame.entity, in: session), values: values)
    var condition: QueryCondition?
    if let open = template.condition { condition = try binder.condition(open) }
    if condition == nil { condition = try binder.condition(predicate) }
    return try plan(template.frame, condition, isCount: isCount, use: use, in: session)
  }
}
