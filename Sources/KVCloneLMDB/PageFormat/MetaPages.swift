import CKVCloneLMDB
import Glibc

/// The conditions on the two meta pages for mapping a file: LMDB trusts them, and a corrupted one makes it crash.
///
/// Offsets are those of `MDB_page` (16 bytes of header) and `MDB_meta` in mdb.c, 64-bit.
struct MetaPages {
  /// The offset of the commit number (`mm_txnid`).
  static let commitOffset = 144

  /// The last page according to the newer meta page.
  let lastPage: UInt64

  private struct Meta {
    let commit: UInt64
    let lastPage: UInt64
    /// The problem of its trees. Of the newer page only: LMDB uses no other, and the older one may name roots beyond
    /// its last page, because LMDB leaves it so when it could not write a newer one (`mdb_env_write_meta`: the new
    /// roots, with the old numbers restored).
    let damage: String?
  }

  private static func rejection(_ path: String, _ page: UInt64, _ reason: String) -> LMDBError {
    .invalidStore(path: path, reason: "meta page \(page): \(reason)")
  }

  /// Reads and checks both pages with `pread`. Retries a few times, because a writer of another process may be writing
  /// one.
  init(descriptor: Int32, path: String) throws(LMDBError) {
    var attempt = 0
    while true {
      do throws(LMDBError) {
        let metas = [try Self.read(descriptor, page: 0, path), try Self.read(descriptor, page: 1, path)]
        let newer = metas[0].commit >= metas[1].commit ? 0 : 1
        if let reason = metas[newer].damage { throw Self.rejection(path, UInt64(newer), reason) }
        lastPage = metas[newer].lastPage
        return
      } catch {
        attempt += 1
        if attempt == 3 { throw error }
        usleep(1000)
      }
    }
  }

  private static func read(_ descriptor: Int32, page: UInt64, _ path: String) throws(LMDBError) -> Meta {
    func reject(_ reason: String) -> LMDBError { rejection(path, page, reason) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    // The second meta page begins where the first one's page size says; both are 4096 or the file is refused.
    let count = unsafe pread(descriptor, &bytes, bytes.count, Int(page) * 4096)
    if count < 0 { throw LMDBError(code: errno, operation: "pread") }
    if count < bytes.count { throw reject("the file ends within it") }
    func word(_ offset: Int, _ width: Int) -> UInt64 {
      var value: UInt64 = 0
      for index in (offset..<offset + width).reversed() { value = value << 8 | UInt64(bytes[index]) }
      return value
    }
    if word(16, 4) != 0xBEEF_C0DE { throw reject("the magic number is not LMDB's") }
    if word(20, 4) != 1 { throw reject("not data version 1") }
    if word(0, 8) != page || word(10, 2) & 0x08 == 0 { throw reject("its header is not a meta page header") }
    // The page size is in the free database's otherwise unused field.
    if word(40, 4) != 4096 { throw .unsupportedPageSize(UInt32(word(40, 4))) }
    if word(44, 2) & 0x01 != 0 { throw reject("it requires a fixed map address (MDB_FIXEDMAP)") }
    return Meta(commit: word(commitOffset, 8), lastPage: word(136, 8), damage: damage(word))
  }

  private static func damage(_ word: (_ offset: Int, _ width: Int) -> UInt64) -> String? {
    let lastPage = word(136, 8)
    // A process can address 2^47 bytes.
    if lastPage < 1 || lastPage >= 1 << 35 { return "its last page number is out of range" }
    for (name, base) in [("free", 40), ("main", 88)] {
      let root = word(base + 40, 8)
      let depth = word(base + 6, 2)
      let isEmpty = root == .max
      if !isEmpty, root < 2 || root > lastPage { return "the root of the \(name) tree is outside the file" }
      // CURSOR_STACK in mdb.c.
      if depth > 32 || isEmpty != (depth == 0) { return "the depth of the \(name) tree is out of range" }
    }
    // Neither sorted duplicates nor integer or reversed keys: the main database has plain names.
    if word(92, 2) & 0x7FFF != 0 { return "the main tree has invalid flags" }
    return nil
  }
}
