import Synchronization

/// The staged uploads of one open store, each with a byte that it holds, see ``UploadLeases``.
///
/// Bytes are claimed and tested under the store's write lock, which excludes other processes.
final class Stagers: StoreResource {
  private struct State {
    var leases: (any UploadLeases)?
    /// The bytes of this process's uploads. The kernel does not distinguish them from free ones, because this process
    /// has locked them.
    var own: Set<UInt16> = []
    var isClosed = false
  }

  private let engine: any StorageEngine
  private let state = Mutex(State())

  /// - Parameter isReadOnly: whether there will be no upload.
  init(_ engine: any StorageEngine, isReadOnly: Bool) {
    self.engine = engine
    if isReadOnly { return }
    // Now, while the path certainly leads to the directory. Errors are reported by the first upload, which tries again:
    // a full disk must not prevent opening.
    state.withLock { $0.leases = (try? engine.uploadLeases()) ?? nil }
  }

  /// Claims a byte that is neither locked nor referenced by a pending blob.
  ///
  /// - Parameter named: the bytes that pending blobs reference, including those of dead stagers: claiming one would
  ///   protect their blobs from the sweep.
  func claim(except named: Set<UInt16>) throws(StoreError) -> UInt16 {
    try withState { (state) throws(StoreError) in
      for byte in 1...UInt16.max where !named.contains(byte) && !state.own.contains(byte) {
        if let leases = state.leases, try !leases.hold(byte) { continue }
        state.own.insert(byte)
        return byte
      }
      throw StoreError(
        .limitExceeded, "65,535 staged uploads are already in progress; wait until one of them has ended")
    }
  }

  /// Releases a byte: from now on, any process can sweep its upload.
  func release(_ byte: UInt16) {
    state.withLock { state in
      guard state.own.remove(byte) != nil else { return }
      state.leases?.release(byte)
    }
  }

  /// Whether the upload with this byte has ended: its process is dead, or released the byte.
  func isGone(_ byte: UInt16) throws(StoreError) -> Bool {
    try withState { (state) throws(StoreError) in
      if state.own.contains(byte) { return false }
      // An engine that is not shared has no other uploads than these.
      guard let leases = state.leases else { return true }
      guard try leases.hold(byte) else { return false }
      leases.release(byte)
      return true
    }
  }

  func isOwn(_ byte: UInt16) -> Bool {
    state.withLock { $0.own.contains(byte) }
  }

  /// Releases all bytes; there are no more uploads.
  package func close() {
    state.withLock { state in
      state.isClosed = true
      state.own.removeAll()
      state.leases = nil
    }
  }

  private func withState<R>(_ body: (inout State) throws(StoreError) -> R) throws(StoreError) -> R {
    let result: Result<R, StoreError> = state.withLock { state in
      do throws(StoreError) {
        if state.isClosed {
          throw StoreError(.closed, "the store was closed, which ended its staged uploads; open it again")
        }
        if state.leases == nil { state.leases = try engine.uploadLeases() }
        return .success(try body(&state))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}
