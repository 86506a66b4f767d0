import Foundation
import KVClone

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
    guard isBallastMade, let store = try makeStore() else {
      // Too small for a store: it must not be there then, not even a part of it.
      try? FileManager.default.removeItem(atPath: ballast)
      let left = try FileManager.default.contentsOfDirectory(atPath: root)
      guard left.isEmpty else { throw Finding("\(left[0].prefix(16))… was left behind on a disk that is too small") }
      return Worker.say("too small for a store")
    }
    var random = SeededGenerator(seed: workload.seed)
    let commits = try fill(store, &random)
    try verify(store, "on the full disk")
    try deleteSome(store)
    try verify(store, "after deletes on the full disk")
    try FileManager.default.removeItem(atPath: ballast)
    try insert(1, into: store, &random)
    try verify(store, "when there was space again")
    store.close()
    let again = try ObjectStore.open(at: path, options: workload.options())
    try verify(again, "opened again")
    again.close()
    Worker.say("full after \(commits) commits")
  }

  private func makeStore() throws -> ObjectStore? {
    do {
      return try ObjectStore.create(at: path, model: WorkloadModel.model, options: workload.options())
    } catch {
      guard error.kind == .diskFull else { throw error }
      return nil
    }
  }

  /// - Returns: how many commits fitted.
  private func fill(_ store: ObjectStore, _ random: inout SeededGenerator) throws -> Int {
    var size = 20
    for number in 0..<Self.attempts {
      let before = try StoreDigest.digest(store)
      do {
        try insert(size, into: store, &random)
      } catch let error as any KVCloneError {
        guard error.kindName == StoreError.Kind.diskFull.rawValue else {
          throw Finding("the full disk was reported as \(error.kindName): \(error.message)")
        }
        guard try StoreDigest.digest(store) == before else { throw Finding("a write that did not fit left something") }
        // Down to the last page: small commits still fit where large ones do not.
        if size == 1 { return number }
        size /= 4
        size = max(size, 1)
      }
    }
    throw Finding("the disk did not become full")
  }

  private func insert(_ count: Int, into store: ObjectStore, _ random: inout SeededGenerator) throws {
    try store.write { transaction in
      for _ in 0..<count {
        let image = Workload.bytes(2_000 + random.below(20_000), &random)
        try transaction.insert("Photo", ["title": "fill", "image": .binary(image)])
      }
    }
  }

  private func deleteSome(_ store: ObjectStore) throws {
    for _ in 0..<3 {
      let photos = try store.read { try Workload.ids(of: "Photo", in: $0) }
      guard !photos.isEmpty else { return }
      do {
        try store.write { transaction in _ = try transaction.delete(Array(photos.prefix(2))) }
      } catch {
        throw Finding("a delete on the full disk failed: \(error)")
      }
    }
  }

  private func verify(_ store: ObjectStore, _ when: String) throws {
    _ = try StoreDigest.digest(store)
    if let damage = try store.check(CheckOptions(readData: true)).damages.first {
      throw Finding("\(when), check says \(damage.kind.rawValue): \(damage.message)")
    }
  }
}
