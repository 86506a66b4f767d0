import BenchmarkSupport
import CLMDBPeer
import KVClone

/// The clone in C, on the library's own file.
struct LMDBCloner: Cloner {
  private let peer: OpaquePointer
  private let root: UInt64
  private let mode: lmdb_peer_mode
  private let flags: UInt32

  init(_ request: PeerRequest) throws {
    let store = try ObjectStore.open(at: request.path)
    let name = request.roots.first ?? KVCloneStore.rootName(request.recipe)
    root = try store.read { transaction in try transaction.objectID(named: name) }.rawValue
    // LMDB allows one environment a file and process.
    store.close()
    var opened: OpaquePointer?
    let code = lmdb_peer_open(request.path, &opened)
    guard code == 0, let opened else { throw PeerFailure("C on LMDB: \(String(cString: lmdb_peer_message()))") }
    peer = opened
    mode =
      switch request.peer {
      case .lmdbPlain: LMDB_PEER_NO_CHECKSUMS
      case .lmdbFloor: LMDB_PEER_FLOOR
      default: LMDB_PEER_CHECKSUMS
      }
    flags = request.peer == .lmdbCopy ? UInt32(LMDB_PEER_COPY_BLOBS) : 0
  }

  mutating func clone() throws -> CloneOutcome {
    var result = lmdb_peer_result()
    guard lmdb_peer_clone(peer, root, mode, flags, &result) == 0 else {
      throw PeerFailure("C on LMDB: \(String(cString: lmdb_peer_message()))")
    }
    return CloneOutcome(
      objects: Int(result.objects),
      parts: [
        "mark": result.mark_seconds, "stream": result.stream_seconds, "publish": result.publish_seconds,
        "commit": result.commit_seconds,
      ])
  }

  mutating func close() { lmdb_peer_close(peer) }
}
