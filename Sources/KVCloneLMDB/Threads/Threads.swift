import CKVCloneLMDB
import Glibc

/// Threads, as far as other modules need them without importing the C library.
package enum Threads {
  /// A number that no other live thread of this process has.
  package static var currentID: UInt { UInt(pthread_self()) }

  /// Runs `body` on a new thread with a stack of `stackSize` bytes (at least 16 KiB) and waits for it. A body that can
  /// fail returns a `Result`.
  package static func runOnThread<Result: Sendable>(
    stackSize: Int, _ body: @escaping @Sendable () -> Result
  ) throws(LMDBError) -> Result {
    let box = ThreadBox(body)
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    var code = unsafe pthread_attr_setstacksize(&attributes, stackSize)
    guard code == 0 else { throw .io(errno: code, operation: "pthread_attr_setstacksize") }
    var thread = pthread_t()
    let context = unsafe Unmanaged<AnyThreadBox>.passRetained(box)
    code = unsafe pthread_create(
      &thread, &attributes,
      { context in
        guard let context = unsafe context else { return nil }
        unsafe Unmanaged<AnyThreadBox>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
    guard code == 0 else {
      unsafe context.release()
      throw .io(errno: code, operation: "pthread_create")
    }
    code = pthread_join(thread, nil)
    guard code == 0, let result = box.result else { throw .io(errno: code, operation: "pthread_join") }
    return result
  }
}

/// What a new thread runs. A class without type parameters, because a C function pointer cannot capture any.
private class AnyThreadBox {
  func run() {}
}

private final class ThreadBox<Result: Sendable>: AnyThreadBox {
  private let body: @Sendable () -> Result
  /// Written by the new thread before it ends, read after joining it.
  private(set) var result: Result?

  init(_ body: @escaping @Sendable () -> Result) {
    self.body = body
  }

  override func run() {
    result = body()
  }
}
