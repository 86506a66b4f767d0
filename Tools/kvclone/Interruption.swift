import Dispatch
import Foundation
import KVClone
import Synchronization

/// Ends the process with 130 on an interrupt, and leaves nothing half done.
///
/// A store needs no help: an unfinished transaction is simply not there. Files that are still being written are removed
/// first, and what must not be cut off is waited for.
enum Interruption {
  private static let unfinished = Mutex<Set<String>>([])
  private static let steady = Mutex<Void>(())
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
    steady.withLock { _ in
      unfinished.withLock { paths in
        for path in paths { unlink(path) }
      }
      let text =
        isJSON
        ? #"{"message_type":"exit_error","code":\#(code),"kind":"interrupted","message":"interrupted; nothing is half done"}"#
        : "kvclone: interrupted; nothing is half done"
      StandardError.write(text + "\n")
      _exit(code)
    }
  }

  /// Runs something short that must not be cut off.
  static func uninterrupted<R>(_ body: () throws -> R) rethrows -> R {
    // The lock is taken for the signal's sake only: commands run on one thread.
    try steady.withLock { _ in try body() }
  }

  /// Writes a file that appears under its name only when it is complete.
  static func writeFile(_ path: String, _ body: (FileHandle) throws -> Void) throws {
    let temporary = "\(path).\(getpid()).part"
    unfinished.withLock { _ = $0.insert(temporary) }
    defer {
      unlink(temporary)
      unfinished.withLock { _ = $0.remove(temporary) }
    }
    guard FileManager.default.createFile(atPath: temporary, contents: nil, attributes: [.posixPermissions: 0o600]),
      let handle = FileHandle(forWritingAtPath: temporary)
    else { throw Failure("io", "\(path) cannot be created; check its directory") }
    defer { try? handle.close() }
    try body(handle)
    try handle.synchronize()
    guard rename(temporary, path) == 0 else { throw Failure("io", "\(path) cannot be replaced; check its permissions") }
  }
}
