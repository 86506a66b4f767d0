import Dispatch
import Foundation
import KVClone
import KVCloneMerge
import KVCloneOperations
import KVCloneTestSupport
import Synchronization

/// The commands of the peer process that use objects. Those with an existing store take a ``StoreLocation``.
let storeCommands: [String: @Sendable ([String]) throws -> Void] = [
  "stage": { try stage(at: $0[0], mebibytes: Int($0[1]) ?? 1) },
  "sweep": { try sweep(at: $0[0]) },
  "wander": { try wander(in: $0[0]) },
  "clone": { try clone(at: $0[0], ObjectID(rawValue: UInt64($0[1]) ?? 0), key: $0[2], killedAt: $0[3]) },
  "insert": { try insert(at: $0[0], entity: $0[1]) },
  "snapshots": { try takeSnapshots(at: $0[0]) },
  "migrate": { try migrate(at: $0[0]) },
  "pin": { try pin(at: $0[0], owner: $0[1]) },
  "fork-pin": { try forkWithPin(at: $0[0]) },
  "backup": { try backUp(in: $0[0]) },
  "increment": { try increment(in: $0[0]) },
  "salvage": { try salvage(in: $0[0], onto: Array($0.dropFirst())) },
  "share": { arguments in
    try share(
      at: arguments[0], name: arguments[1], seed: UInt64(arguments[2]) ?? 0, steps: Int(arguments[3]) ?? 0,
      branch: arguments.dropFirst(4).first)
  },
  "merge": { try merge(at: $0[0], branch: $0[1], publishes: $0[2] == "publish", policy: $0[3], hasSnapshots: $0[4]) },
  "drafts": { try editDrafts(at: $0[0], attribute: $0[1], value: $0[2]) },
  "registers": { try useRegisters(at: $0[0], seed: UInt64($0[1]) ?? 0, tasks: Int($0[2]) ?? 0, Int($0[3]) ?? 0) },
  "hold": { try holdWriteLock(at: $0[0], label: $0[1]) },
  "write": { try writeSlowly(at: $0[0], entity: $0[1]) },
  "large": { try writeLarge(at: $0[0], mebibytes: $0.dropFirst().compactMap { Int($0) }) },
]

private let peerModel = ManagedObjectModel("Peer") {
  EntityDescription("Item") { AttributeDescription("data", .binary) }
}

/// Creates a store at a relative path, changes the working directory, works, moves the store, and continues. Prints a
/// line for each step.
private func wander(in root: String) throws {
  let manager = FileManager.default
  guard manager.changeCurrentDirectoryPath(root) else { return say("no directory") }
  let store = try ObjectStore.create(at: "store", model: peerModel)
  defer { store.close() }
  let item = try store.write { transaction in try transaction.insert("Item") }
  guard manager.changeCurrentDirectoryPath("/") else { return say("no directory") }
  func attempt(_ step: String, _ body: () throws -> Void) {
    do {
      try body()
      say("\(step) ok")
    } catch {
      say("\(step) \(error)")
    }
  }
  func work() {
    attempt("set") {
      try store.write { transaction in try transaction.set(item, "data", .binary(Data(count: 2 << 20))) }
    }
    attempt("clone") { _ = try store.clone([item]) }
    attempt("stage") { _ = try store.stageBlob { writer in try writer.append(Data(count: 500_000)) } }
    attempt("info") { _ = try store.info() }
    attempt("check") { if try !store.check().issues.isEmpty { say("damaged") } }
  }
  func load(_ lines: Int) {
    attempt("load") {
      var isFirst = true
      _ = try store.load { buffer in
        if isFirst { for number in 1...lines { buffer += Array("{\"id\":\"Item/\(number)\"}\n".utf8) } }
        defer { isFirst = false }
        return isFirst
      }
    }
  }
  work()
  // More lines than the load keeps in memory.
  load(70_000)
  try manager.moveItem(atPath: root + "/store", toPath: root + "/elsewhere")
  work()
  load(10)
}

