import CKVCloneLMDB

extension LMDBEnvironment {
  /// Makes LMDB spill. Returns `MDB_INCOMPATIBLE` if it went as it should, and also if no table is open yet, when there
  /// is nothing to spill.
  func forceSpill(_ transaction: OpaquePointer) -> Int32 {
    guard let name = core.state.withLock({ $0.tables.keys.first }) else { return MDB_INCOMPATIBLE }
    let key = Array(name.utf8)
    return unsafe key.withUnsafeBytes { key in unsafe SpillProbe.force(transaction, key) }
  }

  /// Has the disk take what was spilled while the transaction goes on.
  func beginWritingBack() {
    if let descriptor = core.descriptor { core.writeback.begin(descriptor) }
  }

  /// Waits until that has begun, at the end of a transaction that spilled. A forked child has no thread that would do it.
  func endWritingBack() {
    if !core.forkGuard.isForked { core.writeback.finish() }
  }

  /// Whether a code says that the library does not do things in the order that forced spills need: it took the value,
  /// or refused its length first.
  static func isOtherOrder(_ code: Int32) -> Bool {
    code == 0 || code == MDB_BAD_VALSIZE
  }
}
