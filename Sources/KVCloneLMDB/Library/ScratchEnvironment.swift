import CKVCloneLMDB
import Glibc

/// A small LMDB environment in memory, without locks and invisible to other processes.
@safe
final class ScratchEnvironment {
  static let tableName = Array("probe".utf8)

  private let environment: OpaquePointer
  private let table: UInt32
  private let descriptor: Int32

  init?() {
    descriptor = unsafe kvclone_memory_file("kvclone-probe")
    guard descriptor >= 0 else { return nil }
    var opened: OpaquePointer?
    guard unsafe mdb_env_create(&opened) == 0, let opened = unsafe opened else {
      Glibc.close(descriptor)
      return nil
    }
    unsafe environment = opened
    unsafe mdb_env_set_maxdbs(opened, 2)
    unsafe mdb_env_set_mapsize(opened, 16 << 20)
    // With MDB_NOSUBDIR and MDB_NOLOCK, LMDB opens the path unchanged (`mdb_fname_init`).
    let flags = UInt32(MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS | MDB_NOSYNC)
    var code = unsafe mdb_env_open(opened, "/proc/self/fd/\(descriptor)", flags, 0o600)
    var transaction: OpaquePointer?
    var dbi: UInt32 = 0
    if code == 0 { code = unsafe mdb_txn_begin(opened, nil, 0, &transaction) }
    if code == 0 { code = unsafe mdb_dbi_open(transaction, "probe", UInt32(MDB_CREATE), &dbi) }
    if code == 0 { code = unsafe mdb_txn_commit(transaction) }
    table = dbi
    if code != 0 { return nil }
  }

  var fileLength: Int {
    (try? FileSystem.facts(descriptor: descriptor))?.byteCount ?? 0
  }

  /// The last page of the last commit (`me_last_pgno`).
  var lastPage: UInt64 {
    var info = unsafe MDB_envinfo()
    return unsafe mdb_env_info(environment, &info) == 0 ? UInt64(info.me_last_pgno) : 0
  }

  func begin(_ flags: UInt32) -> OpaquePointer? {
    var transaction: OpaquePointer?
    return unsafe mdb_txn_begin(environment, nil, flags, &transaction) == 0 ? transaction : nil
  }

  func put(_ transaction: OpaquePointer, _ byte: UInt8, _ index: Int, _ length: Int) -> Bool {
    let key = [UInt8(index), byte]
    return unsafe key.withUnsafeBytes { key in
      let place = unsafe rawReserve(transaction, table, key, length, 0)
      guard unsafe place.code == 0, let base = unsafe place.base else { return false }
      unsafe memset(base, Int32(byte), length)
      return true
    }
  }

  func holds(first: UInt8, _ count: Int, _ length: Int) -> Bool {
    guard let transaction = unsafe begin(UInt32(MDB_RDONLY)) else { return false }
    defer { unsafe mdb_txn_abort(transaction) }
    return unsafe holds(transaction, first: first, count, length)
  }

  func holds(_ transaction: OpaquePointer, first: UInt8, _ count: Int, _ length: Int) -> Bool {
    for index in 0..<count {
      let byte = first + UInt8(index)
      let key = [UInt8(index), byte]
      let isRight = unsafe key.withUnsafeBytes { key in
        let value = unsafe rawGet(transaction, table, key)
        guard value.code == 0, value.count == length, let base = unsafe value.base else { return false }
        // All bytes are equal if each equals its neighbour.
        return unsafe base.load(as: UInt8.self) == byte && memcmp(base, base + 1, length - 1) == 0
      }
      if !isRight { return false }
    }
    return true
  }

  deinit {
    unsafe mdb_env_close(environment)
    Glibc.close(descriptor)
  }
}
