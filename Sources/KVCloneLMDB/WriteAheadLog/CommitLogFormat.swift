import Glibc

/// The format of `commit.log`.
///
/// Two copies of a head, 4096 bytes apart, and then records, each at a multiple of 4096 from 8192 on. Numbers are
/// little-endian.
///
///     head    magic u64, sum u64, sequence u64, salt u64, base commit u64, 1 if the log is in use u64,
///             tie u64, meta page 0, meta page 1 (152 bytes each)
///     record  magic u64, sum u64, salt u64, commit u64, bytes u64, pages u64, the commit's meta page (152 bytes),
///             pages
///     page    number u64, lower u16, upper u16, kind u16, runs u16
///             kind 0: the bytes before `lower`, those from `upper` on
///             kind 1: base u64, start u16 and length u16 of each run, zeros up to a multiple of 8, the runs' bytes
///
/// A page of kind 1 is the page `base` with the bytes of the runs in their places, its own number in the first eight
/// bytes, and zeros between `lower` and `upper`. The base is in an earlier record of the same log, as the last version
/// of its page, and no later page has the same version as its base. `data.mdb` is never a base: after a power loss, any
/// of its pages may be older or newer.
///
/// The tie is a random number that is also in the last bytes of page 0 of `data.mdb`, where LMDB writes nothing: meta
/// pages of different stores can be equal. Each use of the log, from a closed store on, has a new one. In the head, some
/// of its bits are inverted (`versionMark`).
///
/// Version 1 wrote each page without its gap: the head has the tie itself, and a record has another magic number and
/// pages of `number u64, lower u32, upper u32, the bytes before lower, those from upper on`. It is still read. A library
/// that knows only version 1 takes an inverted tie for another store's, and refuses to open the store.
///
/// A head's checksum covers all that follows it; a record's, too, and starts with the checksum of the record before, or
/// with the salt. A record that is torn, or left from an earlier use of the log, is therefore invalid, and so are all
/// behind it.
enum CommitLogFormat {
  static let headMagic: UInt64 = 0x3130_474F_4C43_564B
  static let recordMagic: UInt64 = 0x3230_4345_5243_564B
  static let firstRecordMagic: UInt64 = 0x3130_4345_5243_564B
  /// The inverted bits of the tie in a head.
  static let versionMark: UInt64 = 0x3230_4C41_5743_564B
  /// The part of a meta page that LMDB uses: its header, and `MDB_meta`.
  static let metaLength = 152
  static let headLength = 56 + 2 * metaLength
  /// The offset of the tie in `data.mdb`.
  static let tieOffset = LMDBLimits.pageSize - 8
  static let headCopyOffset = LMDBLimits.pageSize
  static let recordsOffset = 2 * LMDBLimits.pageSize
  static let recordHeadLength = 48 + metaLength
  static let pageHeadLength = 16

  /// Whether a head with this tie belongs to the file with the other one, in any version.
  static func isTied(_ head: UInt64, to file: UInt64) -> Bool { head == file ^ versionMark || head == file }

  /// The space of a record of `count` bytes.
  static func padded(_ count: Int) -> Int { (count + LMDBLimits.pageSize - 1) & ~(LMDBLimits.pageSize - 1) }

  /// A checksum that almost certainly differs if any bytes differ. `count` is a multiple of 8.
  ///
  /// It detects what a power loss tore, like the checksums of other write-ahead logs: four lanes of a multiplication
  /// and a shift for each word, so that 64 KiB take 5 µs. The content of pages has checksums of its own.
  static func sum(_ bytes: UnsafeRawPointer, count: Int, seed: UInt64) -> UInt64 {
    var lanes = (seed, ~seed, seed &+ 0x9E37_79B9_7F4A_7C15, UInt64(count))
    var offset = 0
    while offset &+ 32 <= count {
      unsafe lanes.0 = mixed(lanes.0, bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      unsafe lanes.1 = mixed(lanes.1, bytes.loadUnaligned(fromByteOffset: offset &+ 8, as: UInt64.self))
      unsafe lanes.2 = mixed(lanes.2, bytes.loadUnaligned(fromByteOffset: offset &+ 16, as: UInt64.self))
      unsafe lanes.3 = mixed(lanes.3, bytes.loadUnaligned(fromByteOffset: offset &+ 24, as: UInt64.self))
      offset &+= 32
    }
    while offset &+ 8 <= count {
      unsafe lanes.0 = mixed(lanes.0, bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset &+= 8
    }
    return mixed(mixed(mixed(lanes.0, lanes.1), lanes.2), lanes.3)
  }

  @inline(__always)
  private static func mixed(_ lane: UInt64, _ word: UInt64) -> UInt64 {
    let product = (lane ^ UInt64(littleEndian: word)) &* 0x9FB2_1C65_1E98_DF25
    return product ^ product &>> 29
  }
}

/// The head of a log: the commit since which it has every written page, and the meta pages of that commit.
struct CommitLogHead: Equatable {
  let sequence: UInt64
  let salt: UInt64
  /// The commit up to which `data.mdb` was synced when the head was written.
  let base: UInt64
  /// Whether the log has commits, so that `data.mdb` alone may be torn.
  let isInUse: Bool
  /// The tie in `data.mdb` if the log belongs to it, with `versionMark` unless it is of version 1.
  let tie: UInt64
  /// Meta pages 0 and 1.
  let metas: [[UInt8]]

  init(sequence: UInt64, salt: UInt64, base: UInt64, isInUse: Bool, tie: UInt64, metas: [[UInt8]]) {
    self.sequence = sequence
    self.salt = salt
    self.base = base
    self.isInUse = isInUse
    self.tie = tie
    self.metas = metas
  }

  /// The same head, as if the log lacked the last commit.
  var lackingCommit: CommitLogHead {
    CommitLogHead(sequence: sequence, salt: salt, base: base &- 1, isInUse: isInUse, tie: tie, metas: metas)
  }

  /// Nil if the bytes are no head, or a torn one.
  init?(_ bytes: [UInt8]) {
    let length = CommitLogFormat.headLength
    guard bytes.count >= length else { return nil }
    func word(_ offset: Int) -> UInt64 { CommitLogHead.word(bytes, offset) }
    guard word(0) == CommitLogFormat.headMagic, word(8) == CommitLogHead.sum(bytes), word(40) <= 1 else { return nil }
    sequence = word(16)
    salt = word(24)
    base = word(32)
    isInUse = word(40) == 1
    tie = word(48)
    let middle = 56 + CommitLogFormat.metaLength
    metas = [Array(bytes[56..<middle]), Array(bytes[middle..<length])]
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    for word in [CommitLogFormat.headMagic, 0, sequence, salt, base, isInUse ? 1 : 0, tie] {
      for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift))) }
    }
    for meta in metas { bytes += meta }
    let sum = Self.sum(bytes)
    for index in 0..<8 { bytes[8 + index] = UInt8(truncatingIfNeeded: sum >> UInt64(8 * index)) }
    return bytes
  }

  private static func sum(_ bytes: [UInt8]) -> UInt64 {
    unsafe bytes.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return 0 }
      return unsafe CommitLogFormat.sum(start + 16, count: CommitLogFormat.headLength - 16, seed: 0)
    }
  }

  private static func word(_ bytes: [UInt8], _ offset: Int) -> UInt64 {
    (0..<8).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
  }
}
