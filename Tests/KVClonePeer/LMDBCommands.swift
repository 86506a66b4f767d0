import CKVCloneLMDB
import Foundation
import KVCloneLMDB
import KVCloneTestSupport
import Synchronization

/// The commands of the peer process that use tables: `lmdb PATH STEP…`. A step is a word, with a number after "=".
let lmdbCommands: [String: @Sendable ([String]) throws -> Void] = [
  "lmdb": { arguments in
    let peer = LMDBPeer(path: arguments.first ?? "")
    for step in arguments.dropFirst() { peer.run(step) }
  }
]

/// Runs steps and prints a line for each: its result, "ok", or "error" and the kind of error.
private final class LMDBPeer {
  private var path: String
  private var options = LMDBOptions()
  /// The length of the values that `put` writes.
  private var length = 1000
  private var environment: LMDBEnvironment?
  private var table = LMDBTable(dbi: 0)
  private var reader: PinnedReader?
  private let noise = AllocationNoise()

  init(path: String) {
    self.path = path
  }

  func run(_ step: String) {
    let parts = step.split(separator: "=", maxSplits: 1)
    do {
      say(try perform(String(parts[0]), parts.count > 1 ? String(parts[1]) : ""))
    } catch let error as LMDBError {
      say("error \(Self.name(error))")
    } catch {
      say("error \(error)")
    }
  }

  private func perform(_ step: String, _ text: String) throws -> String {
    let number = Int(text) ?? 0
    switch step {
    // Options and limits for the next step that opens.
    case "map": options.mapSize = number
    case "readonly": options.isReadOnly = true
    case "log": options.walSizeLimit = number
    case "no-log": options.walSizeLimit = nil
    case "length": length = number
    case "busy": options.busyTimeout = .milliseconds(number)
    case "budget": options.spillBudget = number
    case "limit-space": limit(RLIMIT_AS, number)
    case "limit-room": limit(RLIMIT_AS, addressSpace() + number)
    case "limit-file": limit(RLIMIT_FSIZE, number)
    case "path": path = text
    case "user":
      guard setgid(UInt32(number)) == 0, setuid(UInt32(number)) == 0 else { return "error setuid" }
    // The environment.
    case "create":
      let created = try LMDBEnvironment.create(at: path, tables: ["a", "b"], options: options)
      environment = created
      table = try created.table(named: "a")
    case "create-and-die":
      _ = try LMDBEnvironment.create(at: path, tables: ["a"], options: options) { _ in kill(getpid(), SIGKILL) }
    case "open":
      let opened = try LMDBEnvironment.open(at: path, options: options)
      environment = opened
      table = try opened.openTables(["a"], create: false)[0]
      return opened.readsWithoutLock ? "ok without lock" : "ok"
    case "close":
      try required().close()
      environment = nil
    case "opens": try open(times: number)
    case "library": return "LMDB \(LMDBLibrary.version)"
    case "lacks-log": return try PageFile(at: path, isUntouched: true).lacksLog ? "lacks log" : "has log"
    case "spool": try spool(number)
    case "info": return "map \(try required().info().mapSize)"
    case "writer": return try required().currentWriter?.label ?? "none"
    // Transactions.
    case "begin": reader = PinnedReader(try required().beginRead())
    case "end": reader = nil
    case "count": return "count \(try count())"
    case "put": try put(number, spills: false)
    case "commits": try commits(number)
    case "delete": return "delete \(try delete(number))"
    case "spill-forever": try put(.max, spills: true)
    case "spills": return "grown by \(try spills(number)) MiB"
    case "large": return try large(number)
    case "memory": return "allocated \(allocatedMebibytes())"
    case "noise": noise.start()
    case "quiet": noise.stop()
    // Process control.
    case "wait":
      say("waiting")
      _ = readLine()
    case "die": kill(getpid(), SIGKILL)
    case "fork": return try fork()
    case "fault":
      guard let symbol = dlsym(nil, "kvclone_fault") else { return "error no shim" }
      symbol.assumingMemoryBound(to: Int32.self).pointee = Int32(number)
    default: return "error unknown step \(step)"
    }
    return "ok"
  }

