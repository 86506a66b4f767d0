import Foundation
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVCloneLMDB

/// One writer at a time, with a timeout, a name, and no deadlock of a writer with itself.
@Suite struct WriterTests {
  let store: TemporaryStore
  let environment: LMDBEnvironment
  let table: LMDBTable

  init() throws {
    store = try TemporaryStore()
    environment = try store.create()
    table = try environment.table(named: "a")
  }

  @Test func refusesANestedWrite() throws {
    var writer = try environment.beginWrite(label: "outer")
    #expect(throws: LMDBError.nestedWrite) { _ = try environment.beginWrite() }
    #expect(throws: LMDBError.nestedWrite) { try environment.openTables(["z"], create: true) }
    #expect(throws: LMDBError.nestedWrite) { try environment.openTables(["a"], create: false) }
    try writer.put(table, "k", "1")
    try writer.commit()
    _ = try environment.beginWrite(timeout: .zero)
  }

  @Test func namesTheThreadThatWrites() throws {
    #expect(environment.currentWriter == nil)
    let writer = try environment.beginWrite(label: "import\n of pictures")
    #expect(environment.currentWriter?.label == "import of pictures")
    let environment = environment
    let outcome = try onThread(stackSize: 1 << 19) { () -> LMDBError? in
      do throws(LMDBError) {
        _ = try environment.beginWrite(timeout: .milliseconds(5))
        return nil
      } catch {
        return error
      }
    }
    guard case .busy(let holder?) = outcome else {
      Issue.record("not busy: \(String(describing: outcome))")
      return
    }
    #expect(holder.pid == getpid() && holder.isThisProcess && holder.label == "import of pictures")
    writer.abort()
    #expect(environment.currentWriter == nil)
    #expect(try onThread(stackSize: 1 << 19) { (try? environment.beginWrite(timeout: .zero)) != nil })
  }

  @Test func everyWaitingThreadGetsItsTurn() throws {
    let environment = environment
    let table = table
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 8) { worker in
      for _ in 0..<25 {
        do {
          var writer = try environment.beginWrite(timeout: .seconds(60), label: "worker \(worker)")
          let count = Int(try writer.text(table, "count") ?? "0") ?? 0
          try writer.put(table, "count", String(count + 1))
          try writer.commit()
        } catch {
          failures.withLock { $0.append(String(describing: error)) }
        }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(try environment.beginRead().text(table, "count") == "200")
  }

  /// A second open file description holds the lock as another process would.
  @Test func waitsForAnotherProcess() throws {
    let other = try WriterLockFile(path: store.path + "/writer.lock")
    try other.acquire(deadline: nil, label: "backup")
    #expect(throws: (any Error).self) { _ = try environment.beginWrite(timeout: .milliseconds(3)) }
    do throws(LMDBError) {
      _ = try environment.beginWrite(timeout: .zero)
    } catch {
      guard case .busy(let holder?) = error else { throw error }
      #expect(holder.label == "backup" && !holder.isThisProcess && holder.sinceNanoseconds > 0)
      #expect(error.message.contains("backup"))
    }
    #expect(environment.currentWriter?.label == "backup")
    // Closing another descriptor of the file drops no open file description lock.
    _ = try WriterLockFile(path: store.path + "/writer.lock")
    #expect(throws: (any Error).self) { _ = try environment.beginWrite(timeout: .zero) }
    // The failed attempts left the slot free.
    #expect(environment.currentWriter?.isThisProcess == false)
    other.release()
    _ = try environment.beginWrite(timeout: .zero)
    #expect(environment.currentWriter == nil)
  }

  @Test func longLabelsAreCutBetweenCharacters() {
    #expect(WriterLockFile.cleaned(String(repeating: "ä", count: 40)).utf8.count == 64)
    #expect(WriterLockFile.cleaned("a" + String(repeating: "ä", count: 40)).utf8.count == 63)
  }

  static let python = "/usr/bin/python3"

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: python), "needs \(python)"))
  func aKilledHolderLeavesNothing() throws {
    let script = """
      import fcntl, struct, sys, time
      f = open(sys.argv[1], "r+b", buffering=0)
      fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
      f.write(b"4711 12 killed one\\n")
      print("locked", flush=True)
      time.sleep(60)
      """
    let holder = Process()
    holder.executableURL = URL(fileURLWithPath: Self.python)
    holder.arguments = ["-c", script, store.path + "/writer.lock"]
    let output = Pipe()
    holder.standardOutput = output
    try holder.run()
    // A pipe may deliver the word and its line end separately.
    #expect(output.fileHandleForReading.availableData.starts(with: Data("locked".utf8)))
    #expect(environment.currentWriter?.pid == 4711)
    #expect(throws: (any Error).self) { _ = try environment.beginWrite(timeout: .zero) }
    kill(holder.processIdentifier, SIGKILL)
    holder.waitUntilExit()
    _ = try environment.beginWrite(timeout: .zero)
  }

  @Test(
    .enabled(
      if: ProcessInfo.processInfo.environment["KVCLONE_SANITIZER"] != "thread",
      "the maps of other tests may take all addresses that the thread sanitizer leaves"))
  func followsAFileThatAnotherEnvironmentGrew() throws {
    environment.close()
    var options = LMDBOptions()
    options.mapSize = 1 << 20
    let small = try store.open(options)
    let table = try small.openTables(["a"], create: false)[0]
    // As another process would do it, bypassing the registry.
    options.mapSize = 64 << 20
    let raw = try LMDBEnvironment.openRaw(store.path, options, minimumMap: 0, deadline: options.openingDeadline)
    let other = LMDBEnvironment(
      raw: raw, directory: store.path, options: options, identity: .init(device: 0, inode: 0), lockFile: nil,
      isShorterThanLastPage: false)
    let otherTable = try other.openTables(["a"], create: false)[0]
    _ = try small.beginRead()
    let pinned = try small.beginRead()
    var writer = try other.beginWrite()
    try writer.put(otherTable, "k", String(repeating: "x", count: 4 << 20))
    try writer.commit()
    #expect(throws: LMDBError.mapResized) { _ = try small.beginRead() }
    #expect(throws: LMDBError.mapResized) { _ = try small.beginWrite() }
    #expect(try pinned.text(table, "k") == nil)
    _ = consume pinned
    #expect(try small.beginRead().text(table, "k")?.utf8.count == 4 << 20)
    #expect(try small.info().mapSize > 4 << 20)
  }
}
