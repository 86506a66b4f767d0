import Synchronization

/// A value that closures on any thread share.
package final class ContractBox<Value: Sendable>: Sendable {
  private let state: Mutex<Value>

  package init(_ value: Value) { state = Mutex(value) }

  package var value: Value { state.withLock { $0 } }

  package func change<R: Sendable>(_ body: (inout sending Value) -> sending R) -> R { state.withLock(body) }
}
