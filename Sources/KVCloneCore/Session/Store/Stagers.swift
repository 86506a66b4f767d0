import KVCloneLMDB
import Synchronization

/// The uploads of one open store, each with a byte of the side file that it has locked.
///
/// Bytes are taken, and tested, by whoever holds the store's write lock, so that no other process does the same meanwhile.
final class Stagers: StoreResource {
  private struct State {
    var file: StagerLockFile?
    /// The bytes of this process's uploads. The kernel cannot tell them from free ones: they are locked by ourselves.
    var own: Set<UInt16> = []
    var isClosed = false
  }

  /// The store's directory and which file its data is; nil for an engine without one, which is alone with its data.
  private let place: (directory: String, data: FileSystem.Identity)?
  private let state = Mutex(State())

  /// - Parameter isReadOnly: whether there will be no upload.
  init(_ files: (any EngineFiles)?, isReadOnly: Bool) {
    place = files.map { ($0.directory, $0.identity) }
    if isReadOnly { return }
    // Now, while the directory has its name for certain. What goes wrong is told to the first upload, which tries again: a
    // full disk is no reason not to open.
    state.withLock { [place] state in
      if let place { state.file = try? StagerLockFile(directory: place.directory, beside: place.data) }
    }
  }

  /// Takes a byte that nobody has and no pending blob names.
  ///
  /// - Parameter named: the bytes that pending blobs name, those of dead stagers too: taking one would keep what they left
  ///   from being swept.
  func claim(except named: Set<UInt16>) throws(StoreError) -> UInt16 {
    try withState { (state) throws(StoreError) in
      for byte in 1...UInt16.max where !named.contains(byte) && !state.own.contains(byte) {
        if let file = state.file {
          let isFree = try storeErrors { () throws(LMDBError) in try file.lock(byte) }
          if !isFree { continue }
        }
        state.own.insert(byte)
        return byte
      }
      throw StoreError(
        .limitExceeded, "65,535 staged uploads are already in progress; wait until one of them has ended")
    }
  }

  /// Gives a byte back: what its upload has left can be swept from now on, by anybody.
  func release(_ byte: UInt16) {
    state.withLock { state in
      guard state.own.remove(byte) != nil else { return }
      state.file?.unlock(byte)
    }
  }

  /// Whether the upload with this byte has ended: its process is gone, or gave the byte back.
  func isGone(_ byte: UInt16) throws(StoreError) -> Bool {
    try withState { (state) throws(StoreError) in
      if state.own.contains(byte) { return false }
      guard let file = state.file else { return true }
      guard try storeErrors({ () throws(LMDBError) in try file.lock(byte) }) else { return false }
      file.unlock(byte)
      return true
    }
  }

  func isOwn(_ byte: UInt16) -> Bool {
    state.withLock { $0.own.contains(byte) }
  }

  /// Lets go of every byte; there are no more uploads.
  package func close() {
    state.withLock { state in
      state.isClosed = true
      state.own.removeAll()
      state.file = nil
    }
  }

  private func withState<R>(_ body: (inout State) throws(StoreError) -> R) throws(StoreError) -> R {
    let result: Result<R, StoreError> = state.withLock { state in
      do throws(StoreError) {
        if state.isClosed {
          throw StoreError(.closed, "the store was closed, which ended its staged uploads; open it again")
        }
        if state.file == nil, let place {
          state.file = try storeErrors { () throws(LMDBError) in
            try StagerLockFile(directory: place.directory, beside: place.data)
          }
        }
        return .success(try body(&state))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}
