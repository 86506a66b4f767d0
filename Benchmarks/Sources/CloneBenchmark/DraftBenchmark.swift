import BenchmarkSupport
import Foundation
import KVClone
import KVCloneMerge

/// The cost of publishing drafts: clones that are merged back into their sources.
enum DraftBenchmark {
  /// Publishes drafts of a library with images.
  static func run(in workspace: Workspace, quick: Bool) throws -> [Target] {
    let drafts = try Drafts(
      at: workspace.path + "/drafts", objects: quick ? 1_000 : 10_000, images: quick ? 100 : 1_000,
      imageBytes: quick ? 100_000 : 1 << 20)
    let rounds = quick ? 3 : 9
    var (kept, deleted): ([Double], [Double]) = ([], [])
    for _ in 0..<rounds {
      kept.append(try drafts.publish(keepsClones: true))
      deleted.append(try drafts.publish(keepsClones: false))
    }
    let title = "publishing a draft of \(drafts.title) with 10 changes"
    let read = try drafts.bytesReadFromDisk()
    return [
      .time("\(title), keeping the clones", Measuring.median(kept), atMost: 0.02),
      .time("\(title), deleting the clones", Measuring.median(deleted), atMost: 0.2),
      Target(
        title: "\(title), with nothing in memory: read from the disk", limit: "≤ 1/10 of the images",
        figure: bytes(Double(read)), verdict: read * 10 <= drafts.imageBytes ? .met : .missed),
    ]
  }
}

/// A store of a library with images, of which drafts are made.
private struct Drafts {
  private let path: String
  private let root: ObjectID
  private let objects: Int
  private let images: Int
  /// The size of all images.
  let imageBytes: Int

  init(at path: String, objects: Int, images: Int, imageBytes length: Int) throws {
    (self.path, self.objects, self.images) = (path, objects, images)
    imageBytes = images * length
    root = try PhotoGraph.make(at: path, objects: objects)
    let store = try ObjectStore.open(at: path)
    defer { store.close() }
    var random = SeededGenerator(seed: 12)
    var image = Data(count: length)
    for photo in try store.read({ tx in try tx.fetchIDs(FetchRequest("Photo")) }).prefix(images) {
      withUnsafeBytes(of: random.next()) { image.replaceSubrange(0..<8, with: $0) }
      try store.write { tx in try tx.set(photo, "image", .binary(image)) }
    }
  }

  var title: String {
    "\(grouped(objects)) objects and \(grouped(images)) images of \(bytes(Double(imageBytes / images)))"
  }

  /// Clones the library, and changes ten photos of the clone.
  private func makeDraft(_ store: ObjectStore) throws -> ObjectID {
    var options = CloneOptions()
    options.keepsBase = true
    let draft = try store.clone([root], options: options).root
    try store.write { tx in
      guard let album = try tx.members(draft, "albums").first else { throw PeerFailure("the draft is empty") }
      for (number, photo) in try tx.members(album, "photos").prefix(10).enumerated() {
        try tx.set(photo, "title", .string("draft \(draft.serial), photo \(number)"))
      }
    }
    return draft
  }

  private func merge(_ draft: ObjectID, _ store: ObjectStore, keepsClones: Bool) throws -> Double {
    var options = MergeOptions()
    options.keepsClones = keepsClones
    var count = 0
    let seconds = try Measuring.seconds { count = try store.drafts.merge(draft, options: options).objects.updated }
    guard count == 10 else { throw PeerFailure("the merge changed \(count) objects") }
    return seconds
  }

  /// Publishes a draft, in seconds. The store is as large afterwards as before.
  func publish(keepsClones: Bool) throws -> Double {
    let store = try ObjectStore.open(at: path)
    defer { store.close() }
    let draft = try makeDraft(store)
    let seconds = try merge(draft, store, keepsClones: keepsClones)
    if keepsClones { try store.write { tx in _ = try tx.delete([draft]) } }
    try store.deleteSnapshots(named: try store.snapshots().map(\.name))
    return seconds
  }

  /// Publishes a draft after the store's files have left the page cache.
  func bytesReadFromDisk() throws -> Int {
    let store = try ObjectStore.open(at: path)
    let draft = try makeDraft(store)
    store.close()
    StoreFiles.settle(path, cold: true)
    let again = try ObjectStore.open(at: path)
    defer { again.close() }
    let before = Measuring.io("read_bytes")
    _ = try merge(draft, again, keepsClones: false)
    return Measuring.io("read_bytes") - before
  }
}