/// Changes a store that other processes change concurrently, or a branch of it, and prints each committed step as a line
/// of JSON.
private func share(at path: String, name: String, seed: UInt64, steps: Int, branch: String?) throws {
  var options = StoreOptions()
  options.busyTimeout = SharedOperations.busyTimeout
  let store = try StoreLocation(path).open(options: options)
  defer { store.close() }
  var operations = SharedOperations(name, try branch.map { try store.branches.open($0) } ?? store, seed: seed)
  for _ in 0..<steps {
    if let step = try operations.step() { say(String(decoding: try JSONEncoder().encode(step), as: UTF8.self)) }
  }
}

/// Publishes a branch, or updates it, and prints the numbers of changed objects as a line of JSON.
private func merge(at path: String, branch: String, publishes: Bool, policy: String, hasSnapshots: String) throws {
  let store = try StoreLocation(path).open()
  defer { store.close() }
  var options = MergeOptions(policy: MergeSide(rawValue: policy))
  options.createsSnapshots = hasSnapshots == "true"
  let result =
    publishes
    ? try store.branches.publish(branch, options: options) : try store.branches.update(branch, options: options)
  say(String(decoding: try JSONEncoder().encode(result.counts), as: UTF8.self))
}

/// Opens a store, waits for a line, sets a string attribute of all roots of drafts, and prints their ids.
private func editDrafts(at path: String, attribute: String, value: String) throws {
  let store = try StoreLocation(path).open()
  defer { store.close() }
  say("open")
  _ = readLine()
  for root in try store.drafts.list().flatMap(\.roots) {
    try store.set(root, attribute, .string(value))
    say("\(root.rawValue)")
  }
}

/// Waits for a line, uses the registers of a store in many tasks, and prints each operation as a line of JSON.
private func useRegisters(at path: String, seed: UInt64, tasks: Int, _ operations: Int) throws {
  let store = try StoreLocation(path).open()
  defer { store.close() }
  let tasks = try RegisterTasks(store, seed: seed, taskCount: tasks, operationCount: operations)
  say("open")
  _ = readLine()
  for event in try tasks.runAndWait() { say(String(decoding: try JSONEncoder().encode(event), as: UTF8.self)) }
}

/// Holds the write lock until a line arrives, and writes nothing.
private func holdWriteLock(at path: String, label: String) throws {
  let store = try StoreLocation(path).open()
  defer { store.close() }
  try store.write(label: label) { _ in
    say("holding")
    _ = readLine()
  }
}

/// Begins a write transaction and inserts an object, prints "writing", and commits when a line arrives. Prints the
/// outcome, and runs further transactions until the input ends.
private func writeSlowly(at path: String, entity: String) throws {
  let store = try StoreLocation(path).open()
  defer { store.close() }
  var isAtEnd = false
  while !isAtEnd {
    attempt("commit") {
      try store.write { transaction in
        try transaction.insert(entity)
        say("writing")
        isAtEnd = readLine() == nil
      }
    }
  }
}

/// Prints the outcome of a step: "ok" or the kind of its error.
private func attempt(_ step: String, _ body: () throws -> Void) {
  do {
    try body()
    say("\(step) ok")
  } catch {
    say("\(step) error \((error as? StoreError)?.kind.rawValue ?? "\(error)")")
  }
}

/// Creates a store of some mebibytes, and copies it to a disk that is too small for it, then to its own disk.
private func backUp(in root: String) throws {
  let store = try ObjectStore.create(at: root + "/store", model: peerModel)
  defer { store.close() }
  try store.write { transaction in
    for _ in 0..<4 { try transaction.insert("Item", ["data": .binary(Data(count: 1 << 20))]) }
  }
  attempt("backup") { try store.backup(to: root + "/small/b") }
  try store.backup(to: root + "/b")
  attempt("restore") { try ObjectStore.restore(from: root + "/b", to: root + "/small/b") }
  attempt("snapshot") { try store.reflinkCopy(to: root + "/small/b") }
  attempt("backup") { try store.backup(to: root + "/c") }
}

