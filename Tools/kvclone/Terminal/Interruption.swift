import Dispatch
import Foundation
import KVClone
import KVCloneOperations
import Synchronization

/// Ends the process with 130 on an interrupt, and leaves nothing half done.
///
/// A store needs no help: an unfinished transaction is simply not there. Files that are still being written are removed
/// first, and what must not be cut off is waited for.
enum Interruption {
  private static let unfinished = Mutex<Set<String>>([])
  private static let steady = Mutex<Void>(())
  private static let load = LoadState()
  /// What ends the running command, where that is done by the command itself; and the signal's exit code, once there was one.
  private static let cancellation = Mutex<(cancel: @Sendable () -> Void, code: Int32?)?>(nil)
  /// Kept alive for the process's life; written once, before any command runs.
  nonisolated(unsafe) private static var sources: [any DispatchSourceSignal] = []

  static func install(isJSON: Bool) {
    for (number, code) in [(SIGINT, Failure.Code.interrupted), (SIGTERM, 143)] {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { end(code, isJSON: isJSON) }
      source.resume()
      sources.append(source)
    }
  }

  private static func end(_ code: Int32, isJSON: Bool) {
    let cancel = cancellation.withLock { state in
      if state?.code == nil { state?.code = code }
      return state?.cancel
    }
    // The command removes what it has begun, and ends the process.
    if let cancel { return cancel() }
    // No batch is committed from here on.
    load.whileNotCommitting { outcome in
      steady.withLock { _ in
        unfinished.withLock { paths in
          for path in paths { unlink(path) }
        }
        let text =
          isJSON
          ? #"{"message_type":"exit_error","code":\#(code),"kind":"interrupted","message":"interrupted; \#(outcome)"}"#
          : "kvclone: interrupted; \(outcome)"
        StandardError.end(text + "\n", code: code)
      }
    }
  }

  /// Hears of the commits of a load, so that an interrupt can say what is in the store.
  static func note(_ commit: LoadCommit) { load.note(commit) }

  /// Runs something short that must not be cut off.
  static func uninterrupted<R>(_ body: () throws -> R) rethrows -> R {
    // The lock is taken for the signal's sake only: commands run on one thread.
    try steady.withLock { _ in try body() }
  }

  /// Runs something long that can be cancelled, and then throws and leaves nothing: an interrupt cancels it.
  static func cancelling<R>(_ cancel: @escaping @Sendable () -> Void, _ body: () throws -> R) throws -> R {
    cancellation.withLock { $0 = (cancel, nil) }
    defer { cancellation.withLock { $0 = nil } }
    do {
      return try body()
    } catch {
      guard let code = cancellation.withLock({ $0?.code }) else { throw error }
      throw Failure("interrupted", "interrupted; no partial changes remain", code: code)
    }
  }

  /// Writes a file that appears under its name only when it is complete. A link to a file stays one; a device or a pipe is written
  /// as it is.
  ///
  /// - Parameter isForAll: others may read it, as far as the process's umask lets them: it has no values of the store.
  static func writeFile(_ path: String, isForAll: Bool = false, _ body: (FileHandle) throws -> Void) throws {
    var status = stat()
    var target = path
    if stat(path, &status) == 0 {
      switch status.st_mode & S_IFMT {
      case S_IFREG: target = resolvedPath(path)
      case S_IFDIR: throw Failure("invalidDestination", "\(path) is a directory; name a file in it")
      default: return try writeThrough(path, body)
      }
    }
    let temporary = "\(target).\(getpid()).part"
    unfinished.withLock { _ = $0.insert(temporary) }
    defer {
      unlink(temporary)
      unfinished.withLock { _ = $0.remove(temporary) }
    }
    unlink(temporary)
    let handle = try open(temporary, O_CREAT | O_EXCL, isForAll ? 0o666 : 0o600, path)
    defer { try? handle.close() }
    try writing(path) {
      try body(handle)
      try handle.synchronize()
    }
    if rename(temporary, target) != 0 { throw Failure(system: errno, "\(path) cannot be replaced") }
  }

  private static func writeThrough(_ path: String, _ body: (FileHandle) throws -> Void) throws {
    let handle = try open(path, 0, 0, path)
    defer { try? handle.close() }
    try writing(path) { try body(handle) }
  }

  private static func open(_ path: String, _ flags: Int32, _ mode: mode_t, _ name: String) throws -> FileHandle {
    let descriptor = Foundation.open(path, O_WRONLY | O_CLOEXEC | flags, mode)
    if descriptor < 0 { throw Failure(system: errno, "\(name) cannot be created") }
    return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  /// Names the file in errors of writing it.
  private static func writing(_ path: String, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error where error is Failure || error is any KVCloneError {
      throw error
    } catch {
      throw Failure(file: error, "\(path) cannot be written")
    }
  }

  private static func resolvedPath(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}

/// What a load has committed. While a commit is under way nobody knows, and who asks has to wait for its end.
private final class LoadState: Sendable {
  private struct State {
    var isCommitting = false
    var committedCount = 0
  }

  private let state = Mutex(State())

  func note(_ commit: LoadCommit) {
    state.withLock { state in
      switch commit {
      case .begins: state.isCommitting = true
      case .succeeded(let objectCount): state = State(committedCount: objectCount)
      case .failed: state.isCommitting = false
      }
    }
  }

  /// Calls `body` with what an interrupt is to say, once no commit is under way. None begins before it returns.
  func whileNotCommitting(_ body: (String) -> Void) {
    while true {
      let isDone = state.withLock { state in
        if state.isCommitting { return false }
        let count = state.committedCount
        body(
          count == 0
            ? "no partial changes remain" : "\(Text.count(count, "object")) committed, no partial changes remain")
        return true
      }
      if isDone { return }
      usleep(1000)
    }
  }
}
