import BenchmarkSupport
import Foundation
import PhotoStores

/// Creates stores and runs peers. A failure of a peer is recorded, and the run continues.
///
/// Only `ask` is called from several threads, and it changes no state here.
final class Lab: @unchecked Sendable {
  /// The folder for all files of this run; it is empty before and after.
  let folder: String
  /// The same on a file system in memory; nil if there is no such file system.
  let memoryFolder: String?
  private(set) var failures: [String] = []
  private let program: String
  private var warmUps: [String: String] = [:]

  init(in stores: String) throws {
    program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    folder = stores + "/comparison-\(getpid())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let shared = "/dev/shm/kvclone-comparison-\(getpid())"
    memoryFolder = mkdir(shared, 0o700) == 0 ? shared : nil
  }

  func remove() {
    StoreFiles.remove(folder)
    if let memoryFolder { StoreFiles.remove(memoryFolder) }
  }

  func fail(_ message: String) {
    report("  FAILED: \(message)")
    failures.append(message)
  }

  /// Runs a peer's process on a store. `wrapper` is a prefix of the command.
  func ask(_ request: PeerRequest, wrapper: [String] = []) throws -> PeerReply {
    let argument = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
    let result = try Command.run(wrapper + [program, "peer", argument])
    guard let line = result.output.split(separator: UInt8(ascii: "\n")).last,
      let reply = try? JSONDecoder().decode(PeerReply.self, from: Data(line))
    else {
      let words = result.errors.split(separator: "\n").last.map(String.init) ?? "it said nothing"
      throw PeerFailure(
        result.status < 0 ? "ended by signal \(-result.status): \(words)" : "ended with \(result.status): \(words)")
    }
    if let error = reply.error { throw PeerFailure(error) }
    return reply
  }

  /// Creates a graph's stores concurrently, one for each family, which is not measured. Omits and records families that
  /// fail.
  func prepare(_ families: [Peer.Family], _ recipe: GraphRecipe, named name: String, inMemory: Bool = false)
    -> [Peer.Family: String]
  {
    guard let place = inMemory ? memoryFolder : folder else { return [:] }
    let made = Gathered<Peer.Family, Result<PeerReply, any Error>>()
    @Sendable func path(_ family: Peer.Family) -> String { "\(place)/\(name)-\(family.rawValue)" }
    DispatchQueue.concurrentPerform(iterations: families.count) { index in
      let family = families[index]
      let peer: Peer =
        switch family {
        case .kvclone: .kvclone
        case .sqlite: .sqliteSet
        case .rocksdb: .rocksdb
        }
      made.set(family, Result { try ask(PeerRequest(.prepare, peer, path(family), recipe)) })
    }
    var paths: [Peer.Family: String] = [:]
    for family in families {
      switch made.values[family] {
      case .success(let reply):
        StoreFiles.settle(path(family))
        paths[family] = path(family)
        report(
          "  made for \(family.rawValue) in \(duration(reply.seconds.first ?? 0)), \(bytes(Double(reply.fileBytesAfter)))"
        )
      case .failure(let error):
        StoreFiles.remove(path(family))
        fail("\(name): no store for \(family.rawValue): \(error)")
      case nil: break
      }
    }
    return paths
  }

  /// A small store for a warm-up clone in each process.
  func warmUpStore(_ family: Peer.Family, inMemory: Bool = false) -> String? {
    let name = inMemory ? "warm-memory" : "warm"
    if let known = warmUps[name + family.rawValue] { return known }
    let path = prepare([family], .document, named: name, inMemory: inMemory)[family]
    warmUps[name + family.rawValue] = path
    return path
  }

  /// Runs one measurement in a fresh copy of a store.
  ///
  /// - Parameter change: sets further fields of the request.
  func measure(
    _ run: Run, _ source: String, _ recipe: GraphRecipe, inMemory: Bool = false, wrapper: [String] = [],
    change: (inout PeerRequest) -> Void = { _ in }
  ) throws -> PeerReply {
    let copy = (inMemory ? memoryFolder ?? folder : folder) + "/copy"
    try StoreFiles.copy(source, to: copy, cold: run.isCold)
    defer { StoreFiles.remove(copy) }
    var request = PeerRequest(.clone, run.peer, copy, recipe)
    request.warmUpPath = warmUpStore(run.peer.family, inMemory: inMemory)
    change(&request)
    // The store of the warm-up may be new, so a cold run drops its measured copy from the page cache afterwards.
    if run.isCold { StoreFiles.settle(copy, cold: true) }
    let reply = try ask(request, wrapper: wrapper)
    guard request.verb == .work || run.peer == .lmdbFloor || reply.objects >= recipe.objects else {
      throw PeerFailure("\(reply.objects) of \(recipe.objects) objects were cloned")
    }
    return reply
  }
}

/// Values by key, collected from several threads.
private final class Gathered<Key: Hashable, Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var all: [Key: Value] = [:]

  var values: [Key: Value] { lock.withLock { all } }

  func set(_ key: Key, _ value: Value) { lock.withLock { all[key] = value } }
}
