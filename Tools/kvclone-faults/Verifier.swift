import Foundation
import KVClone
import KVCloneOperations
import KVCloneLMDB

/// Verifies that a fault left an intact store with the expected content. It runs in a process of its own, because a
/// badly corrupted store may crash the process.
struct Verifier {
  /// The files of a store's directory.
  static let storeFiles: Set<String> = ["data.mdb", "lock.mdb", "writer.lock", "stagers.lock", "commit.log"]

  /// The content after each commit, from 0.
  let states: [String]
  let workload: Workload

  /// - Parameters:
  ///   - root: the directory that contains the store's directory.
  ///   - acknowledged: the last acknowledged commit, −1 if not even the creation was acknowledged.
  ///   - copied: the acknowledged copies.
  /// - Returns: the commit found, −1 for no store; or a finding.
  func verify(root: String, acknowledged: Int, copied: Set<String>) -> Result<Int, Finding> {
    do {
      let path = root + "/store"
      guard FileManager.default.fileExists(atPath: path) else {
        if acknowledged >= 0 { throw Finding("the store is missing; commit \(acknowledged) was acknowledged") }
        try remake(path, root: root)
        return .success(-1)
      }
      let commit = try verifyStore(path, acknowledged: acknowledged) { store, commit in
        guard workload.makesCopies else { return }
        let verifier = CopyVerifier(copies: Copies(root: root), states: states, workload: workload)
        try verifier.verify(acknowledged: copied, store, at: commit)
      }
      try verifyFiles(root)
      let names = try FileManager.default.contentsOfDirectory(atPath: root)
      if names.contains(where: { $0.hasPrefix(".store.") }) {
        try FileManager.default.removeItem(atPath: path)
        try remake(path, root: root)
      }
      return .success(commit)
    } catch let finding as Finding {
      return .failure(finding)
    } catch {
      return .failure(Finding("\((error as? any KVCloneError)?.kindName ?? "untyped"): \(error)"))
    }
  }

  /// Creates the store again. The remains of an interrupted creation must not block this, and it must remove them.
  private func remake(_ path: String, root: String) throws {
    let store = try ObjectStore.create(at: path, model: WorkloadModel.versions[0], options: workload.options())
    store.close()
    try verifyFiles(root)
    let names = try FileManager.default.contentsOfDirectory(atPath: root)
    guard names.contains(where: { $0.hasPrefix(".") }) else { return }
    throw Finding("leftovers of an earlier creation were not removed: \(names.sorted())")
  }

  /// - Parameter look: called with the store and the commit found.
  private func verifyStore(
    _ path: String, acknowledged: Int, _ look: (ObjectStore, Int) throws -> Void
  ) throws -> Int {
    let (commit, blobCount) = try verifyContent(path, acknowledged: acknowledged)
    try verifyBlobs(path, blobCount)
    var store = try ObjectStore.open(
      at: path, model: workload.version(after: commit).model, options: workload.options())
    defer { store.close() }
    guard try workload.knowsClone(commit, in: store) else {
      throw Finding("repeating the clone of commit \(commit) with its key cloned again")
    }
    guard try workload.knowsMerge(commit, in: store) else {
      throw Finding("repeating the merge of commit \(commit) with its key merged again")
    }
    try look(store, commit)
    // The store must accept another commit: the workload's next one, or an additional tag.
    if commit < workload.commitCount {
      let next = workload.lastUnderWay(after: commit)
      if workload.kind(next) == .grouped {
        try GroupRun(workload, commit + 1...next).perform(on: store)
      } else {
        try workload.perform(next, on: store, at: path)
      }
      if workload.kind(next).isMigration { store = try ObjectStore.open(at: path, options: workload.options()) }
      if try StoreDigest.content(of: store).digest != states[next] {
        throw Finding("the next commit \(next) has wrong content")
      }
    } else {
      try store.write { transaction in _ = try transaction.insert("Tag", ["name": "after"]) }
    }
    try check(store, "after one more commit", readsData: false)
    return commit
  }

  private func verifyContent(_ path: String, acknowledged: Int) throws -> (commit: Int, blobCount: ClosedRange<Int>) {
    let store = try ObjectStore.open(at: path, options: workload.options())
    defer { store.close() }
    try check(store, "found", readsData: true)
    let found = try StoreDigest.content(of: store)
    guard let commit = states.firstIndex(of: found.digest) else {
      throw Finding("the content matches no commit; \(acknowledged) was acknowledged")
    }
    guard commit >= acknowledged else { throw Finding("commit \(acknowledged) was acknowledged, \(commit) is there") }
    // At most the commit in progress may be durable, or the first writes of a group in progress.
    guard commit <= workload.lastUnderWay(after: acknowledged) else {
      throw Finding("commit \(commit) is there, \(acknowledged) was acknowledged")
    }
    let counter = try store.info().commit
    if counter < UInt64(commit) { throw Finding("the commit counter is \(counter), but commit \(commit) exists") }
    return (commit, found.blobCount)
  }

  /// Verifies that opening the store has removed interrupted uploads, so that every blob belongs to an object.
  private func verifyBlobs(_ path: String, _ expected: ClosedRange<Int>) throws {
    let environment = try LMDBEnvironment.open(at: path)
    defer { environment.close() }
    guard let table = try environment.openTables(["blobinfo"], create: false).first else { return }
    var count: UInt64 = 0
    let reader = try environment.beginRead()
    let code = reader.pointers.countEntries(table.dbi, &count)
    extendLifetime(reader)
    guard code == 0, expected.contains(Int(clamping: count)) else {
      throw Finding("there are \(count) blobs, but objects have \(expected)")
    }
  }

  private func check(_ store: ObjectStore, _ when: String, readsData: Bool) throws {
    let report = try store.check(CheckOptions(readData: readsData))
    guard let damage = report.issues.first else { return }
    throw Finding(
      "\(when), check says \(report.issues.count) damages, first \(damage.kind.rawValue): \(damage.message)")
  }

  private func verifyFiles(_ root: String) throws {
    let manager = FileManager.default
    for name in try manager.contentsOfDirectory(atPath: root) where name != "store" {
      if workload.makesCopies, Copies.isOwn(name) { continue }
      // Only the remains of an earlier failed creation may be there, if they could not be removed.
      guard name.hasPrefix(".store.creating-") else { throw Finding("unexpected file beside the store: \(name)") }
    }
    for name in try manager.contentsOfDirectory(atPath: root + "/store") where !Self.storeFiles.contains(name) {
      throw Finding("unexpected file in the store's directory: \(name)")
    }
  }
}

/// A violated requirement of a store or of a process.
struct Finding: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

extension Verifier {
  /// Answers each line `ACKNOWLEDGED COPIES ROOT` on standard input with `sound COMMIT` or `unsound REASON`. Commas
  /// separate the names of the copies; `-` is none.
  func serve() {
    while let line = readLine() {
      let parts = line.split(separator: " ", maxSplits: 2)
      guard parts.count == 3, let acknowledged = Int(parts[0]) else { return }
      let copied = parts[1] == "-" ? [] : parts[1].split(separator: ",").map(String.init)
      // Corruption can also cause an endless loop: the alarm then ends the process, and the campaign receives the
      // signal.
      alarm(VerifyServer.secondsPerImage)
      switch verify(root: String(parts[2]), acknowledged: acknowledged, copied: Set(copied)) {
      case .success(let commit): Worker.say("sound \(commit)")
      case .failure(let finding):
        Worker.say("unsound " + finding.description.replacingOccurrences(of: "\n", with: " "))
      }
      alarm(0)
    }
  }
}
