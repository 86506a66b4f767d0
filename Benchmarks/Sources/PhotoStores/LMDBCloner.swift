import BenchmarkSupport
import CLMDBPeer
import KVClone

/// The clone in C on the library's file format.
package struct LMDBCloner: Cloner {
  private let peer: OpaquePointer
  private let root: UInt64
  private let mode: lmdb_peer_mode
  private let flags: UInt32

  /// The mode of the clone.
  package enum Mode {
    case checksums
    /// Without checksums; the store is invalid afterwards.
    case noChecksums
    /// Only scans and appends; the store is invalid afterwards.
    case floor
  }

  /// - Parameter copiesImages: whether images are copied instead of shared.
  package init(at path: String, root name: String, _ mode: Mode = .checksums, copiesImages: Bool = false) throws {
    let store = try ObjectStore.open(at: path)
    root = try store.read { transaction in try transaction.objectID(named: name) }.rawValue
    // LMDB allows one environment per file and process.
    store.close()
    var opened: OpaquePointer?
    let code = lmdb_peer_open(path, &opened)
    guard code == 0, let opened else { throw PeerFailure("C on LMDB: \(String(cString: lmdb_peer_message()))") }
    peer = opened
    self.mode =
      switch mode {
      case .checksums: LMDB_PEER_CHECKSUMS
      case .noChecksums: LMDB_PEER_NO_CHECKSUMS
      case .floor: LMDB_PEER_FLOOR
      }
    flags = copiesImages ? UInt32(LMDB_PEER_COPY_BLOBS) : 0
  }

  package mutating func clone() throws -> CloneOutcome {
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

  package mutating func close() { lmdb_peer_close(peer) }
}
