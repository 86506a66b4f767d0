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
///     page    number u64, lower u32, upper u32, the bytes before `lower`, those from `upper` on
///
/// The tie is a random number that is also in the last bytes of page 0 of `data.mdb`, where LMDB writes nothing: meta
/// pages of different stores can be equal. Each use of the log, from a closed store on, has a new one.
///
/// A head's checksum covers all that follows it; a record's, too, and starts with the checksum of the record before, or
/// with the salt. A record that is torn, or left from an earlier use of the log, is therefore invalid, and so are all
/// behind it.
enum CommitLogFormat {
  static let headMagic: UInt64 = 0x3130_474F_4C43_564B
  static let recordMagic: UInt64 = 0x3130_4345_5243_564B
  /// The part of a meta page that LMDB uses: its header, and `MDB_meta`.
  static let metaLength = 152
  static let headLength = 56 + 2 * metaLength
  /// The offset of the tie in `data.mdb`.
  static let tieOffset = LMDBLimits.pageSize - 8
  static let headCopyOffset = LMDBLimits.pageSize
  static let recordsOffset = 2 * LMDBLimits.pageSize
  static let recordHeadLength = 48 + metaLength
  static let pageHeadLength = 16

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
  /// The tie in `data.mdb` if the log belongs to it.
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

/// The record of one commit, in a reused buffer, in the format of the file.
@safe
final class CommitLogRecord {
  /// A commit that changed more pages syncs `data.mdb` instead.
  static let maximumPages = 256
  static let maximumLength =
    CommitLogFormat.recordHeadLength + maximumPages * (CommitLogFormat.pageHeadLength + LMDBLimits.pageSize)

  private(set) var base: UnsafeMutableRawPointer
  private var capacity: Int
  private(set) var count = CommitLogFormat.recordHeadLength
  private(set) var pageCount = 0

  init() {
    capacity = 64 << 10
    unsafe base = .allocate(byteCount: capacity, alignment: 8)
  }

  deinit { unsafe base.deallocate() }

  /// Reserves so many bytes.
  func reserve(_ length: Int) {
    if length <= capacity { return }
    let larger = UnsafeMutableRawPointer.allocate(byteCount: max(length, 2 * capacity), alignment: 8)
    unsafe larger.copyMemory(from: base, byteCount: min(capacity, count))
    unsafe base.deallocate()
    unsafe base = unsafe larger
    capacity = max(length, 2 * capacity)
  }

  // MARK: Writing

  func removeAll() {
    count = CommitLogFormat.recordHeadLength
    pageCount = 0
  }

  /// Adds a page: all of it, or without the gap between its lists. Returns false if there are too many.
  func append(_ page: PageView, _ number: UInt64, isWhole: Bool = false) -> Bool {
    if pageCount >= Self.maximumPages { return false }
    var (lower, upper) = (PageView.size, PageView.size)
    if !isWhole {
      lower = (page.word16(12) + 7) & ~7
      upper = page.word16(14) & ~7
      if lower >= upper || upper > PageView.size { (lower, upper) = (PageView.size, PageView.size) }
    }
    let rest = PageView.size - upper
    reserve(count + CommitLogFormat.pageHeadLength + lower + rest)
    let start = unsafe base + count
    unsafe start.storeBytes(of: number.littleEndian, as: UInt64.self)
    unsafe start.storeBytes(of: UInt32(lower).littleEndian, toByteOffset: 8, as: UInt32.self)
    unsafe start.storeBytes(of: UInt32(upper).littleEndian, toByteOffset: 12, as: UInt32.self)
    unsafe memcpy(start + CommitLogFormat.pageHeadLength, page.base, lower)
    unsafe memcpy(start + CommitLogFormat.pageHeadLength + lower, page.base + upper, rest)
    count += CommitLogFormat.pageHeadLength + lower + rest
    pageCount += 1
    return true
  }

