#if Tracing
  import Tracing

  /// The content of a ``StoreSpan`` that a tracer records.
  @usableFromInline
  final class Recording: Sendable {
    /// Whether the process, or the current task, has a tracer.
    @usableFromInline static var isNeeded: Bool { !(InstrumentationSystem.instrument is NoOpInstrument) }

    private let tracer: any Tracer
    private let span: any Span

    @usableFromInline
    init(_ operation: StoreOperation, _ target: SpanTarget?, _ collection: String?) {
      tracer = InstrumentationSystem.tracer
      // Names of stores are not part of the span's name: a cluster can have thousands.
      let name = collection.map { "\(operation.rawValue) \($0)" } ?? operation.rawValue
      span = tracer.startAnySpan(
        name, context: ServiceContext.current ?? .topLevel, ofKind: target?.isRemote ?? false ? .client : .internal)
      var attributes = SpanAttributes()
      attributes["db.system.name"] = "kvclone"
      attributes["db.operation.name"] = operation.rawValue
      if let collection { attributes["db.collection.name"] = collection }
      if let name = target?.name { attributes["db.namespace"] = name }
      if let server = target?.server {
        attributes["server.address"] = server.address
        if let port = server.port { attributes["server.port"] = port }
      }
      span.attributes = attributes
    }

    @usableFromInline
    func run<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
      do throws(E) {
        let result = try Self.with(span.context, body)
        end(throwing: nil)
        return result
      } catch {
        end(throwing: error)
        throw error
      }
    }

    @usableFromInline
    func activate<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
      try Self.with(span.context, tracer, body)
    }

    @usableFromInline
    func noteResults(_ count: Int) {
      span.attributes["db.response.returned_rows"] = count
    }

    @usableFromInline
    func end(throwing error: (any Error)?) {
      if let error {
        // Messages are left out, because errors of the caller's closures can contain values.
        let kind = (error as? any SpanError)?.kindName ?? String(reflecting: type(of: error))
        span.attributes["error.type"] = kind
        span.setStatus(SpanStatus(code: .error))
      }
      span.end()
    }

    @usableFromInline
    static func carrying(_ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
      let (context, tracer) = (ServiceContext.current, InstrumentationSystem.tracer)
      return { with(context, tracer) { body() } }
    }

    /// - Parameter tracer: that of the original task. On another thread, the current one is that of the process.
    private static func with<R, E: Error>(
      _ context: ServiceContext?, _ tracer: any Tracer, _ body: () throws(E) -> R
    ) throws(E) -> R {
      try withTracer(tracer) { () throws(E) in try with(context, body) }
    }

    private static func with<R, E: Error>(
      _ context: ServiceContext?, _ body: () throws(E) -> R
    ) throws(E) -> R {
      let result = ServiceContext.withValue(context) { () -> Result<R, E> in
        do throws(E) { return .success(try body()) } catch { return .failure(error) }
      }
      return try result.get()
    }
  }
#endif
