/// The scopes of reads in a long loop, so that an engine that copies what it reads can free the copies; see
/// ``StorageTransaction/readScope(_:)``.
package struct ReadWindows: ~Copyable {
  private let backend: any StorageBackend
  private var mark: Int
  private var count = 0

  package init(_ storage: borrowing StorageTransaction) {
    backend = storage.backend
    mark = backend.beginReadScope()
  }

  deinit { backend.endReadScope(mark) }

  /// Call it before each element: bytes that were read for earlier elements become invalid. A scope has 1,024 elements.
  package mutating func next() {
    count &+= 1
    if count & 1023 == 0 { renew() }
  }

  /// Ends the scope, and begins the next one.
  package mutating func renew() {
    backend.endReadScope(mark)
    mark = backend.beginReadScope()
  }
}