  /// Writes without buffering, because a test may kill the process as soon as it has read the line.
  private func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }

  private func required() throws -> LMDBEnvironment {
    guard let environment else { throw LMDBError.closed }
    return environment
  }

  private func limit(_ resource: __rlimit_resource, _ value: Int) {
    var limits = rlimit()
    getrlimit(Int32(resource.rawValue), &limits)
    limits.rlim_cur = value == 0 ? limits.rlim_max : rlim_t(value)
    setrlimit(Int32(resource.rawValue), &limits)
  }

  /// Returns the reserved address space of the process in bytes.
  private func addressSpace() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return (text.split(separator: " ").first.flatMap { Int($0) } ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  /// Opens the store, reads or writes, and closes it, the given number of times.
  private func open(times: Int) throws {
    for index in 0..<times {
      let opened = try LMDBEnvironment.open(at: path, options: options)
      defer { opened.close() }
      let table = try opened.openTables(["a"], create: false)[0]
      guard index % 8 == 7, !options.isReadOnly else {
        let reader = try opened.beginRead()
        _ = try reader.bytes(table, [1])
        continue
      }
      var writer = try opened.beginWrite(timeout: .seconds(60), label: "peer")
      let key = withUnsafeBytes(of: UInt64(getpid()) << 32 | UInt64(index)) { [UInt8]($0) }
      try writer.put(table, key.span.bytes, key.span.bytes)
      try writer.commit()
    }
  }

  /// Spools the given number of mebibytes in the directory of the store.
  private func spool(_ mebibytes: Int) throws {
    let file = try SpoolFile(directory: (path as NSString).deletingLastPathComponent)
    let piece = [UInt8](repeating: 1, count: 1 << 20)
    for _ in 0..<mebibytes { try file.append(piece.span.bytes) }
  }

  private func count() throws -> Int {
    let reader = try required().beginRead()
    var count = 0
    try reader.scan(table) { _, _ in
      count += 1
      return true
    }
    return count
  }

  /// Commits one transaction of `count` values. With spills, prints a line after the first spill and continues.
  private func put(_ count: Int, spills: Bool) throws {
    var writer = try required().beginWrite(timeout: .seconds(20), label: "peer")
    let value = [UInt8](repeating: 7, count: spills ? 9000 : length)
    var isAnnounced = false
    for index in 0..<count {
      let number = UInt64(spills ? index % 3000 : index)
      let key = withUnsafeBytes(of: number.bigEndian) { [UInt8]($0) }
      if spills, index % 7 == 3 {
        _ = try writer.delete(table, key.span.bytes)
      } else {
        try writer.put(table, key.span.bytes, value.span.bytes)
      }
      if spills, writer.spillCount > 2, !isAnnounced {
        isAnnounced = true
        say("spilling")
      }
    }
    try writer.commit()
  }

  /// Commits `count` transactions of one value each; prints "committed N" after the N-th.
  private func commits(_ count: Int) throws {
    for index in 1...max(count, 1) {
      var writer = try required().beginWrite(timeout: .seconds(20), label: "peer")
      let key = withUnsafeBytes(of: UInt64(index).bigEndian) { [UInt8]($0) }
      let value = [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: length)
      try writer.put(table, key.span.bytes, value.span.bytes)
      try writer.commit()
      say("committed \(index)")
    }
  }

  /// Runs `count` transactions that spill, half of which abort.
  ///
  /// - Returns: the growth of the process's writable memory in mebibytes, without that of the first transactions.
  private func spills(_ count: Int) throws -> Int {
    let environment = try required()
    let warmUp = 8
    var before = 0
    for number in 0..<warmUp + count {
      if number == warmUp { before = try statusKibibytes("VmData:") }
      var writer = try environment.beginWrite()
      for key: UInt8 in 0..<8 {
        try writer.put(table, [key].span.bytes, [UInt8](repeating: key, count: 100_000).span.bytes)
      }
      try writer.spill()
      guard writer.spillCount > 0 else { throw CocoaError(.featureUnsupported) }
      if number % 2 == 0 { try writer.commit() } else { writer.abort() }
    }
    return try (statusKibibytes("VmData:") - before) / 1024
  }

  /// Commits one transaction of `count` values of one mebibyte.
  private func large(_ count: Int) throws -> String {
    var writer = try required().beginWrite()
    let before = try statusKibibytes("RssAnon:")
    for number in 0..<UInt64(count) {
      let value = [UInt64](repeating: number, count: 1 << 17)
      let key = withUnsafeBytes(of: number.bigEndian) { Array($0) }
      try writer.append(table, key.span.bytes, value.span.bytes)
    }
    let held = try statusKibibytes("RssAnon:") - before
    let spillCount = writer.spillCount
    try writer.commit()
    return "held \(held / 1024) \(spillCount)"
  }

  /// The memory allocated by malloc.
  private func allocatedMebibytes() -> Int { Int(kvclone_allocated_bytes() >> 20) }

  /// Reads a field of `/proc/self/status`.
  private func statusKibibytes(_ field: String) throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix(field) }
    guard let number = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) else {
      throw CocoaError(.fileReadCorruptFile)
    }
    return number
  }

  /// Deletes the first `count` keys in one transaction.
  private func delete(_ count: Int) throws -> Int {
    var keys: [[UInt8]] = []
    do {
      let reader = try required().beginRead()
      try reader.scan(table) { key, _ in
        keys.append(key.withUnsafeBytes { [UInt8]($0) })
        return keys.count < count
      }
    }
    var writer = try required().beginWrite(label: "peer")
    for key in keys { _ = try writer.delete(table, key.span.bytes) }
    try writer.commit()
    return keys.count
  }

  /// Checks that a child cannot use its parent's pooled reader and open environment, and can open its own.
  private func fork() throws -> String {
    let environment = try required()
    guard let symbol = dlsym(nil, "fork") else { return "error no fork" }
    let fork = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
    let child = fork()
    if child == 0 {
      reader = nil
      var code: Int32 = 0
      do throws(LMDBError) { _ = try environment.beginRead() } catch { code += error == .forked ? 1 : 0 }
      do throws(LMDBError) { _ = try environment.beginWrite() } catch { code += error == .forked ? 2 : 0 }
      do throws(LMDBError) { _ = try environment.info() } catch { code += error == .forked ? 4 : 0 }
      environment.close()
      if let own = try? LMDBEnvironment.open(at: path), (try? own.beginRead()) != nil { code += 8 }
      _exit(code)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    return "child \(status >> 8 & 0xFF)"
  }

  private static func name(_ error: LMDBError) -> String {
    switch error {
    case .mapFull: "mapFull"
    case .mapResized: "mapResized"
    case .diskFull, .quotaExceeded, .fileSizeLimit: "diskFull"
    case .readOnly: "readOnly"
    case .panic: "panic"
    case .pidNamespace: "pidNamespace"
    case .transactionFailed: "transactionFailed"
    case .commitFailed(let outcome, _): "commitFailed \(outcome)"
    case .io(let errno, _): "io \(errno)"
    default: error.message
    }
  }
}

/// A read transaction that stays open.
private final class PinnedReader {
  private let transaction: LMDBReadTransaction

  init(_ transaction: consuming LMDBReadTransaction) {
    self.transaction = transaction
  }
}

/// A thread that allocates continuously, as the threads of a busy service do.
private final class AllocationNoise: Sendable {
  private let isOn = Mutex(false)
  private let isDone = DispatchSemaphore(value: 0)

  func start() {
    isOn.withLock { $0 = true }
    Thread.detachNewThread { [self] in
      var blocks: [UnsafeMutableRawPointer] = []
      while isOn.withLock({ $0 }) {
        if let block = malloc(300 << 10) { blocks.append(block) }
        usleep(20)
      }
      for block in blocks { free(block) }
      isDone.signal()
    }
  }

  func stop() {
    isOn.withLock { $0 = false }
    isDone.wait()
  }
}
