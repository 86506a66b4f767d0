import BenchmarkSupport
import Foundation
import KVClone

/// An open store with the graph of ``PhotoGraph``.
struct MeasuredStore {
  let size: Int
  /// The library.
  let root: ObjectID
  let store: ObjectStore

  init(of size: Int, in workspace: Workspace, named name: String = "source") throws {
    let path = "\(workspace.path)/\(name)-\(size)"
    self.size = size
    root = try PhotoGraph.make(at: path, objects: size)
    store = try ObjectStore.open(at: path)
  }

  /// Random photos, in ascending order.
  func photos(_ count: Int, seed: UInt64) throws -> [ObjectID] {
    var random = SeededGenerator(seed: seed)
    let all = try store.read { tx in try tx.fetchIDs(FetchRequest("Photo")) }
    return Set((0..<count).map { _ in Int.random(in: 0..<all.count, using: &random) }).sorted().map { all[$0] }
  }

  /// Sets the titles of photos in one durable transaction, of the store or of a branch.
  func change(_ photos: [ObjectID], to title: String, on branch: ObjectStore? = nil) throws {
    try (branch ?? store).write { tx in for photo in photos { try tx.set(photo, "title", .string(title)) } }
  }
}

/// A read of the graph of ``PhotoGraph``. Its result does not depend on titles.
struct ReadTask {
  let name: String
  let run: (borrowing ReadTransaction) throws -> Int

  /// Reads by id, a scan, and reads of long lists.
  static func all(_ store: ObjectStore) throws -> [ReadTask] {
    var random = SeededGenerator(seed: 5)
    let all = try store.read { tx in try tx.fetchIDs(FetchRequest("Photo")) }
    let asked = (0..<100_000).map { _ in all[Int.random(in: 0..<all.count, using: &random)] }
    let tags = try store.read { tx in try tx.fetchIDs(FetchRequest("Tag")) }
    let wide = FetchRequest("Photo", predicate: try QueryPredicate(format: "width > 5998"))
    return [
      ReadTask(name: "by id, anywhere") { tx in
        var sum = 0
        for id in asked where try tx.value(id, "title") != nil { sum += 1 }
        return sum
      },
      ReadTask(name: "scan with a predicate") { tx in try tx.count(wide) },
      ReadTask(name: "members of long lists") { tx in
        var sum = 0
        for tag in tags { sum += try tx.members(tag, "photos").count }
        return sum
      },
    ]
  }
}
