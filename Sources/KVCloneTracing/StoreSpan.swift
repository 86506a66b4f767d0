/// A span for one operation of a store: a transaction, a fetch, a clone, a migration or a backup.
///
/// Without the package trait `Tracing`, it has no content, and nothing of it remains in optimized code. With the trait,
/// nothing is recorded as long as the process has no tracer.
@usableFromInline
package struct StoreSpan: Sendable {
  #if Tracing
    /// Nil if the process has no tracer.
    @usableFromInline let recording: Recording?
  #endif

  /// Begins a span. Its parent is the current span of the caller.
  ///
  /// - Parameters:
  ///   - operation: the operation.
  ///   - store: the store, or nil if it is not known.
  ///   - collection: the name of the entity, for operations on objects of one entity.
  @inlinable @inline(__always)
  package init(
    _ operation: StoreOperation, of store: @autoclosure () -> (any TracedStore)?,
    collection: @autoclosure () -> String? = nil
  ) {
    #if Tracing
      recording = Recording.isNeeded ? Recording(operation, store()?.spanTarget, collection()) : nil
    #endif
  }

  /// Whether the span is recorded, and results have to be counted for it. False without the trait.
  @inlinable @inline(__always)
  package var isRecording: Bool {
    #if Tracing
      return recording != nil
    #else
      return false
    #endif
  }

  /// Runs the whole operation in the span: the span is current during `body`, and ends after it.
  @inlinable @inline(__always)
  package func run<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    #if Tracing
      if let recording { return try recording.run(body) }
    #endif
    return try body()
  }

  /// Runs a part of the operation, on any thread, with the span as the current one. The span does not end.
  @inlinable @inline(__always)
  package func activate<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    #if Tracing
      if let recording { return try recording.activate(body) }
    #endif
    return try body()
  }

  /// Records the number of results.
  @inlinable @inline(__always)
  package func noteResults(_ count: Int) {
    #if Tracing
      recording?.noteResults(count)
    #endif
  }

  /// Ends the span.
  ///
  /// - Parameter error: the error of the operation, or nil if it succeeded. Only its kind is recorded.
  @inlinable @inline(__always)
  package func end(throwing error: (any Error)? = nil) {
    #if Tracing
      recording?.end(throwing: error)
    #endif
  }

  /// Returns a closure that runs `body` with the current span of this call, on any thread.
  @inlinable @inline(__always)
  package static func carrying(_ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    #if Tracing
      if Recording.isNeeded { return Recording.carrying(body) }
    #endif
    return body
  }
}

/// The operations that have spans. The texts are the values of `db.operation.name`.
@usableFromInline
package enum StoreOperation: String, Sendable {
  case read, write, fetch, clone, merge, migrate, backup
}

/// A store, as its spans describe it.
@usableFromInline
package protocol TracedStore {
  var spanTarget: SpanTarget { get }
}

extension TracedStore {
  package var spanTarget: SpanTarget { SpanTarget() }
}

/// The attributes that all spans of a store share.
@usableFromInline
package struct SpanTarget: Sendable {
  /// The name of the store, for `db.namespace`: that of its directory, or its name in a cluster.
  package let name: String?
  /// The server, for `server.address` and `server.port`; nil for a local store, or if it is not known.
  package let server: (address: String, port: Int?)?
  /// Whether operations of the store wait for a network.
  package let isRemote: Bool

  /// The target of a store in memory or of another unknown kind.
  package init() {
    (name, server, isRemote) = (nil, nil, false)
  }

  /// - Parameter directory: the path of the store's directory.
  package init(directory: String) {
    name = directory.split(separator: "/").last.map(String.init)
    (server, isRemote) = (nil, false)
  }

  package init(name: String, server: (address: String, port: Int?)?) {
    self.name = name
    self.server = server
    isRemote = true
  }
}

/// An error with a kind that a span can record.
package protocol SpanError: Error {
  /// The stable text of the kind, without values of objects.
  var kindName: String { get }
}