  /// Completes the record, and returns its checksum.
  func seal(salt: UInt64, commit: UInt64, meta: [UInt8], previousSum: UInt64) -> UInt64 {
    func set(_ word: UInt64, _ offset: Int) {
      unsafe base.storeBytes(of: word.littleEndian, toByteOffset: offset, as: UInt64.self)
    }
    set(CommitLogFormat.recordMagic, 0)
    set(salt, 16)
    set(commit, 24)
    set(UInt64(count), 32)
    set(UInt64(pageCount), 40)
    unsafe meta.withUnsafeBytes { meta in
      unsafe UnsafeMutableRawBufferPointer(start: base + 48, count: CommitLogFormat.metaLength).copyMemory(
        from: UnsafeRawBufferPointer(rebasing: meta.prefix(CommitLogFormat.metaLength)))
    }
    let sum = unsafe CommitLogFormat.sum(base + 16, count: count - 16, seed: previousSum)
    set(sum, 8)
    // The padding up to the next multiple of a page is written, too, and must not contain bytes of an older record.
    let end = CommitLogFormat.padded(count)
    reserve(end)
    unsafe memset(base + count, 0, end - count)
    return sum
  }

  // MARK: Reading

  private func word(_ offset: Int) -> UInt64 {
    UInt64(littleEndian: unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// Reads the record at `offset`, and returns its checksum; nil if the record is torn, or is not of this use of the
  /// log.
  ///
  /// Throws `io` if reading fails: that is not the end of the log.
  func read(
    _ descriptor: Int32, at offset: Int, salt: UInt64, commit: UInt64, previousSum: UInt64
  ) throws(LMDBError) -> UInt64? {
    removeAll()
    guard unsafe try readAll(descriptor, base, CommitLogFormat.recordHeadLength, offset, "read of commit.log"),
      word(0) == CommitLogFormat.recordMagic,
      word(16) == salt, word(24) == commit, word(32) <= UInt64(Self.maximumLength), word(32) % 8 == 0,
      word(32) >= UInt64(CommitLogFormat.recordHeadLength), word(40) <= UInt64(Self.maximumPages)
    else { return nil }
    let length = Int(word(32))
    reserve(length)
    let headLength = CommitLogFormat.recordHeadLength
    guard
      unsafe try readAll(
        descriptor, base + headLength, length - headLength, offset + headLength, "read of commit.log")
    else { return nil }
    let sum = unsafe CommitLogFormat.sum(base + 16, count: length - 16, seed: previousSum)
    guard word(8) == sum else { return nil }
    count = length
    pageCount = Int(word(40))
    return sum
  }

  var meta: [UInt8] {
    unsafe Array(UnsafeRawBufferPointer(start: base + 48, count: CommitLogFormat.metaLength))
  }

  /// Calls `body` with each page: its number, and 4096 bytes. Returns false if `body` does, or if the record is not
  /// well-formed.
  func forEachPage(_ body: (UInt64, UnsafeRawBufferPointer) -> Bool) -> Bool {
    var offset = CommitLogFormat.recordHeadLength
    var page = [UInt8](repeating: 0, count: PageView.size)
    for _ in 0..<pageCount {
      guard offset + CommitLogFormat.pageHeadLength <= count else { return false }
      let number = word(offset)
      let (lower, upper) = (Int(word(offset + 8) & 0xFFFF_FFFF), Int(word(offset + 8) >> 32))
      guard lower <= upper, upper <= PageView.size, number >= 2, number < 1 << 35 else { return false }
      let rest = PageView.size - upper
      offset += CommitLogFormat.pageHeadLength
      guard offset + lower + rest <= count else { return false }
      let isDone = unsafe page.withUnsafeMutableBytes { page -> Bool in
        guard let start = page.baseAddress else { return false }
        unsafe memcpy(start, base + offset, lower)
        unsafe memset(start + lower, 0, upper - lower)
        unsafe memcpy(start + upper, base + offset + lower, rest)
        return unsafe body(number, UnsafeRawBufferPointer(page))
      }
      if !isDone { return false }
      offset += lower + rest
    }
    return offset == count
  }
}
