import BenchmarkSupport
import Foundation
import PhotoStores

/// A cold clone in a separate process, so that no part of the store is mapped before it is opened.
enum CloneProcess {
  enum Peer: String, CaseIterable {
    case kvclone, lmdb

    var title: String { self == .kvclone ? "KVClone" : "C on LMDB" }
  }

  struct Reply: Codable {
    var seconds = 0.0
    var processorSeconds = 0.0
    var objectCount = 0
    /// The number of objects in the store.
    var objectsBefore = 0
    var objectsAfter = 0
    var anonymousBytes = 0
    var diskBytesRead = 0
  }

  /// Runs this program for one clone.
  ///
  /// - Parameters:
  ///   - root: the name of the cloned object.
  ///   - store: the store, which is dropped from the page cache.
  ///   - warm: a small store for a warm-up clone, so that one-time costs of the process are not measured.
  static func ask(_ peer: Peer, toClone root: String, in store: String, warmingUpIn warm: String) throws -> Reply {
    let before = try objectCount(store)
    StoreFiles.settle(store, cold: true)
    let result = try Command.run([program(), "clone", peer.rawValue, store, root, warm])
    guard result.status == 0 else { throw PeerFailure("\(peer.title) ended with \(result.status): \(result.errors)") }
    var reply = try JSONDecoder().decode(Reply.self, from: result.output)
    (reply.objectsBefore, reply.objectsAfter) = (before, try objectCount(store))
    return reply
  }

  /// The work of the process.
  static func work(_ peer: Peer, toClone root: String, in store: String, warmingUpIn warm: String) throws {
    var small = try cloner(peer, GraphRecipe.document.rootName, warm)
    try small.warmUp()
    small.close()
    var cloner = try cloner(peer, root, store)
    defer { cloner.close() }
    // Opening the store reads a few pages, and read-ahead more. Another process drops them from the page cache: if this
    // one closed a file of the store, it would lose its locks of that file.
    guard try Command.run([program(), "drop", store]).status == 0 else {
      throw PeerFailure("the store cannot be dropped from the page cache")
    }
    var reply = Reply()
    let readBefore = Measuring.io("read_bytes")
    let processorBefore = Measuring.processorSeconds()
    (reply.seconds, reply.anonymousBytes) = try Measuring.peakAnonymousBytes {
      let start = ContinuousClock.now
      reply.objectCount = try cloner.clone().objects
      return (ContinuousClock.now - start).seconds
    }
    reply.processorSeconds = Measuring.processorSeconds() - processorBefore
    reply.diskBytesRead = Measuring.io("read_bytes") - readBefore
    FileHandle.standardOutput.write(try JSONEncoder().encode(reply))
  }

  private static func program() throws -> String {
    try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  }

  private static func cloner(_ peer: Peer, _ root: String, _ store: String) throws -> any Cloner {
    switch peer {
    case .kvclone: try KVCloneCloner(at: store, roots: [root])
    case .lmdb: try LMDBCloner(at: store, root: root)
    }
  }

  private static func objectCount(_ path: String) throws -> Int {
    try KVCloneStore.counts(at: path).values.reduce(0, +)
  }
}
