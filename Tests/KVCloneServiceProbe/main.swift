// Runs a store as a service, in this process and as the example of the documentation, and prints each failed
// expectation. `Tools/service` builds and runs it.
#if Service
  import CoreMetrics
  import Foundation
  import KVClone
  import KVCloneService
  import Logging
  import MetricsTestKit
  import ServiceLifecycle
  import Synchronization

  /// The expectations that failed.
  final class Findings: Sendable {
    private let texts = Mutex<[String]>([])

    func expect(_ isSo: Bool, _ what: String) {
      if !isSo { texts.withLock { $0.append(what) } }
    }

    func finish() -> Never {
      let found = texts.withLock { $0 }
      for text in found { print("✘ \(text)") }
      print(found.isEmpty ? "the service works" : "\(found.count) things are wrong")
      exit(found.isEmpty ? 0 : 1)
    }
  }

  /// A flag that another thread sets once.
  final class Flag: Sendable {
    private let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
  }

  struct Probe {
    let findings = Findings()
    let root: String
    let model = ManagedObjectModel("Notes") {
      EntityDescription("Note") { AttributeDescription("title", .string) }
    }

    init() throws {
      root = NSTemporaryDirectory() + "/kvclone-service-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    }

    func run() async throws {
      defer { try? FileManager.default.removeItem(atPath: root) }
      try await stopInTheMiddleOfAWrite()
      try await readFromElsewhere()
      try await runTheExample()
      #if Configuration
        checkConfiguration()
      #endif
      #if Tracing
        try await checkSpans()
      #endif
    }

    /// The age of another process's reader is unknown in a store without a history, and the gauge reports this.
    func readFromElsewhere() async throws {
      let store = try ObjectStore.create(at: root + "/three", model: model)
      var configuration = StoreServiceConfiguration()
      configuration.metricsInterval = .milliseconds(20)
      let metrics = TestMetrics()
      configuration.metricsFactory = metrics
      var logger = Logger(label: "probe")
      logger.logLevel = .error
      let service = StoreService(store, configuration: configuration, logger: logger)
      let group = ServiceGroup(services: [service], logger: logger)
      let running = Task { try await group.run() }
      func lastAge() -> Double? {
        (try? metrics.expectGauge("kvclone_oldest_reader_age_seconds", [])).flatMap(\.lastValue)
      }
      try await eventually("an age where nobody reads") { lastAge() == 0 }
      let reader = Process()
      reader.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
      reader.arguments = ["read", root + "/three"]
      let (input, output) = (Pipe(), Pipe())
      reader.standardInput = input
      reader.standardOutput = output
      try reader.run()
      _ = output.fileHandleForReading.availableData
      try await service.write { tx in _ = try tx.insert("Note") }
      try await eventually("an age that is no number") { lastAge()?.isNaN == true }
      try input.fileHandleForWriting.close()
      reader.waitUntilExit()
      try await eventually("an age again") { lastAge() == 0 }
      await group.triggerGracefulShutdown()
      try await running.value
    }

    /// Waits for a condition that another task or process fulfils; one minute is far more than it takes.
    func eventually(_ what: String, _ isSo: () throws -> Bool) async throws {
      for _ in 0..<6_000 {
        if try isSo() { return }
        try await Task.sleep(for: .milliseconds(10))
      }
      findings.expect(false, "\(what) never happened")
    }

    /// A write in progress is committed when a signal stops the process, and the store is closed after it.
    func stopInTheMiddleOfAWrite() async throws {
      let store = try ObjectStore.create(at: root + "/one", model: model)
      var configuration = StoreServiceConfiguration()
      configuration.name = "one"
      configuration.metricsInterval = .milliseconds(20)
      configuration.writerPatience = .milliseconds(1)
      let metrics = TestMetrics()
      configuration.metricsFactory = metrics
      var logger = Logger(label: "probe")
      logger.logLevel = .error
      let service = StoreService(store, configuration: configuration, logger: logger)
      findings.expect(!service.health().isReady && service.health().isLive, "live and not ready before the start")
      let group = ServiceGroup(services: [service], logger: logger)
      let running = Task { try await group.run() }
      try await eventually("readiness") { service.health().isReady && service.health().problems.isEmpty }
      try await service.write { tx in _ = try tx.insert("Note", ["title": "first"]) }
      do {
        try await service.write { tx in _ = try tx.insert("Nobody") }
        findings.expect(false, "an unknown entity was accepted")
      } catch {}
      try await eventually("the metrics of a commit") { metrics.counterTotal(label: "kvclone_commits_total") > 0 }
      let gate = DispatchSemaphore(value: 0)
      let isWriting = Flag()
      let last = Task {
        try await service.write(label: "slow") { tx in
          isWriting.set()
          gate.wait()
          _ = try tx.insert("Note", ["title": "last"])
        }
      }
      try await eventually("the slow write") { isWriting.isSet }
      try await Task.sleep(for: .milliseconds(20))
      let busy = service.health()
      findings.expect(busy.isLive && !busy.isReady, "not ready while the write lock is held for long: \(busy)")
      findings.expect(busy.problems.contains { $0.contains("slow") }, "who holds it is named: \(busy)")
      await group.triggerGracefulShutdown()
      try await eventually("the stop") { service.health().problems.contains { $0.contains("is stopping") } }
      gate.signal()
      try await running.value
      try await last.value
      findings.expect(!service.health().isReady && service.health().isLive, "live and not ready after the stop")
      do {
        try await service.write { tx in _ = try tx.insert("Note") }
        findings.expect(false, "a stopped service writes")
      } catch let error as StoreError {
        findings.expect(error.kind == .closed, "a stopped service says \(error.kind)")
      }
      try check(metrics)
      let reopened = try ObjectStore.open(at: root + "/one")
      defer { reopened.close() }
      findings.expect(try reopened.info().objectCount == 2, "both writes are there")
      findings.expect(try reopened.check().issues.isEmpty, "the store is sound")
    }

    func check(_ metrics: TestMetrics) throws {
      let store = [("store", "one")]
      func last(_ label: String, _ dimensions: [(String, String)] = []) throws -> Double? {
        try metrics.expectGauge(label, store + dimensions).lastValue
      }
      findings.expect(try last("kvclone_objects", [("entity", "Note")]) == 2, "the last metrics count both objects")
      findings.expect(try last("kvclone_file_bytes") ?? 0 > 8_192, "bytes of the file")
      findings.expect(try last("kvclone_pages", [("state", "used")]) ?? 0 > 2, "pages in use")
      for label in ["snapshots", "readers", "oldest_reader_lag_commits", "oldest_reader_age_seconds"] {
        findings.expect(try last("kvclone_\(label)") == 0, "\(label) is 0")
      }
      findings.expect(
        try metrics.expectGauge("kvclone_writer_held_seconds", store).values.contains { $0 > 0 }, "the writer was seen")
      findings.expect(
        try metrics.expectTimer("kvclone_write_duration", store).values.count == 2, "two writes were timed")
      findings.expect(metrics.counterTotal(label: "kvclone_writes_failed_total") == 2, "two failed")
      findings.expect(metrics.counterTotal(label: "kvclone_commits_total") == 2, "two were committed")
    }

    /// Holds the write lock, in this process, while `body` runs.
    func holdTheStore(at path: String, while body: () async throws -> Void) async throws {
      let store = try ObjectStore.open(at: path)
      defer { store.close() }
      let gate = DispatchSemaphore(value: 0)
      let isWriting = Flag()
      let writer = Task {
        try await store.write { _ in
          isWriting.set()
          gate.wait()
        }
      }
      try await eventually("the lock of another process") { isWriting.isSet }
      let result: Result<Void, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      gate.signal()
      try await writer.value
      try result.get()
    }

    /// Runs the example as a separate process: it loads each file once, puts rejected ones aside, and on SIGTERM ends
    /// after the file in progress.
    func runTheExample() async throws {
      let inbox = root + "/inbox"
      try FileManager.default.createDirectory(atPath: inbox, withIntermediateDirectories: true)
      try model.write(to: root + "/Notes.xcdatamodeld")
      let process = Process()
      let beside = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      process.executableURL = beside.appending(path: "KVCloneInbox")
      process.arguments = [root + "/two", root + "/Notes.xcdatamodeld", inbox, root + "/ready"]
      let shim = makeShim()
      let fault = root + "/fault"
      var environment = ProcessInfo.processInfo.environment
      environment["LD_PRELOAD"] = shim
      environment["KVCLONE_PROBE_FAULT"] = fault
      process.environment = environment
      process.standardError = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      // A leftover file of a killed process, and a file that has no final name yet.
      let line = #"{"id":"Note/1","attributes":{"title":"a"}}"# + "\n"
      let taken = URL(fileURLWithPath: inbox).appending(path: "work")
      try FileManager.default.createDirectory(at: taken, withIntermediateDirectories: true)
      try Data(line.utf8).write(to: taken.appending(path: "killed.ndjson"))
      try Data(line.prefix(9).utf8).write(to: URL(fileURLWithPath: inbox + "/half.ndjson.part"))
      try process.run()
      defer { if process.isRunning { process.terminate() } }
      func isThere(_ name: String) -> Bool { FileManager.default.fileExists(atPath: "\(inbox)/\(name)") }
      func isReady() -> Bool { FileManager.default.fileExists(atPath: root + "/ready") }
      func put(_ lines: String, as name: String) throws {
        try Data(lines.utf8).write(to: URL(fileURLWithPath: "\(root)/\(name)"))
        try FileManager.default.moveItem(atPath: "\(root)/\(name)", toPath: "\(inbox)/\(name)")
      }
      try await eventually("the example's readiness") { isReady() }
      try await eventually("what was in work set aside") { isThere("unsure/killed.ndjson") }
      try put(line, as: "a.ndjson")
      try put("no JSON\n", as: "b.ndjson")
      try await eventually("a loaded file") { isThere("done/a.ndjson") }
      try await eventually("a refused file") { isThere("refused/b.ndjson") }
      // A file with a name that is already in use is loaded once, under another name.
      try put(line, as: "a.ndjson")
      try await eventually("a second file of the same name") { isThere("done/a-2.ndjson") }
      try await holdTheStore(at: root + "/two") {
        try put(line, as: "d.ndjson")
        try await eventually("an attempt while somebody else writes") { isThere("work/d.ndjson") }
        try await eventually("a file that waits for the store") { isThere("d.ndjson") }
      }
      try await eventually("a file that had to wait") { isThere("done/d.ndjson") }
      var unknownCount = 0
      if shim != nil {
        // From here on the disk accepts no commit, and a commit's outcome is unknown.
        try Data().write(to: URL(fileURLWithPath: fault))
        try put(line, as: "e.ndjson")
        try await eventually("a file of which nobody knows whether it was loaded") { isThere("unsure/e.ndjson") }
        try FileManager.default.removeItem(atPath: fault)
        try put(line, as: "f.ndjson")
        try await eventually("a file after the disk has recovered") { isThere("done/f.ndjson") }
        unknownCount = 1
      } else {
        print("no C compiler (cc): commits with an unknown outcome were left out")
      }
      try put((1...20_000).map { #"{"id":"Note/\#($0)"}"# }.joined(separator: "\n"), as: "c.ndjson")
      try await Task.sleep(for: .milliseconds(250))
      process.terminate()
      process.waitUntilExit()
      findings.expect(
        process.terminationReason == .exit && process.terminationStatus == 0,
        "the example ended with \(process.terminationStatus)")
      findings.expect(!isReady(), "a stopped example is not ready")
      findings.expect(isThere("half.ndjson.part"), "a file without its name is left alone")
      // Whether the last file was begun depends on the machine, but it must not be loaded partially.
      let isLoaded = isThere("done/c.ndjson")
      findings.expect(isLoaded != isThere("c.ndjson"), "the last file is in one place")
      let store = try ObjectStore.open(at: root + "/two")
      defer { store.close() }
      // The files after the unknown commit, and possibly that commit itself.
      let least = (isLoaded ? 20_003 : 3) + unknownCount
      let count = try store.info().objectCount
      findings.expect(
        (least...least + unknownCount).contains(count),
        "what is done is in the store, and nothing else: \(count) instead of \(least)")
      findings.expect(try store.check().issues.isEmpty, "the example's store is sound")
    }

    /// Builds a library that fails writes of meta pages (120 bytes in LMDB 0.9) while a file exists, and every sync
    /// after the first failed write, so that the durable state is unknown. Returns nil without a compiler.
    func makeShim() -> String? {
      let path = root + "/fault.so"
      let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <stdlib.h>
        #include <unistd.h>
        static int failed;
        static int armed(void) {
          const char *path = getenv("KVCLONE_PROBE_FAULT");
          if (path && access(path, F_OK) == 0) return 1;
          failed = 0;
          return 0;
        }
        static int fail(void) { errno = EIO; return -1; }
        ssize_t pwrite(int fd, const void *b, size_t n, off_t o) {
          static ssize_t (*real)(int, const void *, size_t, off_t);
          if (!real) real = dlsym(RTLD_NEXT, "pwrite");
          if (n == 120 && armed()) { failed = 1; return fail(); }
          return real(fd, b, n, o);
        }
        ssize_t pwrite64(int fd, const void *b, size_t n, off_t o) { return pwrite(fd, b, n, o); }
        int fdatasync(int fd) {
          static int (*real)(int);
          if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
          return armed() && failed ? fail() : real(fd);
        }

        """
      let compiler = Process()
      compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      compiler.arguments = ["cc", "-shared", "-fPIC", "-o", path, path + ".c", "-ldl"]
      compiler.standardError = FileHandle.nullDevice
      do {
        try source.write(toFile: path + ".c", atomically: true, encoding: .utf8)
        try compiler.run()
      } catch {
        return nil
      }
      compiler.waitUntilExit()
      return compiler.terminationStatus == 0 ? path : nil
    }
  }

  // The process that `readFromElsewhere` starts.
  if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "read" {
    let store = try ObjectStore.open(at: CommandLine.arguments[2])
    let snapshot = try store.pinnedSnapshot(owner: "probe")
    FileHandle.standardOutput.write(Data("reading\n".utf8))
    _ = readLine()
    snapshot.close()
    store.close()
    exit(0)
  }

  let probe = try Probe()
  try await probe.run()
  probe.findings.finish()
#else
  print("built without the trait: run Tools/service")
#endif