/// Creates a store of some mebibytes, and salvages it to disks that are too small for it, then to its own disk.
private func salvage(in root: String, onto disks: [String]) throws {
  let store = try ObjectStore.create(at: root + "/store", model: peerModel)
  try store.write { transaction in
    for _ in 0..<4 { try transaction.insert("Item", ["data": .binary(Data(count: 1 << 20))]) }
    for _ in 0..<500 { try transaction.insert("Item") }
  }
  store.close()
  for disk in disks + ["."] {
    attempt("salvage") { try ObjectStore.salvage(from: root + "/store", to: "\(root)/\(disk)/s") }
  }
}

/// Creates a store with a backup and some mebibytes of later changes. Makes an incremental backup to a disk that is too
/// small, and restores there, then to its own disk.
private func increment(in root: String) throws {
  let store = try ObjectStore.create(at: root + "/store", model: peerModel)
  defer { store.close() }
  try store.createSnapshot(named: "a")
  try store.backup(to: root + "/b")
  try store.write { transaction in
    for _ in 0..<4 { try transaction.insert("Item", ["data": .binary(Data(count: 1 << 20))]) }
  }
  let options = BackupOptions(since: "a")
  attempt("increment") { try store.backup(to: root + "/small/i", options: options) }
  try store.backup(to: root + "/i", options: options)
  let sources = [root + "/b", root + "/i"]
  attempt("restore") { try ObjectStore.restore(from: sources, to: root + "/small/r") }
  attempt("restore") { try ObjectStore.restore(from: sources, to: root + "/r") }
}

/// Migrates a store to a version in which the `x` of Note is a string, and waits for a line during the migration.
private func migrate(at path: String) throws {
  let store = try StoreLocation(path).open()
  let entities = store.model.entities.map { entity in
    var entity = entity
    for place in entity.attributes.indices where entity.attributes[place].name == "x" {
      entity.attributes[place].type = .string
    }
    return entity
  }
  let model = ManagedObjectModel(
    name: store.model.name, versionIdentifier: "2", entities: entities, composites: store.model.composites)
  store.close()
  let report = try StoreLocation(path).migrate(
    to: model,
    progress: { progress in
      guard progress.phase == .rewrite, progress.completed == 0 else { return }
      say("migrating")
      _ = readLine()
    })
  say("rewritten \(report.rewrittenCount)")
}

/// Creates a store and sets one value after the other, of the given sizes in mebibytes.
private func writeLarge(at path: String, mebibytes: [Int]) throws {
  let store = try ObjectStore.create(at: path, model: peerModel)
  defer { store.close() }
  for count in mebibytes {
    do throws(any Error) {
      try store.write { transaction in
        let item = try transaction.insert("Item")
        do {
          try transaction.set(item, "data", .binary(Data(count: count << 20)))
        } catch {
          say("refused")
          throw error
        }
      }
      say("ok")
    } catch {
      say("error \((error as? StoreError)?.kind.rawValue ?? "\(error)")")
    }
  }
}

/// Clones an object with an idempotency key and is killed at `moment`: during the copy (by the hook), before or after
/// the commit.
private func clone(at path: String, _ root: ObjectID, key: String, killedAt moment: String) throws {
  let store = try StoreLocation(path).open()
  defer { store.close() }
  @Sendable func die() { kill(getpid(), SIGKILL) }
  var options = CloneOptions()
  options.idempotencyKey = key
  options.recordsProvenance = true
  options.didClone = { _, _, _ in if moment == "hook" { die() } }
  options.progress = { progress in
    switch (moment, progress.phase) {
    case ("copy", .copy),
      ("before", .commit) where progress.completed == 0,
      ("after", .commit) where progress.completed == progress.total:
      die()
    default: break
    }
  }
  say(try store.clone([root], options: options).isRepeated ? "repeated" : "cloned")
}

/// Inserts an object for each input line, and prints its serial.
private func insert(at path: String, entity: String) throws {
  var options = StoreOptions()
  options.author = "peer"
  let store = try StoreLocation(path).open(options: options)
  defer { store.close() }
  say("open")
  while readLine() != nil { say("\(try store.write { transaction in try transaction.insert(entity) }.serial)") }
}

