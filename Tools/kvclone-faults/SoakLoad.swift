import Foundation
import KVClone
import Synchronization

/// One process of ``Soak``: eight tasks that write and read the same objects until the time is up.
///
/// Albums and photos are inserted and deleted, so that there are never more than some hundreds of each; continued
/// growth of the file has another cause.
final class SoakLoad: Sendable {
  static let taskCount = 8
  private static let albumLimit = 24
  private static let photoLimit = 32
  /// The maximum number of concurrent snapshots of a task.
  private static let snapshotLimit = 3

  static let model = ManagedObjectModel("Soak") {
    EntityDescription("Album") {
      AttributeDescription("photoCount", .integer64, derivation: "photos.@count")
      RelationshipDescription("photos", toMany: "Photo", inverse: "album", ordered: true, deleteRule: .cascade)
    }
    EntityDescription("Photo") {
      AttributeDescription("sum", .integer64)
      AttributeDescription("image", .binary)
      RelationshipDescription("album", toOne: "Album", inverse: "photos")
      RelationshipDescription("tags", toMany: "Tag", inverse: "photos")
    }
    EntityDescription("Tag") { RelationshipDescription("photos", toMany: "Photo", inverse: "tags") }
  }

  private struct Tally {
    var writes = 0
    var reads = 0
    var snapshots = 0
  }

  private let store: ObjectStore
  private let number: Int
  private let seed: UInt64
  private let end: ContinuousClock.Instant
  private let tally = Mutex(Tally())

  private init(_ options: Options) throws {
    var opening = StoreOptions()
    opening.journalMode = options.flags.contains("--commit-log") ? .writeAheadLog : .copyOnWrite
    // Sixteen tasks share the write lock; none may time out on a slow machine.
    opening.busyTimeout = .seconds(120)
    store = try ObjectStore.open(at: try options.text("--root"), options: opening)
    number = try options.number("--process") ?? 0
    seed = UInt64(try options.number("--seed") ?? 1)
    end = ContinuousClock.now + .seconds(try options.number("--seconds", from: 1) ?? 1)
  }

  /// Works until the time is up, and prints the totals.
  static func run(_ options: Options) throws {
    let load = try SoakLoad(options)
    let done = DispatchSemaphore(value: 0)
    let failure = Mutex<(any Error)?>(nil)
    Task {
      do {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for task in 0..<taskCount { group.addTask { try await load.work(task) } }
          try await group.waitForAll()
        }
      } catch {
        failure.withLock { $0 = error }
      }
      done.signal()
    }
    done.wait()
    if let error = failure.withLock({ $0 }) { throw error }
    load.store.close()
    let tally = load.tally.withLock { $0 }
    Worker.say("\(tally.writes) \(tally.reads) \(tally.snapshots)")
  }

  private func work(_ task: Int) async throws {
    var random = SeededGenerator(seed: seed, stream: UInt64(13_000_000 + 100 * number + task))
    var snapshots: [String] = []
    var made = 0
    while ContinuousClock.now < end {
      switch random.below(100) {
      case ..<45: try await addPhotos(random)
      case ..<55: try await cloneAlbum(random)
      case ..<92:
        try await store.read { [random] tx in try Self.look(tx, random) }
        tally.withLock { $0.reads += 1 }
      case ..<96 where snapshots.count < Self.snapshotLimit:
        let name = "p\(number).t\(task).\(made)"
        made += 1
        _ = try await store.createSnapshot(named: name)
        snapshots.append(name)
        tally.withLock { $0.snapshots += 1 }
      default:
        guard let name = snapshots.first else { continue }
        let snapshot = try store.snapshot(named: name)
        try await snapshot.read { [random] tx in try Self.look(tx, random) }
        tally.withLock { $0.reads += 1 }
        try await store.deleteSnapshot(named: name)
        snapshots.removeFirst()
      }
      _ = random.next()
    }
    for name in snapshots { try await store.deleteSnapshot(named: name) }
  }

  /// Adds photos to an album, and deletes its first photos if it has too many.
  private func addPhotos(_ start: SeededGenerator) async throws {
    try await store.write(label: "soak") { tx in
      var random = start
      let albums = try tx.fetchIDs(FetchRequest("Album"))
      let album =
        albums.count < Self.albumLimit && random.chance(10)
        ? try tx.insert("Album") : try random.element(albums) ?? tx.insert("Album")
      let tags = try tx.fetchIDs(FetchRequest("Tag"))
      let tag = try tags.count < 8 ? tx.insert("Tag") : tags[random.below(tags.count)]
      for _ in 0...random.below(4) {
        let image = Workload.bytes(random.below(16 << 10), &random)
        try tx.insert(
          "Photo", ["image": .binary(image), "sum": .integer(Self.sum(image))],
          relationships: ["album": [album], "tags": [tag]])
      }
      let photos = try tx.members(album, "photos")
      if photos.count > Self.photoLimit { try tx.delete(Array(photos.prefix(photos.count - Self.photoLimit / 2))) }
    }
    tally.withLock { $0.writes += 1 }
  }

  /// Clones an album with its photos, and deletes another one if there are too many.
  private func cloneAlbum(_ start: SeededGenerator) async throws {
    try await store.write(label: "soak") { tx in
      var random = start
      let albums = try tx.fetchIDs(FetchRequest("Album"))
      guard let album = random.element(albums) else { return }
      _ = try tx.clone(object: album)
      if albums.count >= Self.albumLimit, let other = random.element(albums) { try tx.delete([other]) }
    }
    tally.withLock { $0.writes += 1 }
  }

  /// Verifies the links between an album and its photos, and the contents of the images.
  private static func look(_ tx: borrowing ReadTransaction, _ start: SeededGenerator) throws {
    var random = start
    guard let album = random.element(try tx.fetchIDs(FetchRequest("Album"))) else { return }
    let photos = try tx.members(album, "photos")
    guard try tx.object(album)["photoCount"] == .integer(Int64(photos.count)) else {
      throw Finding("an album has \(photos.count) photos, but its counter differs")
    }
    for photo in photos {
      let object = try tx.object(photo)
      guard let image = try tx.data(photo, "image"), object["sum"] == .integer(sum(image)) else {
        throw Finding("the image of a photo differs from the stored one")
      }
      guard try tx.members(photo, "album") == [album] else { throw Finding("a photo does not link to its album") }
    }
  }

  private static func sum(_ image: Data) -> Int64 {
    var sum: UInt64 = 14_695_981_039_346_656_037
    for byte in image { sum = (sum ^ UInt64(byte)) &* 1_099_511_628_211 }
    return Int64(bitPattern: sum)
  }
}
