import Foundation
package import KVClone
import KVCloneOperations
import KVCloneDemo

/// One round: a new store, and each step once. The results of the steps are checked, so that only completed work is
/// measured.
package struct BenchRound {
  package struct Result {
    package var seconds: [BenchStep: Double] = [:]
    /// The number of the step's units that were done.
    package var counts: [BenchStep: Int] = [:]
    package var fileBytes: UInt64 = 0
  }

  /// Single commits wait for the disk, and so few are enough.
  private static let commitCount = 100
  private static let readLimit = 100_000

  let settings: BenchSettings
  let cancellation: Cancellation
  private(set) var result = Result()

  package init(_ settings: BenchSettings, _ cancellation: Cancellation) {
    self.settings = settings
    self.cancellation = cancellation
  }

  /// - Parameter progress: called when a step begins.
  package mutating func run(at path: String, _ progress: (BenchStep) -> Void) throws -> Result {
    let store = try ObjectStore.create(at: path, model: BenchModel.model)
    defer { store.close() }
    var random = SeededGenerator(seed: settings.seed)
    progress(.insert)
    let clock = ContinuousClock()
    let start = clock.now
    let settings = settings
    let cancellation = cancellation
    let graph = try store.write(label: "bench") { transaction in
      try BenchModel(objects: settings.objects, &random, into: &transaction) { try cancellation.check() }
    }
    note(.insert, settings.objects, clock.now - start)
    try writeImages(store, graph, progress)
    try read(store, graph, &random, progress)
    try query(store, graph, progress)
    try cloneAndDelete(store, graph, progress)
    try commit(store, graph, progress)
    try measure(.snapshot, progress) {
      _ = try store.createSnapshot(named: "bench")
      return 1
    }
    result.fileBytes = try store.info().fileBytes
    try cancellation.check()
    return result
  }

  private mutating func note(_ step: BenchStep, _ count: Int, _ duration: Duration) {
    result.seconds[step] = duration / .seconds(1)
    result.counts[step] = count
  }

  private mutating func measure(_ step: BenchStep, _ progress: (BenchStep) -> Void, _ body: () throws -> Int) throws {
    try cancellation.check()
    progress(step)
    let start = ContinuousClock.now
    let count = try body()
    note(step, count, ContinuousClock.now - start)
  }

  private mutating func writeImages(_ store: ObjectStore, _ graph: BenchModel, _ progress: (BenchStep) -> Void) throws {
    let (count, size, cancellation) = (settings.images, settings.imageBytes, cancellation)
    if count == 0 { return }
    var random = SeededGenerator(seed: settings.seed ^ 0xB17E5)
    var bytes = [UInt8](repeating: 0, count: size)
    // Repeated noise: no layer between the program and the disk profits from the repetition.
    let noise = (0..<min(size, 4096)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    for place in 0..<size { bytes[place] = noise[place % noise.count] ^ UInt8(truncatingIfNeeded: place >> 12) }
    let image = Data(bytes)
    try measure(.images, progress) {
      try store.write(label: "bench") { transaction in
        for photo in graph.photos.prefix(count) {
          try cancellation.check()
          try transaction.set(photo, "image", .binary(image))
        }
      }
      return count * size
    }
  }

  private mutating func read(
    _ store: ObjectStore, _ graph: BenchModel, _ random: inout SeededGenerator, _ progress: (BenchStep) -> Void
  ) throws {
    let places = (0..<min(graph.photos.count, Self.readLimit)).map { _ in
      Int.random(in: 0..<graph.photos.count, using: &random)
    }
    try measure(.read, progress) {
      try store.read { transaction in
        for place in places {
          guard try transaction.object(graph.photos[place]).value("number") == .integer(Int64(place)) else {
            throw Self.wrong("a read by id")
          }
        }
      }
      return places.count
    }
  }

  private mutating func query(_ store: ObjectStore, _ graph: BenchModel, _ progress: (BenchStep) -> Void) throws {
    let photos = graph.photos.count
    try measure(.query, progress) {
      var found = 0
      for shelf in 0..<BenchModel.shelfCount {
        let request = FetchRequest("Photo", predicate: try QueryPredicate(format: "shelf == \(shelf)"))
        try store.read { transaction in
          try transaction.forEachObject(matching: request) { object in
            if try object.value("shelf") == .integer(Int64(shelf)) { found += 1 }
            return true
          }
        }
      }
      guard found == photos else { throw Self.wrong("a query with an index") }
      return found
    }
    try measure(.scan, progress) {
      let halves = try ["rating < 0.5", "rating >= 0.5"].map { format in
        let request = FetchRequest("Photo", predicate: try QueryPredicate(format: format))
        return try store.read { transaction in try transaction.count(request) }
      }
      guard halves.reduce(0, +) == photos else { throw Self.wrong("a query without an index") }
      return photos * halves.count
    }
  }

  private mutating func cloneAndDelete(
    _ store: ObjectStore, _ graph: BenchModel, _ progress: (BenchStep) -> Void
  ) throws {
    // All but the tags, which are shared.
    let expected = settings.objects - BenchModel.tagCount
    var root: ObjectID?
    try measure(.clone, progress) {
      let clone = try store.clone([graph.library])
      guard clone.objectCount == expected else { throw Self.wrong("a clone") }
      root = clone.root
      return clone.objectCount
    }
    guard let root else { return }
    try measure(.delete, progress) {
      let deleted = try store.write(label: "bench") { transaction in try transaction.delete([root]).deletedCount }
      guard deleted == expected else { throw Self.wrong("a cascading delete") }
      return deleted
    }
  }

  private mutating func commit(_ store: ObjectStore, _ graph: BenchModel, _ progress: (BenchStep) -> Void) throws {
    let cancellation = cancellation
    try measure(.commits, progress) {
      for number in 0..<Self.commitCount {
        try cancellation.check()
        let photo = graph.photos[number * 7919 % graph.photos.count]
        try store.write(label: "bench") { transaction in
          try transaction.set(photo, "rating", .double(Double(number)))
        }
      }
      return Self.commitCount
    }
  }

  private static func wrong(_ what: String) -> BenchError { BenchError(step: what) }
}

extension Cancellation {
  /// Throws after an interrupt.
  fileprivate func check() throws {
    if isCancelled { throw CancellationError() }
  }
}