/// Keeps a store open and runs the input lines: `create NAME`, `delete NAME`, or `set Note/1 title text`.
private func takeSnapshots(at path: String) throws {
  let store = try StoreLocation(path).open()
  defer { store.close() }
  say("open")
  while let line = readLine() {
    let words = line.split(separator: " ").map(String.init)
    switch words.first {
    case "create": try store.createSnapshot(named: words[1])
    case "delete": try store.deleteSnapshot(named: words[1])
    default:
      try store.write { transaction in
        try transaction.set(try transaction.objectID(named: words[1]), words[2], .string(words[3]))
      }
    }
    say("done")
  }
}

/// Pins a snapshot until a line arrives.
private func pin(at path: String, owner: String) throws {
  let store = try StoreLocation(path).open()
  defer { store.close() }
  let snapshot = try store.pinnedSnapshot(owner: owner)
  say("\(snapshot.commit)")
  _ = readLine()
  snapshot.close()
}

/// Checks a child with its parent's store, pinned snapshot and timer: it can neither use nor close them, and does not
/// hang.
private func forkWithPin(at path: String) throws {
  var store: ObjectStore? = try StoreLocation(path).open()
  var snapshot: PinnedSnapshot? = try store?.pinnedSnapshot(maximumAge: .seconds(600))
  guard let symbol = dlsym(nil, "fork") else { return say("no fork") }
  let fork = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
  let child = fork()
  if child == 0 {
    var code: Int32 = 0
    func isForked(_ body: () throws -> Void) -> Bool {
      do { try body() } catch { return (error as? StoreError)?.kind == .forked }
      return false
    }
    if isForked({ try snapshot?.read { _ in } }) { code += 1 }
    if isForked({ _ = try store?.pinnedSnapshot() }) { code += 2 }
    if isForked({ _ = try store?.activeReaders() }) { code += 4 }
    if isForked({ _ = try store?.clearStaleReaders() }) { code += 8 }
    snapshot?.close()
    snapshot = nil
    store?.close()
    store = nil
    _exit(code)
  }
  var status: Int32 = 0
  waitpid(child, &status, 0)
  say("child \(status & 0x7F) \(status >> 8 & 0xFF)")
  // The parent's snapshot is unchanged.
  try snapshot?.read { _ in say("parent") }
  snapshot?.close()
  store?.close()
}

/// Stages a blob in parts: reads a line before each mebibyte and before the end, and prints one after each. A last line
/// `use Note/1 data` stores the blob as a value; `drop` releases it, and the process waits for another line.
private func stage(at path: String, mebibytes: Int) throws {
  let store = try StoreLocation(path).open()
  defer { store.close() }
  say("open")
  var staged: StagedBlob? = try store.stageBlob { writer in
    for number in 0..<mebibytes {
      guard readLine() != nil else { return }
      try writer.append(Data(repeating: UInt8(truncatingIfNeeded: number), count: 1 << 20))
      say("piece \(number)")
    }
    // The rest is written when the closure returns, and that write holds the write lock.
    _ = readLine()
  }
  say("staged \(staged?.byteCount ?? 0)")
  while let line = readLine() {
    let words = line.split(separator: " ").map(String.init)
    switch words.first {
    case "use":
      try store.write { transaction in
        guard let staged else { return }
        try transaction.setData(try transaction.objectID(named: words[1]), words[2], staged)
      }
      say("used")
    case "drop":
      staged = nil
      say("dropped")
    default: return
    }
  }
}

/// Stages and drops blobs until a line arrives, and opens the store again and again: each of these sweeps abandoned
/// uploads. Prints the number of the sweeps.
private func sweep(at path: String) throws {
  var store = try StoreLocation(path).open()
  defer { store.close() }
  let isEnded = Mutex(false)
  say("open")
  DispatchQueue.global().async {
    _ = readLine()
    isEnded.withLock { $0 = true }
  }
  var count = 0
  while !isEnded.withLock({ $0 }) {
    _ = try store.stageBlob(timeout: .seconds(300)) { writer in try writer.append(Data(count: 3000)) }
    count += 1
    if count % 10 == 0 {
      store.close()
      store = try StoreLocation(path).open()
    }
  }
  say("\(count)")
}

/// Prints a line without buffering, because the test waits for it.
private func say(_ line: String) {
  FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
