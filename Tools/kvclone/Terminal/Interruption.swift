import Dispatch
import Foundation
import KVClone
import KVCloneExplorer
import KVCloneOperations
import Synchronization

/// Ends the process with 130 on an interrupt, without leaving partial results.
///
/// A store needs no cleanup: an unfinished transaction has no effect. Partial files are removed first, and
/// uninterruptible work is completed.
enum Interruption {
  private static let unfinished = Mutex<Set<String>>([])
  private static let steady = Mutex<Void>(())
  private static let load = LoadState()
  /// The cancellation of the running command, if it ends itself; and the signal's exit code, after a signal.
  private static let cancellation = Mutex<(cancel: @Sendable () -> Void, code: Int32?)?>(nil)
  /// Retained for the process's life; written once, before any command runs.
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
    // The command removes its partial results, and ends the process.
    if let cancel { return cancel() }
    // No further batch is committed.
    load.whileNotCommitting { outcome, skips in
      steady.withLock { _ in
        unfinished.withLock { paths in
          for path in paths { unlink(path) }
        }
        let message = "interrupted; \(outcome)"
        let text = isJSON ? json(message, code, skips) : "\(skips?.list ?? "")kvclone: \(message)"
        StandardError.end(text + "\n", code: code)
      }
    }
  }

  private static func json(_ message: String, _ code: Int32, _ skips: LoadSkips?) -> String {
    JSONWriter.object { json in
      json.member("message_type", "exit_error")
      json.member("code", code)
      json.member("kind", "interrupted")
      json.member("message", message)
      skips?.write(to: &json)
    }
  }

  /// Records the commits of a load, so that an interrupt can report what is in the store.
  static func note(_ commit: LoadCommit) { load.note(commit) }

  /// The lines and links that the committed batches of a load have skipped; nil without one, or if the load skips nothing.
  static var committedSkips: LoadSkips? { load.skips }

  /// Runs something short that must not be interrupted.
  static func uninterrupted<R>(_ body: () throws -> R) rethrows -> R {
    // The lock is only for the signal handler: commands run on one thread.
    try steady.withLock { _ in try body() }
  }

  /// Runs something long that can be cancelled, and then throws without leaving partial results: an interrupt cancels
  /// it.
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

  /// Writes a file that appears under its name only when it is complete. A link to a file is followed; a device or a
  /// pipe is written directly.
  ///
  /// - Parameter isForAll: whether others may read it, as far as the process's umask allows: it contains no values of
  ///   the store.
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

  /// Adds the file to errors of writing it.
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

/// The commits of a load. While a commit is in progress its outcome is unknown, and readers wait for its end.
private final class LoadState: Sendable {
  private struct State {
    var isCommitting = false
    var committedCount = 0
    var skips: LoadSkips?
  }

  private let state = Mutex(State())

  var skips: LoadSkips? { state.withLock { $0.skips } }

  func note(_ commit: LoadCommit) {
    state.withLock { state in
      switch commit {
      case .begins: state.isCommitting = true
      case .succeeded(let objectCount, let skips): state = State(committedCount: objectCount, skips: skips)
      case .failed: state.isCommitting = false
      }
    }
  }

  /// Calls `body` with the message for an interrupt and the skipped lines of committed batches, once no commit is in
  /// progress. None begins before it returns.
  func whileNotCommitting(_ body: (String, LoadSkips?) -> Void) {
    while true {
      let isDone = state.withLock { state in
        if state.isCommitting { return false }
        let count = state.committedCount
        body(
          count == 0
            ? "no partial changes remain" : "\(Text.count(count, "object")) committed, no partial changes remain",
          state.skips)
        return true
      }
      if isDone { return }
      usleep(1000)
    }
  }
}
