import Glibc

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
  /// The numbers of the pages that were added.
  private(set) var numbers: [UInt64] = []
  private(set) var pageCount = 0
  /// Whether the record that was read is of version 1.
  private var isFirstVersion = false
  private var changes = PageChanges()

  init() {
    capacity = 64 << 10
    unsafe base = .allocate(byteCount: capacity, alignment: 8)
  }

  deinit { unsafe base.deallocate() }

  /// Reserves this many bytes.
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
    numbers.removeAll(keepingCapacity: true)
    isFirstVersion = false
  }

  /// Adds a page: its words that differ from its base, if they are shorter; otherwise the page without the gap between
  /// its lists, or all of it. Returns false if the record has too many pages.
  ///
  /// - Parameter base: the page that it replaces, which an earlier record of the log has, and its number.
  func append(
    _ page: PageView, _ number: UInt64, isWhole: Bool = false, base old: (page: PageView, number: UInt64)? = nil
  ) -> Bool {
    if pageCount >= Self.maximumPages { return false }
    let gap = isWhole ? PageView.size..<PageView.size : page.gap
    let length = PageView.size - gap.count
    numbers.append(number)
    pageCount += 1
    if let old, changes.find(in: page, gap, since: old.page, limit: length - 8) {
      reserve(count + CommitLogFormat.pageHeadLength + 8 + changes.length)
      putHead(number, gap, kind: 1, runs: changes.runs.count)
      put(old.number)
      unsafe changes.write(page, to: self.base + count)
      count += changes.length
      return true
    }
    reserve(count + CommitLogFormat.pageHeadLength + length)
    putHead(number, gap, kind: 0, runs: 0)
    unsafe memcpy(self.base + count, page.base, gap.lowerBound)
    unsafe memcpy(self.base + count + gap.lowerBound, page.base + gap.upperBound, PageView.size - gap.upperBound)
    count += length
    return true
  }

  private func putHead(_ number: UInt64, _ gap: Range<Int>, kind: UInt64, runs: Int) {
    put(number)
    put(UInt64(gap.lowerBound) | UInt64(gap.upperBound) << 16 | kind << 32 | UInt64(runs) << 48)
  }

  private func put(_ word: UInt64) {
    unsafe base.storeBytes(of: word.littleEndian, toByteOffset: count, as: UInt64.self)
    count += 8
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
      word(0) == CommitLogFormat.recordMagic || word(0) == CommitLogFormat.firstRecordMagic,
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
    isFirstVersion = word(0) == CommitLogFormat.firstRecordMagic
    return sum
  }

  var meta: [UInt8] {
    unsafe Array(UnsafeRawBufferPointer(start: base + 48, count: CommitLogFormat.metaLength))
  }

  /// A page of a record that was read.
  struct Page {
    let number: UInt64
    let gap: Range<Int>
    /// Nil for a page that is complete without another one.
    let base: UInt64?
    fileprivate let runCount: Int
    /// The offset behind the page's head and base.
    fileprivate let start: Int
    fileprivate let length: Int
  }

  /// Calls `body` with each page. Returns false if `body` does, or if the record is not well-formed.
  func forEachPage(_ body: (Page) -> Bool) -> Bool {
    var offset = CommitLogFormat.recordHeadLength
    for _ in 0..<pageCount {
      guard let page = page(at: offset), body(page) else { return false }
      offset = page.start + page.length
    }
    return offset == count
  }

  private func page(at offset: Int) -> Page? {
    let start = offset + CommitLogFormat.pageHeadLength
    guard start <= count else { return nil }
    let (number, head) = (word(offset), word(offset + 8))
    var (lower, upper, kind, runCount) = (head & 0xFFFF, head >> 16 & 0xFFFF, head >> 32 & 0xFFFF, Int(head >> 48))
    if isFirstVersion { (lower, upper, kind, runCount) = (head & 0xFFFF_FFFF, head >> 32, 0, 0) }
    guard lower <= upper, upper <= UInt64(PageView.size), Self.isPage(number) else { return nil }
    let gap = Int(lower)..<Int(upper)
    if kind == 0 {
      let length = PageView.size - gap.count
      guard runCount == 0, start + length <= count else { return nil }
      return Page(number: number, gap: gap, base: nil, runCount: 0, start: start, length: length)
    }
    guard kind == 1, start + 8 <= count, Self.isPage(word(start)) else { return nil }
    guard let length = unsafe PageChanges.length(base + start + 8, runCount: runCount, limit: count - start - 8)
    else { return nil }
    return Page(
      number: number, gap: gap, base: word(start), runCount: runCount, start: start + 8, length: length)
  }

  private static func isPage(_ number: UInt64) -> Bool { number >= 2 && number < 1 << 35 }

  /// The 4096 bytes of a page; nil if `bases` lacks its base, which is removed.
  func content(of page: Page, in bases: inout [UInt64: [UInt8]]) -> [UInt8]? {
    let start = unsafe UnsafeRawPointer(base + page.start)
    guard let number = page.base else {
      var content = [UInt8](repeating: 0, count: PageView.size)
      unsafe content.withUnsafeMutableBytes { content in
        guard let target = content.baseAddress else { return }
        unsafe memcpy(target, start, page.gap.lowerBound)
        unsafe memcpy(
          target + page.gap.upperBound, start + page.gap.lowerBound, PageView.size - page.gap.upperBound)
      }
      return content
    }
    guard var content = bases.removeValue(forKey: number), content.count == PageView.size else { return nil }
    unsafe content.withUnsafeMutableBytes { content in
      guard let target = content.baseAddress else { return }
      unsafe target.storeBytes(of: page.number.littleEndian, as: UInt64.self)
      unsafe memset(target + page.gap.lowerBound, 0, page.gap.count)
      unsafe PageChanges.apply(start, runCount: page.runCount, to: target)
    }
    return content
  }
}
