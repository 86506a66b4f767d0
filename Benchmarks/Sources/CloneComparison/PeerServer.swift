import BenchmarkSupport
import Foundation
import PhotoStores

/// A peer's process: answers one request and exits, so that runs do not share memory.
enum PeerServer {
  static func run(_ argument: String) -> Never {
    var reply = PeerReply()
    do {
      reply = try answer(JSONDecoder().decode(PeerRequest.self, from: Data(argument.utf8)))
    } catch {
      reply.error = "\(error)"
    }
    let line = (try? JSONEncoder().encode(reply)) ?? Data(#"{"error":"the reply cannot be encoded"}"#.utf8)
    FileHandle.standardOutput.write(line + Data("\n".utf8))
    exit(reply.error == nil ? 0 : 1)
  }

  private static func answer(_ request: PeerRequest) throws -> PeerReply {
    switch request.verb {
    case .prepare: try prepare(request)
    case .clone: try clone(request)
    case .work: try (request.work ?? .multiply(1)).run(request)
    }
  }

  private static func prepare(_ request: PeerRequest) throws -> PeerReply {
    var reply = PeerReply()
    let took = try ContinuousClock().measure {
      switch request.peer.family {
      case .kvclone: try KVCloneStore.make(at: request.path, request.recipe)
      case .sqlite: try SQLiteStore.make(at: request.path, request.recipe)
      case .rocksdb: try RocksStore.make(at: request.path, request.recipe)
      }
    }
    reply.seconds = [took.seconds]
    reply.fileBytesAfter = try StoreFiles.bytes(request.path)
    return reply
  }

  private static func cloner(_ request: PeerRequest) throws -> any Cloner {
    let roots = request.roots.isEmpty ? [request.recipe.rootName] : request.roots
    let copies = request.peer == .kvcloneCopy || request.peer == .lmdbCopy
    return switch request.peer.family {
    case .kvclone where request.peer == .kvclone || request.peer == .kvcloneCopy:
      try KVCloneCloner(at: request.path, roots: roots, copiesImages: copies)
    case .kvclone:
      try LMDBCloner(at: request.path, root: roots[0], lmdbMode(request.peer), copiesImages: copies)
    case .sqlite where request.peer == .sqliteRows || request.peer == .sqliteRowsNormal: try SQLiteRowCloner(request)
    case .sqlite: try SQLiteSetCloner(request)
    case .rocksdb: try RocksCloner(request)
    }
  }

  private static func lmdbMode(_ peer: Peer) -> LMDBCloner.Mode {
    switch peer {
    case .lmdbPlain: .noChecksums
    case .lmdbFloor: .floor
    default: .checksums
    }
  }

  private static func clone(_ request: PeerRequest) throws -> PeerReply {
    if let path = request.warmUpPath {
      var small = PeerRequest(.clone, request.peer, path, .document)
      // These two modes would leave an invalid store, and other peers use the same store for their warm-up.
      if request.peer == .lmdbPlain || request.peer == .lmdbFloor { small.peer = .lmdb }
      var cloner = try cloner(small)
      try cloner.warmUp()
      cloner.close()
    }
    var reply = PeerReply()
    reply.fileBytesBefore = try StoreFiles.bytes(request.path)
    var cloner = try cloner(request)
    Measuring.returnFreeMemory()
    let readBefore = Measuring.io("read_bytes")
    let processorBefore = Measuring.processorSeconds()
    let memoryBefore = Measuring.anonymousBytes()
    let sampler = request.samplesMemory ? PeakSampler() : nil
    let clock = ContinuousClock()
    for _ in 0..<request.repeats {
      if request.marks { Marks.write(Marks.begin) }
      let start = clock.now
      let outcome = try cloner.clone()
      let seconds = (clock.now - start).seconds
      if request.marks { Marks.write(Marks.end) }
      reply.seconds.append(outcome.seconds ?? seconds)
      reply.objects = outcome.objects
      reply.parts = outcome.parts
    }
    reply.peakAnonymousBytes = max(sampler?.stop() ?? 0, Measuring.anonymousBytes())
    reply.grownAnonymousBytes = max(0, reply.peakAnonymousBytes - memoryBefore)
    reply.processorSeconds = Measuring.processorSeconds() - processorBefore
    reply.diskBytesRead = Measuring.io("read_bytes") - readBefore
    cloner.close()
    reply.fileBytesAfter = try StoreFiles.bytes(request.path)
    return reply
  }
}
