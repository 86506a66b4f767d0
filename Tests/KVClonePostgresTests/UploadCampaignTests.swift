#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneTestSupport
  import Synchronization
  import Testing

  /// Uploads of one process while another one sweeps abandoned uploads all the time: it must not delete one that is
  /// still held.
  ///
  /// `KVCLONE_POSTGRES_ROUNDS=1` runs 10,000 uploads.
  @Suite(
    "Uploads and sweeps of two processes", .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct UploadCampaignTests {
    private static let uploadCount = ProcessInfo.processInfo.environment["KVCLONE_POSTGRES_ROUNDS"] == nil ? 50 : 10_000

    @Test("no upload is swept while it is held, and all others are")
    func concurrent() throws {
      let seed = PropertySeeds.hasGivenSeeds ? PropertySeeds.seeds[0] : .random(in: 0 ... .max)
      let test = try TestStore(stagingModel, engine: .postgres(caches: true))
      let ids = try test.store.insert("File", count: 4)
      let peer = try PeerProcess("sweep", [test.location])
      #expect(peer.hear() == "open")
      let crew = Uploaders(test.store, ids, seed: seed, count: Self.uploadCount / ids.count)
      crew.work()
      #expect(crew.errors.isEmpty, "\(crew.errors.prefix(3)), seed \(seed)")
      try peer.tell("end")
      let sweeps = Int(peer.hear() ?? "") ?? 0
      #expect(try peer.finish() == 0)
      #expect(sweeps > 0, "no sweep ran, seed \(seed)")
      // This one sweeps what the threads have dropped.
      try test.reopen()
      #expect(try test.store.blobCounts().pending == 0, "seed \(seed)")
      try checked(test.store)
    }
  }

  /// Threads that stage blobs, hold some of them for a while, and store or drop them.
  private final class Uploaders: Sendable {
    private let store: ObjectStore
    private let ids: [ObjectID]
    private let seed: UInt64
    private let count: Int
    private let found = Mutex([String]())

    init(_ store: ObjectStore, _ ids: [ObjectID], seed: UInt64, count: Int) {
      (self.store, self.ids, self.seed, self.count) = (store, ids, seed, count)
    }

    var errors: [String] { found.withLock { $0 } }

    func work() {
      DispatchQueue.concurrentPerform(iterations: ids.count) { number in
        do {
          try upload(number)
        } catch {
          found.withLock { $0.append("\(error)") }
        }
      }
    }

    private func upload(_ number: Int) throws {
      var random = SeededGenerator(seed: seed &+ UInt64(number))
      var held: [(blob: StagedBlob, data: Data)] = []
      for _ in 0..<count {
        let byte = UInt8(random.below(256))
        // Of one chunk, seldom of several.
        let data = Data(repeating: byte, count: random.chance(in: 50) ? 1 << 20 : 1100 + random.below(5000))
        let blob = try store.stageBlob(timeout: .seconds(300)) { writer in
          try writer.append(data.prefix(1000))
          try writer.append(data.dropFirst(1000))
        }
        held.append((blob, data))
        while held.count > random.below(6) {
          let next = held.removeFirst()
          if random.chance(in: 4) { continue }
          try store.write(timeout: .seconds(60)) { tx in try tx.setData(ids[number], "data", next.blob) }
          if try store.data(ids[number], "data") != next.data { found.withLock { $0.append("a value differs") } }
        }
      }
    }
  }
#endif
