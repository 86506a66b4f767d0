import KVCloneCore
import KVCloneTracing

extension CompiledRequest {
  /// Begins the span of a call that runs the request.
  func span(in session: borrowing Session) -> StoreSpan {
    StoreSpan(.fetch, of: session.engine, collection: entity.name)
  }
}
