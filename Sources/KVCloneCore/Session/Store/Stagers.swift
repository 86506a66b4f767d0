import Synchronization

/// The staged uploads of one open store, each with a byte that it holds, see ``UploadLeases``.
///
/// Bytes are claimed and tested under the store's write lock, which excludes other processes. Holding and releasing a
/// byte can wait for the network, so the mutex is not locked at that time.
final class Stagers: StoreResource {
  private struct State {
    var leases: (any UploadLeases)?
    /// The bytes of this process's uploads. The kernel does not distinguish them from free ones, because this process
    /// has locked them.
    var own: Set<UInt16> = []
    /// The bytes that a thread is holding or releasing. Others leave them alone: the release of one thread would also
    /// end the hold of another one.
    var busy: Set<UInt16> = []
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
    for byte in 1...UInt16.max where !named.contains(byte) {
      if try hold(byte, claims: true) { return byte }
    }
    throw StoreError(
      .limitExceeded, "65,535 staged uploads are already in progress; wait until one of them has ended")
  }

  /// Releases a byte: from now on, any process can sweep its upload.
  func release(_ byte: UInt16) {
    let leases = state.withLock { state -> (any UploadLeases)? in
      guard state.own.remove(byte) != nil, state.leases != nil else { return nil }
      state.busy.insert(byte)
      return state.leases
    }
    guard let leases else { return }
    leases.release(byte)
    state.withLock { _ = $0.busy.remove(byte) }
  }

  /// Whether the upload with this byte has ended: its process is dead, or released the byte. A byte that another thread
  /// is holding or releasing counts as not ended yet.
  func isGone(_ byte: UInt16) throws(StoreError) -> Bool { try hold(byte, claims: false) }

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

  /// Holds a byte; returns false if this process or another one uses it.
  ///
  /// - Parameter claims: whether the byte becomes this process's; otherwise it is released again.
  private func hold(_ byte: UInt16, claims: Bool) throws(StoreError) -> Bool {
    let begun: Result<(any UploadLeases)??, StoreError> = state.withLock { state in
      if state.isClosed { return .failure(Self.closed) }
      do throws(StoreError) {
        if state.leases == nil { state.leases = try engine.uploadLeases() }
      } catch {
        return .failure(error)
      }
      let isFree = !state.own.contains(byte) && state.busy.insert(byte).inserted
      return .success(isFree ? .some(state.leases) : nil)
    }
    // An engine that is not shared has no leases, and no other uploads than these.
    guard let leases = try begun.get() else { return false }
    defer { state.withLock { _ = $0.busy.remove(byte) } }
    if let leases, try !leases.hold(byte) { return false }
    let isOwn = claims && state.withLock { !$0.isClosed && $0.own.insert(byte).inserted }
    if !isOwn { leases?.release(byte) }
    if claims, !isOwn { throw Self.closed }
    return true
  }

  private static var closed: StoreError {
    StoreError(.closed, "the store was closed, which ended its staged uploads; open it again")
  }
}
