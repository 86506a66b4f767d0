import Foundation
import Synchronization
import Testing

@testable import KVCloneLMDB

/// Notifications of writes to a file.
@Suite("Watching a file") struct FileWatcherTests {
  @Test("by the kernel, and without its help", arguments: [false, true])
  func writesAreReported(polls: Bool) async throws {
    let path = NSTemporaryDirectory() + "/kvclone-watch-\(UUID().uuidString)"
    try Data([1]).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    let watcher = FileWatcher(path: path, polls: polls) { continuation.yield() }
    let handle = try #require(FileHandle(forWritingAtPath: path))
    var told = stream.makeAsyncIterator()
    for _ in 0..<3 {
      try handle.write(contentsOf: Data([2]))
      #expect(await told.next() != nil)
    }
    withExtendedLifetime(watcher) {}
  }

  @Test func aFileThatIsNotThereIsPolledFor() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    let watcher = FileWatcher(path: "/nowhere/at/all") { continuation.yield() }
    var told = stream.makeAsyncIterator()
    #expect(await told.next() != nil)
    withExtendedLifetime(watcher) {}
  }

  @Test func afterAWriteThereAreFurtherLooks() async throws {
    let path = NSTemporaryDirectory() + "/kvclone-watch-\(UUID().uuidString)"
    try Data([1]).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    let watcher = FileWatcher(path: path) { continuation.yield() }
    try #require(FileHandle(forWritingAtPath: path)).write(contentsOf: Data([2]))
    var told = stream.makeAsyncIterator()
    for _ in 0..<4 { #expect(await told.next() != nil) }
    withExtendedLifetime(watcher) {}
  }
}
