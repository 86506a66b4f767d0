import Foundation
import KVClone
import KVCloneOperations

/// The process that fills a disk: it writes until nothing fits any more, and shows that the store is as good as before.
struct DiskFiller {
  let root: String
  let workload: Workload

  private var path: String { root + "/store" }
  private var ballast: String { root + "/ballast" }
  private static let ballastSize = 512 << 10
  /// More commits than any disk here has room for.
  private static let attempts = 5000

  func run() throws {
    let isBallastMade = FileManager.default.createFile(
      atPath: ballast, contents: Data(repeating: 1, count: Self.ballastSize))
    guard isBallastMade, var store = try makeStore() else {
      // Too small for a store: it must not be there then, not even a part of it.
      try? FileManager.default.removeItem(atPath: ballast)
      let left = try FileManager.default.contentsOfDirectory(atPath: root)
      guard left.isEmpty else { throw Finding("\(left[0].prefix(16))… was left on a disk that is too small") }
      return Worker.say("too small for a store")
    }
    var random = SeededGenerator(seed: workload.seed)
    let hasSnapshot = try attempt("a snapshot", store) { try store.createSnapshot(named: "empty") }
    let commits = try fill(store, &random)
    try verify(store, "on the full disk")
    if hasSnapshot {
      try attempt("a rollback", store) { try store.rollback(to: try store.snapshot(named: "empty")) }
      try verify(store, "after a rollback on the full disk")
    }
    store = try migrated(store)
    try verify(store, "after a migration on the full disk")
    // As long as there are snapshots, a delete saves what it deletes, for which there may be no room.
    try store.deleteSnapshots(named: try store.snapshots().map(\.name))
    try verify(store, "after its snapshots were deleted on the full disk")
    // What the rollback and they gave back is filled again: a delete shall have no room but its own.
    let rest = try fill(store, &random)
    let deleted = try deleteSome(store)
    try verify(store, "after deletes on the full disk")
    try FileManager.default.removeItem(atPath: ballast)
    try insert(1, into: store, &random)
    try verify(store, "when there was space again")
    store.close()
    let again = try ObjectStore.open(at: path, options: workload.options())
    try verify(again, "opened again")
    again.close()
    Worker.say("full after \(commits) commits and \(rest), \(deleted) objects were deleted then")
  }

  private func makeStore() throws -> ObjectStore? {
    do {
      return try ObjectStore.create(at: path, model: WorkloadModel.versions[0], options: workload.options())
    } catch {
      guard error.kind == .diskFull else { throw error }
      return nil
    }
  }

  /// - Returns: how many commits fitted.
  private func fill(_ store: ObjectStore, _ random: inout SeededGenerator) throws -> Int {
    var size = 20
    for number in 0..<Self.attempts {
      let before = try StoreDigest.content(of: store)
      do {
        // Each time in another way: as one write, and as a group of them.
        if number % 2 == 0 {
          try insert(size, into: store, &random)
        } else {
          try FillingGroup(name: "\(random.next())", version: version(of: store)).insert(2 * size, into: store, &random)
        }
      } catch let error as any KVCloneError {
        guard error.kindName == StoreError.Kind.diskFull.rawValue else {
          throw Finding("the full disk was reported as \(error.kindName): \(error.message)")
        }
        let isSame = try StoreDigest.content(of: store) == before
        if !isSame { throw Finding("a write that did not fit left changes") }
        // Down to the last page: small commits still fit where large ones do not.
        if size == 1 { return number }
        size /= 4
        size = max(size, 1)
      }
    }
    throw Finding("the disk did not become full")
  }

  private func version(of store: ObjectStore) -> WorkloadVersion {
    WorkloadVersion(index: store.model.modelHash == WorkloadModel.versions[0].modelHash ? 0 : 1)
  }

  private func insert(_ count: Int, into store: ObjectStore, _ random: inout SeededGenerator) throws {
    let title = version(of: store).photoTitle
    try store.write { transaction in
      for _ in 0..<count {
        let image = Workload.bytes(2_000 + random.below(20_000), &random)
        try transaction.insert("Photo", [title: "fill", "image": .binary(image)])
      }
    }
  }

  /// Does something that may be too large for the disk; whether it was done. If not, nothing has changed.
  @discardableResult
  private func attempt(_ what: String, _ store: ObjectStore, _ body: () throws -> Void) throws -> Bool {
    let before = try StoreDigest.content(of: store)
    do {
      try body()
      return true
    } catch let error as any KVCloneError {
      guard error.kindName == StoreError.Kind.diskFull.rawValue else {
        throw Finding("\(what) on the full disk was reported as \(error.kindName): \(error.message)")
      }
    }
    let isSame = try StoreDigest.content(of: store) == before
    if !isSame { throw Finding("\(what) that did not fit left changes") }
    return false
  }

  /// The store, opened again, in whatever version it is then.
  private func migrated(_ store: ObjectStore) throws -> ObjectStore {
    let before = try StoreDigest.content(of: store)
    store.close()
    var isDone = true
    do {
      try ObjectStore.migrate(at: path, to: WorkloadModel.versions[1], options: workload.options())
    } catch {
      guard error.kind == .diskFull else {
        throw Finding("a migration on the full disk was reported as \(error.kind): \(error.message)")
      }
      isDone = false
    }
    let again = try ObjectStore.open(at: path, options: workload.options())
    let isOld = try StoreDigest.content(of: again) == before
    if isOld == isDone { throw Finding("a migration on the full disk \(isDone ? "did nothing" : "left changes")") }
    return again
  }

  /// - Returns: how many objects were deleted.
  private func deleteSome(_ store: ObjectStore) throws -> Int {
    var deleted = 0
    for _ in 0..<3 {
      let photos = try store.read { try Workload.ids(of: "Photo", in: $0) }
      let doomed = Array(photos.prefix(2))
      if doomed.isEmpty { break }
      do {
        try store.write { transaction in _ = try transaction.delete(doomed) }
      } catch {
        throw Finding("a delete on the full disk failed: \(error)")
      }
      let left = try store.read { try Workload.ids(of: "Photo", in: $0) }
      guard left == Array(photos.dropFirst(doomed.count)) else {
        throw Finding("a delete on the full disk deleted other objects")
      }
      deleted += doomed.count
    }
    return deleted
  }

  private func verify(_ store: ObjectStore, _ when: String) throws {
    _ = try StoreDigest.content(of: store)
    if let damage = try store.check(CheckOptions(readData: true)).issues.first {
      throw Finding("\(when), check says \(damage.kind.rawValue): \(damage.message)")
    }
  }
}
