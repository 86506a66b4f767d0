import Foundation
import KVClone
import KVCloneOperations
import Synchronization

/// A process that opens a store and executes commands, one per line, for a scene of ``ProcessFaults`` with several
/// processes. It answers each command with a line: the result, `ok`, or `error KIND`.
final class Performer {
  private let path: String
  private var store: ObjectStore?
  private var snapshot: PinnedSnapshot?
  /// The number of tags written, which makes their names unique.
  private var written = 0

  init(root: String) {
    path = root + "/store"
  }

  func serve() {
    // The waiting process has an alarm of its own, and no process may wait forever.
    alarm(ChildProcess.secondsPerTrial)
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      do {
        Worker.say(try perform(words.first ?? "", words.dropFirst().first ?? ""))
      } catch {
        guard let typed = error as? any KVCloneError else { return Worker.say("untyped \(error)") }
        Worker.say("error \(typed.kindName)")
      }
    }
  }

  private func required() throws -> ObjectStore {
    guard let store else { throw Finding("no store is open") }
    return store
  }

  private func perform(_ step: String, _ word: String) throws -> String {
    switch step {
    case "open":
      var options = StoreOptions()
      options.isReadOnly = word == "readonly"
      options.journalMode = word == "log" ? .writeAheadLog : .copyOnWrite
      store = try ObjectStore.open(at: path, options: options)
    case "close":
      snapshot?.close()
      store?.close()
      (snapshot, store) = (nil, nil)
    case "pin": snapshot = try required().pinnedSnapshot()
    case "unpin":
      snapshot?.close()
      snapshot = nil
    case "read":
      // A pinned snapshot must show its original contents.
      guard let snapshot else { return try tags(required()) }
      return try snapshot.read { try Self.count("Tag", $0) }
    case "write":
      for _ in 0..<(Int(word) ?? 1) {
        written += 1
        try required().write { _ = try $0.insert("Tag", ["name": .string("\(getpid()) \(written)")]) }
      }
    case "hold":
      // Waits for the next line in the middle of a transaction.
      try required().write { transaction in
        _ = try transaction.insert("Tag", ["name": .string("held \(getpid())")])
        Worker.say("holding")
        _ = readLine()
      }
    case "tags": return try tags(required())
    case "digest": return try StoreDigest.content(of: required()).digest
    case "check":
      let damages = try required().check(CheckOptions(readData: true)).issues
      return damages.first.map { "damaged \($0.kind.rawValue): \($0.message)" } ?? "clean"
    case "size":
      let attributes = try FileManager.default.attributesOfItem(atPath: path + "/data.mdb")
      return "\((attributes[.size] as? Int) ?? 0)"
    case "twice":
      do {
        try ObjectStore.open(at: path).close()
      } catch {
        return "error \(error.kind.rawValue)"
      }
    case "fork": return try fork()
    case "room": limitSpace(mebibytes: Int(word) ?? 0)
    case "large": return try writeLarge(mebibytes: Int(word) ?? 1)
    case "clone": return try cloneLarge()
    case "projects": return try required().read { try Self.count("Project", $0) }
    default: return "unknown step \(step)"
    }
    return "ok"
  }

  private func tags(_ store: ObjectStore) throws -> String { try store.read { try Self.count("Tag", $0) } }

  private static func count<T: ObjectReading & ~Copyable>(
    _ entity: String, _ transaction: borrowing T
  ) throws -> String {
    let ids = try Workload.ids(of: entity, in: transaction)
    return "\(ids.count)"
  }

  /// Forks a child, which must not use its parent's store but can open the store itself; answers its results. Bits:
  /// reading, writing and pinning were rejected, and its own opening succeeded.
  private func fork() throws -> String {
    let store = try required()
    // Swift hides fork, because a child may call very few functions. This child makes its attempts and exits.
    guard let symbol = dlsym(nil, "fork") else { return "no fork" }
    let fork = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
    let child = fork()
    if child == 0 {
      var code: Int32 = 0
      func isRefused(_ body: () throws -> Void) -> Bool {
        do { try body() } catch { return (error as? StoreError)?.kind == .forked }
        return false
      }
      if isRefused({ _ = try tags(store) }) { code += 1 }
      if isRefused({ try store.write { _ = try $0.insert("Tag", ["name": "forked"]) } }) { code += 2 }
      if isRefused({ _ = try store.pinnedSnapshot() }) { code += 4 }
      store.close()
      if let own = try? ObjectStore.open(at: path), (try? tags(own)) != nil { code += 8 }
      _exit(code)
    }
    let ending = ChildProcess(id: child).wait()
    return "child \(ending)"
  }

  // MARK: Address space

  /// Limits the address space that the process can reserve in addition; 0 removes the limit.
  private func limitSpace(mebibytes: Int) {
    let statistics = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = statistics.split(separator: " ").first.flatMap { Int($0) } ?? 0
    let reserved = pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    var limits = rlimit()
    getrlimit(Int32(RLIMIT_AS.rawValue), &limits)
    limits.rlim_cur = mebibytes == 0 ? limits.rlim_max : rlim_t(reserved + mebibytes << 20)
    setrlimit(Int32(RLIMIT_AS.rawValue), &limits)
  }

  /// Inserts a project with a blob in one transaction; its body runs once, even if the transaction fails.
  private func writeLarge(mebibytes: Int) throws -> String {
    var runs = 0
    var failure: (any Error)?
    do {
      try required().write { transaction in
        runs += 1
        let values: [String: AttributeValue?] = [
          "title": "large", "notes": .binary(Data(repeating: UInt8(truncatingIfNeeded: runs), count: mebibytes << 20)),
        ]
        _ = try transaction.insert("Project", values)
      }
    } catch {
      failure = error
    }
    if runs > 1 { return "the body ran \(runs) times" }
    if let failure { throw failure }
    return "ok"
  }

  /// Clones the youngest project with its blob. A clone in its own transaction may run twice.
  private func cloneLarge() throws -> String {
    let store = try required()
    guard let project = try store.read({ try Workload.ids(of: "Project", in: $0) }).last else { return "no project" }
    let runs = Mutex(0)
    var options = CloneOptions()
    options.blobs = .copy
    options.didClone = { _, source, _ in if source == project { runs.withLock { $0 += 1 } } }
    var failure: (any Error)?
    do { _ = try store.clone([project], options: options) } catch { failure = error }
    let count = runs.withLock { $0 }
    if count > 2 { return "the clone was created \(count) times" }
    if let failure { throw failure }
    return "ok"
  }
}
