import Foundation
import KVClone
import KVCloneMerge
import KVCloneOperations

/// The process that fills a disk: it writes until the disk is full, and verifies that the store remains usable.
struct DiskFiller {
  let root: String
  let workload: Workload
  /// Whether everything that fits into the free space of the file system can be written.
  let isRoomExact: Bool

  private var path: String { root + "/store" }
  private var ballast: String { root + "/ballast" }
  private static let ballastSize = 512 << 10
  /// More commits than fit on any of the disks.
  private static let attempts = 5000
  private static let branch = "filled"

  func run() throws {
    let isBallastMade = FileManager.default.createFile(
      atPath: ballast, contents: Data(repeating: 1, count: Self.ballastSize))
    guard isBallastMade, var store = try makeStore() else {
      // On a disk that is too small for a store, no part of a store may remain.
      try? FileManager.default.removeItem(atPath: ballast)
      let left = try FileManager.default.contentsOfDirectory(atPath: root)
      guard left.isEmpty else { throw Finding("\(left[0].prefix(16))… was left on a disk that is too small") }
      return Worker.say("too small for a store")
    }
    var random = SeededGenerator(seed: workload.seed)
    let hasSnapshot = try attempt("a snapshot", store) { try store.createSnapshot(named: "empty") }
    var hasBranch = try attempt("a branch", store) { try store.branches.create(Self.branch) }
    let commits = try fill(store, hasBranch ? try store.branches.open(Self.branch) : nil, &random)
    try verify(store, "on the full disk")
    if hasBranch {
      try publish(store)
      try verify(store, "after a publish on the full disk")
    }
    if hasSnapshot {
      try attempt("a rollback", store) { try store.rollback(to: try store.snapshot(named: "empty")) }
      try verify(store, "after a rollback on the full disk")
    }
    if hasBranch {
      hasBranch = try !attempt("the deletion of a branch", store) { try store.branches.delete(Self.branch) }
      try verify(store, "after the deletion of a branch on the full disk")
    }
    if !hasBranch {
      store = try migrated(store)
      try verify(store, "after a migration on the full disk")
    }
    // While snapshots exist, a delete writes preimages, for which there may be no space.
    try store.deleteSnapshots(named: try store.snapshots().map(\.name))
    try verify(store, "after its snapshots were deleted on the full disk")
    if hasBranch {
      // The deleted snapshots have freed space for it.
      try store.branches.delete(Self.branch)
      try verify(store, "after its branch was deleted on the full disk")
    }
    // Fills the space that the rollback and the deleted snapshots freed, so that the deletes have only the reserved
    // space.
    let rest = try fill(store, nil, &random)
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

  /// Publishes the branch, which fits if its plan says so.
  private func publish(_ store: ObjectStore) throws {
    let options = MergeOptions(policy: .theirs)
    let plan = try store.branches.planPublish(Self.branch, options: options)
    let isDone = try attempt("a publish", store) { try store.branches.publish(Self.branch, options: options) }
    if isRoomExact, plan.canMerge, !isDone { throw Finding("a publish does not fit, though its plan says so") }
  }

  private func makeStore() throws -> ObjectStore? {
    do {
      return try ObjectStore.create(at: path, model: WorkloadModel.versions[0], options: workload.options())
    } catch {
      guard error.kind == .diskFull else { throw error }
      return nil
    }
  }

  /// - Parameter branch: a branch of the store, which gets a third of the commits.
  /// - Returns: the number of commits that fitted.
  private func fill(_ store: ObjectStore, _ branch: ObjectStore?, _ random: inout SeededGenerator) throws -> Int {
    var size = 20
    for number in 0..<Self.attempts {
      let before = try StoreDigest.content(of: store)
      do {
        // Alternates between one write and a group of writes.
        if number % 3 == 2, let branch {
          try insert(size, into: branch, &random)
        } else if number % 2 == 0 {
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
        // Continues down to the last page: small commits still fit when large ones do not.
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

  /// Attempts an operation that may be too large for the disk; returns whether it succeeded. A failure must leave the
  /// store unchanged.
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

  /// Attempts a migration; returns the store, opened again in its current version.
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

  /// - Returns: the number of deleted objects.
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
