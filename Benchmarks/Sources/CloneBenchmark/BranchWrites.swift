import BenchmarkSupport
import Foundation
import KVClone
import KVCloneOperations

/// Writes on a branch, compared with the same writes on a store of the same content without branches.
struct BranchWrites {
  private let plain: MeasuredStore
  private let branch: ObjectStore

  init(_ plain: MeasuredStore, _ other: MeasuredStore) throws {
    self.plain = plain
    branch = try other.store.branches.create("written")
  }

  func run(quick: Bool) throws -> [Target] {
    let single = quick ? 100 : 1_000
    let batch = quick ? 1_000 : 10_000
    let photos = try plain.store.read { tx in try tx.fetchIDs(FetchRequest("Photo")) }
    var random = SeededGenerator(seed: 8)
    // Both stores were created with the same seed, so their ids are the same. Each object is changed first by one task.
    let shuffled = photos.shuffled(using: &random)
    let (few, many) = (shuffled.prefix(single), shuffled.dropFirst(single))
    let batches = (0..<(quick ? 3 : 9)).map { many.dropFirst($0 * batch).prefix(batch).sorted() }
    return [
      try compare("setting one attribute, the first change of an object", few.map { [$0] }, atMost: 1.3),
      try compare("setting one attribute, a later change", few.map { [$0] }, atMost: 1.3),
      try compare("changing \(grouped(batch)) objects for the first time", batches, atMost: 2),
      try compare("changing \(grouped(batch)) objects again", batches, atMost: 2),
      try clones(rounds: quick ? 3 : 7),
      try loads(rounds: quick ? 2 : 5),
    ]
  }

  /// Compares durable transactions, which change the given objects.
  private func compare(_ title: String, _ transactions: [[ObjectID]], atMost limit: Double) throws -> Target {
    var (base, own): ([Double], [Double]) = ([], [])
    for (number, photos) in transactions.enumerated() {
      let text = "\(title) \(number)"
      base.append(try Measuring.seconds { try plain.change(photos, to: text) })
      own.append(try Measuring.seconds { try plain.change(photos, to: text, on: branch) })
    }
    return .ratio("\(title), on a branch", Measuring.median(own), to: Measuring.median(base), atMost: limit)
  }

  /// Compares clones of the whole library, which are deleted again.
  private func clones(rounds: Int) throws -> Target {
    func clone(_ store: ObjectStore) throws -> Double {
      var roots: [ObjectID] = []
      let seconds = try Measuring.seconds { roots = try store.clone([plain.root]).roots }
      try store.write { tx in _ = try tx.delete(roots) }
      return seconds
    }
    var (base, own): ([Double], [Double]) = ([], [])
    for _ in 0..<rounds {
      base.append(try clone(plain.store))
      own.append(try clone(branch))
    }
    return .ratio(
      "cloning \(grouped(plain.size)) objects, on a branch", Measuring.median(own), to: Measuring.median(base),
      atMost: 3)
  }

  /// Compares loads of the dump of the library, each of which adds its objects again.
  private func loads(rounds: Int) throws -> Target {
    var lines: [UInt8] = []
    _ = try plain.store.dump { piece in piece.withUnsafeBytes { lines += $0 } }
    func load(_ store: ObjectStore) throws -> Double {
      var isGiven = false
      return try Measuring.seconds {
        _ = try store.load { buffer in
          if !isGiven { buffer += lines }
          defer { isGiven = true }
          return !isGiven
        }
      }
    }
    var (base, own): ([Double], [Double]) = ([], [])
    for _ in 0..<rounds {
      base.append(try load(plain.store))
      own.append(try load(branch))
    }
    return .ratio(
      "loading \(grouped(plain.size)) objects, on a branch", Measuring.median(own), to: Measuring.median(base),
      atMost: 3)
  }
}
