import BenchmarkSupport
import Foundation
import KVClone

/// Measurements in a KVClone store with more than one clone.
enum StoreWork: Codable {
  /// Rounds of clone and delete, with the file size after each. With `apart`, a small commit follows each of the two,
  /// because LMDB reuses pages only in the second transaction after they were freed.
  case rounds(Int, apart: Bool)
  /// Rounds that clone a random part of the library and delete a random earlier clone.
  case age(Int)
  /// Clones the library until the store has the given number of copies.
  case multiply(Int)
  /// The wait of another thread's writes during a clone.
  case stall

  func run(_ request: PeerRequest) throws -> PeerReply {
    let store = try ObjectStore.open(at: request.path)
    defer { store.close() }
    var reply = PeerReply()
    let library = try store.read { tx in try tx.objectID(named: "Library/1") }
    switch self {
    case .rounds(let count, let apart):
      let tag = try store.read { tx in try tx.objectID(named: "Tag/1") }
      func part() throws { if apart { try store.write { tx in try tx.set(tag, "name", .string("apart")) } } }
      for round in 1...count {
        let clone = try store.clone([library])
        reply.objects = clone.objectCount
        reply.seconds.append(clone.duration.seconds)
        try part()
        try store.write { tx in _ = try tx.delete([clone.root]) }
        try part()
        reply.figures["bytes after round \(round)"] = Double(try StoreFiles.bytes(request.path))
      }
    case .age(let count): try Self.age(store, library, rounds: count)
    case .multiply(let count):
      for _ in 1..<count { _ = try store.clone([library]) }
    case .stall: reply = try Self.stall(store, library)
    }
    reply.fileBytesAfter = try StoreFiles.bytes(request.path)
    return reply
  }

  /// Clones some of the albums, and deletes clones in later rounds, which scatters free pages over the whole file.
  private static func age(_ store: ObjectStore, _ library: ObjectID, rounds: Int) throws {
    var random = SeededGenerator(seed: 100)
    let albums = try store.read { tx in try tx.members(library, "albums") }
    var kept: [[ObjectID]] = []
    for _ in 0..<rounds {
      let length = Int.random(in: 1...max(1, albums.count / 20), using: &random)
      let start = Int.random(in: 0...max(0, albums.count - length), using: &random)
      let clones = try store.clone(Array(albums[start..<min(albums.count, start + length)])).roots
      kept.append(clones)
      if kept.count > 10 {
        let gone = kept.remove(at: Int.random(in: 0..<kept.count, using: &random))
        try store.write { tx in _ = try tx.delete(gone) }
      }
    }
    for clones in kept { try store.write { tx in _ = try tx.delete(clones) } }
  }

  private static func stall(_ store: ObjectStore, _ library: ObjectID) throws -> PeerReply {
    let tag = try store.read { tx in try tx.objectID(named: "Tag/1") }
    let alone = try SmallWriter(store, tag)
    usleep(1_000_000)
    let before = Rounds(try alone.stop())
    let writer = try SmallWriter(store, tag)
    usleep(200_000)
    let clone = try store.clone([library])
    usleep(200_000)
    let during = Rounds(try writer.stop())
    var reply = PeerReply()
    reply.objects = clone.objectCount
    reply.seconds = [clone.duration.seconds]
    reply.figures = [
      "commits alone": Double(before.values.count), "median alone": before.median, "p99 alone": before.percentile(0.99),
      "longest alone": before.most, "commits": Double(during.values.count), "median": during.median,
      "p99": during.percentile(0.99), "longest": during.most,
    ]
    return reply
  }
}

/// Small durable commits, one after another, on a separate thread.
private final class SmallWriter: @unchecked Sendable {
  private let condition = NSCondition()
  private var isStopped = false
  private var isDone = false
  private var seconds: [Double] = []
  private var failure: (any Error)?

  init(_ store: ObjectStore, _ object: ObjectID) throws {
    let thread = Thread { [self] in
      let clock = ContinuousClock()
      var number = 0
      while !condition.withLock({ isStopped }) {
        number += 1
        let start = clock.now
        do {
          try store.write(timeout: .seconds(600)) { tx in try tx.set(object, "name", .string("tag \(number)")) }
        } catch {
          condition.withLock { failure = error }
          break
        }
        let took = (clock.now - start).seconds
        condition.withLock { seconds.append(took) }
      }
      condition.lock()
      isDone = true
      condition.signal()
      condition.unlock()
    }
    thread.start()
  }

  /// Stops the writer.
  ///
  /// - Returns: the duration of each commit, including the wait for the lock.
  func stop() throws -> [Double] {
    condition.lock()
    defer { condition.unlock() }
    isStopped = true
    while !isDone { condition.wait() }
    if let failure { throw failure }
    return seconds
  }
}
