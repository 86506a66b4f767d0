import Foundation
import Testing

@testable import KVCloneLMDB

/// The bytes of `commit.log`: those of the format; torn and foreign ones are rejected.
@Suite struct CommitLogFormatTests {
  private static let metas = [[UInt8](1...152), [UInt8](repeating: 0xA5, count: 152)]
  private static let head = CommitLogHead(
    sequence: 0x0102_0304_0506_0708, salt: 0x1122_3344_5566_7788, base: 9, isInUse: true,
    tie: 0x99AA_BBCC_DDEE_FF00, metas: metas)

  private static func words(_ words: UInt64...) -> [UInt8] {
    words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
  }

  /// A leaf page with a gap from 40 to 4000, and an overflow page, in LMDB's format.
  private static let leaf: [UInt8] = {
    var page = [UInt8](repeating: 0xEE, count: 4096)
    page.put64(5, at: 0)
    page.put16(2, at: 10)
    page.put16(38, at: 12)
    page.put16(4004, at: 14)
    return page
  }()
  /// The leaf with other bytes in two words, and with another one in the gap.
  private static let changed: [UInt8] = {
    var page = leaf
    page.put64(6, at: 0)
    page[29] = 0x11
    page[1000] = 0x22
    page.put64(0x3333_3333_3333_3333, at: 4088)
    return page
  }()
  private static let large = (0..<4096).map { UInt8(truncatingIfNeeded: $0 / 16) }

  private static func record() -> (record: CommitLogRecord, sum: UInt64) {
    let record = CommitLogRecord()
    add(leaf, 5, false, to: record)
    add(large, 77, true, to: record)
    add(changed, 6, false, base: (leaf, 5), to: record)
    return (record, record.seal(salt: 3, commit: 12, meta: metas[1], previousSum: 99))
  }

  private static func add(
    _ page: [UInt8], _ number: UInt64, _ isWhole: Bool, base: (page: [UInt8], number: UInt64)? = nil,
    to record: CommitLogRecord
  ) {
    page.withUnsafeBytes { bytes in
      (base?.page ?? []).withUnsafeBytes { old in
        guard let start = bytes.baseAddress else { return }
        let base = old.baseAddress.flatMap { old in base.map { (page: PageView(old), number: $0.number) } }
        #expect(record.append(PageView(start), number, isWhole: isWhole, base: base))
      }
    }
  }

  /// The pages after the record is applied to some pages; nil if it is not well-formed.
  private static func contents(
    _ record: CommitLogRecord, from bases: [UInt64: [UInt8]] = [:]
  ) -> [UInt64: [UInt8]]? {
    var (contents, bases) = (bases, bases)
    let isWhole = record.forEachPage { page in
      guard let content = record.content(of: page, in: &bases) else { return false }
      if let base = page.base { contents[base] = nil }
      (contents[page.number], bases[page.number]) = (content, content)
      return true
    }
    return isWhole ? contents : nil
  }

  private static func bytes(_ record: CommitLogRecord) -> [UInt8] {
    [UInt8](UnsafeRawBufferPointer(start: record.base, count: CommitLogFormat.padded(record.count)))
  }

  /// A failed read is not the end of the log.
  @Test func aReadThatIsRefusedIsNoEnd() throws {
    let store = try TemporaryStore.found(data: [1], log: [])
    let record = CommitLogRecord()
    func read(_ access: Int32) throws -> UInt64? {
      let file = open(store.log, access)
      defer { close(file) }
      return try record.read(file, at: 0, salt: 0, commit: 1, previousSum: 0)
    }
    #expect(try read(O_RDONLY) == nil)
    // A descriptor for writing only fails to read, like a bad sector.
    #expect(throws: LMDBError.io(errno: EBADF, operation: "read of commit.log")) { _ = try read(O_WRONLY) }
  }

  // MARK: Golden bytes

  @Test func theLayoutIsThatOfTheFormat() {
    #expect(CommitLogFormat.headLength == 360 && CommitLogFormat.headCopyOffset == 4096)
    #expect(CommitLogFormat.recordsOffset == 8192 && CommitLogFormat.recordHeadLength == 200)
    #expect(CommitLogFormat.metaLength == 152 && CommitLogFormat.pageHeadLength == 16)
    #expect(CommitLogRecord.maximumPages == 256 && CommitLogRecord.maximumLength == 200 + 256 * 4112)
    #expect([0, 1, 4096, 4097].map(CommitLogFormat.padded) == [0, 4096, 4096, 8192])
    #expect(Self.words(CommitLogFormat.headMagic, CommitLogFormat.recordMagic) == Array("KVCLOG01KVCREC02".utf8))
    #expect(Self.words(CommitLogFormat.firstRecordMagic) == Array("KVCREC01".utf8))
    #expect(Self.words(CommitLogFormat.versionMark) == Array("KVCWAL02".utf8))
  }

  @Test func aHeadHasTheBytesOfTheFormat() {
    var bytes =
      Array("KVCLOG01".utf8) + Self.words(0, 0x0102_0304_0506_0708, 0x1122_3344_5566_7788, 9, 1, 0x99AA_BBCC_DDEE_FF00)
    bytes += Self.metas[0] + Self.metas[1]
    bytes.replaceSubrange(8..<16, with: Self.words(LogText.sum(bytes, 16..<360, 0)))
    #expect(Self.head.bytes == bytes)
    #expect(CommitLogHead(bytes) == Self.head)
    // A literal number: the checksum itself is part of the format.
    #expect(LogText.word(bytes, 8) == 7_216_193_953_350_769_418)
  }

  @Test func aRecordHasTheBytesOfTheFormat() {
    let (record, sum) = Self.record()
    let length = 200 + 16 + 40 + 96 + 16 + 4096 + 16 + 8 + 8 + 8 + 8
    var bytes = Array("KVCREC02".utf8) + Self.words(0, 3, 12, UInt64(length), 3) + Self.metas[1]
    // The bounds of the gap, outwards to multiples of 8.
    bytes += Self.words(5, 40 | 4000 << 16) + Self.leaf[..<40] + Self.leaf[4000...]
    bytes += Self.words(77, 4096 | 4096 << 16) + Self.large
    bytes += Self.words(6, 40 | 4000 << 16 | 1 << 32 | 2 << 48, 5, 24 | 8 << 16 | 4088 << 32 | 8 << 48)
    bytes += Self.changed[24..<32] + Self.changed[4088...]
    bytes.replaceSubrange(8..<16, with: Self.words(LogText.sum(bytes, 16..<length, 99)))
    bytes += [UInt8](repeating: 0, count: 8192 - length)
    #expect(Self.bytes(record) == bytes)
    #expect(sum == LogText.word(bytes, 8))
    #expect(sum == 745_456_986_464_629_869)
  }

  @Test(arguments: [0, 8, 24, 32, 40, 64, 72, 4096]) func theSumIsThatOfTheFormat(length: Int) {
    let bytes = (0..<length + 1).map { UInt8(truncatingIfNeeded: $0 &* 37) }
    for seed in [0, 1, UInt64.max] {
      let sum = bytes.withUnsafeBytes { bytes in
        bytes.baseAddress.map { CommitLogFormat.sum($0, count: length, seed: seed) }
      }
      #expect(sum == LogText.sum(bytes, 0..<length, seed))
    }
  }

  @Test func aNewLogHasTwoEmptyHeadsAndRoom() throws {
    let store = try TemporaryStore()
    let environment = try store.create(["a"])
    #expect(try !FileSystem.exists(store.log))
    environment.close()
    let directory = open(store.path, O_RDONLY | O_DIRECTORY)
    defer { close(directory) }
    _ = try CommitLogFile(in: directory, path: store.log)
    #expect(try store.bytes(store.log) == [UInt8](repeating: 0, count: 8192 + 65536))
    let mode = try FileManager.default.attributesOfItem(atPath: store.log)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    _ = try store.open()
  }

  // MARK: Corruption

  @Test func aHeadWithAnyByteChangedOrMissingIsNone() {
    let sound = Self.head.bytes
    for index in sound.indices {
      for change in [0x01, 0x80, 0xFF] as [UInt8] {
        var bytes = sound
        bytes[index] ^= change
        #expect(CommitLogHead(bytes) == nil, "byte \(index)")
      }
      #expect(CommitLogHead(Array(sound[..<index])) == nil)
    }
    // An invalid use, under a correct checksum.
    var bytes = sound
    bytes.put64(2, at: 40)
    bytes.replaceSubrange(8..<16, with: Self.words(LogText.sum(bytes, 16..<360, 0)))
    #expect(CommitLogHead(bytes) == nil)
  }

  /// Reads the bytes as the only record of a file.
  private func read(
    _ bytes: [UInt8], salt: UInt64 = 3, commit: UInt64 = 12, previousSum: UInt64 = 99
  ) throws -> (sum: UInt64?, record: CommitLogRecord) {
    guard let stream = tmpfile() else { return (nil, CommitLogRecord()) }
    defer { fclose(stream) }
    let file = fileno(stream)
    _ = bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 4096) }
    let record = CommitLogRecord()
    return (try record.read(file, at: 4096, salt: salt, commit: commit, previousSum: previousSum), record)
  }

  @Test func aRecordComesBack() throws {
    let (record, sum) = Self.record()
    let found = try read(Self.bytes(record))
    #expect(found.sum == sum && found.record.meta == Self.metas[1])
    #expect(Self.contents(found.record) == [6: Self.withoutGap(Self.changed), 77: Self.large])
    #expect(!found.record.forEachPage { _ in false })
    for other in [
      try read(Self.bytes(record), salt: 4), try read(Self.bytes(record), commit: 13),
      try read(Self.bytes(record), previousSum: 98),
    ] {
      #expect(other.sum == nil)
    }
  }

  private static func withoutGap(_ page: [UInt8]) -> [UInt8] {
    var page = page
    for index in 40..<4000 { page[index] = 0 }
    return page
  }

  /// A record of version 1, as the libraries before wrote it.
  @Test func aRecordOfVersion1ComesBack() throws {
    let length = 200 + 16 + 40 + 96 + 16 + 4096
    var bytes = Array("KVCREC01".utf8) + Self.words(0, 3, 12, UInt64(length), 2) + Self.metas[1]
    bytes += Self.words(5, 40 | 4000 << 32) + Self.leaf[..<40] + Self.leaf[4000...]
    bytes += Self.words(77, 4096 | 4096 << 32) + Self.large
    bytes.replaceSubrange(8..<16, with: Self.words(LogText.sum(bytes, 16..<length, 99)))
    // What that version's tests had.
    #expect(LogText.word(bytes, 8) == 8_247_633_323_184_479_437)
    let found = try read(bytes)
    #expect(found.sum == 8_247_633_323_184_479_437)
    #expect(Self.contents(found.record) == [5: Self.withoutGap(Self.leaf), 77: Self.large])
  }

  /// Random pages and bases, with gaps that overlap in every way: what the base has in its gap is not in the log.
  @Test(arguments: 1...4) func changesLeadFromTheBaseToThePage(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    func pick(_ count: Int) -> Int { Int(generator.next() % UInt64(count)) }
    func setGap(_ page: inout [UInt8]) {
      let lower = 16 + pick(2000)
      page.put16(lower, at: 12)
      page.put16(lower + pick(4097 - lower), at: 14)
    }
    var (changeCount, wholeCount) = (0, 0)
    for trial in 0..<300 {
      var base = (0..<4096).map { _ in UInt8(pick(4)) }
      setGap(&base)
      var page = base
      if pick(3) > 0 { setGap(&page) }
      for _ in 0..<(trial % 8 == 0 ? 9000 : pick(40)) { page[16 + pick(4080)] = UInt8(pick(256)) }
      page.put64(9, at: 0)
      let first = CommitLogRecord()
      Self.add(base, 8, false, to: first)
      let sum = first.seal(salt: 3, commit: 12, meta: Self.metas[0], previousSum: 99)
      let second = CommitLogRecord()
      Self.add(page, 9, false, base: (base, 8), to: second)
      #expect(second.count <= 200 + 16 + 4096)
      _ = second.seal(salt: 3, commit: 13, meta: Self.metas[1], previousSum: sum)
      let known = try #require(Self.contents(read(Self.bytes(first)).record))
      let found = try read(Self.bytes(second), commit: 13, previousSum: sum)
      let content = try #require(Self.contents(found.record, from: known)?[9])
      var gap = 4096..<4096
      _ = found.record.forEachPage { page in
        if page.base == nil { wholeCount += 1 } else { changeCount += 1 }
        gap = page.gap
        return true
      }
      let (lower, upper) = (Int(page[12]) | Int(page[13]) << 8, Int(page[14]) | Int(page[15]) << 8)
      #expect(gap == 4096..<4096 || lower <= gap.lowerBound && gap.upperBound <= upper)
      let isSame =
        content[..<gap.lowerBound] == page[..<gap.lowerBound]
        && content[gap.upperBound...] == page[gap.upperBound...] && content[gap].allSatisfy { $0 == 0 }
      #expect(isSame, "seed \(seed), trial \(trial)")
    }
    #expect(changeCount > 100 && wholeCount > 10)
  }

  /// A base that is in no record, or that another page had as its base, is corruption: nothing is guessed.
  @Test func aPageWithoutItsBaseIsNone() throws {
    let record = try read(Self.bytes(Self.record().record)).record
    #expect(Self.contents(record) != nil)
    let alone = CommitLogRecord()
    Self.add(Self.changed, 6, false, base: (Self.leaf, 5), to: alone)
    _ = alone.seal(salt: 3, commit: 12, meta: Self.metas[1], previousSum: 99)
    let found = try read(Self.bytes(alone)).record
    #expect(Self.contents(found) == nil)
    #expect(Self.contents(found, from: [5: Self.leaf])?[6] == Self.withoutGap(Self.changed))
    #expect(Self.contents(found, from: [4: Self.leaf]) == nil)
  }

  @Test func aRecordWithAnyByteChangedOrMissingIsNone() throws {
    let (record, _) = Self.record()
    let sound = Self.bytes(record)
    for index in 0..<record.count {
      var bytes = sound
      bytes[index] ^= UInt8(1 << (index % 8))
      #expect(try read(bytes).sum == nil, "byte \(index)")
    }
    for length in stride(from: 0, to: record.count, by: 7) {
      #expect(try read(Array(sound[..<length])).sum == nil, "length \(length)")
    }
    #expect(try read(Array(sound[..<record.count])).sum != nil)
  }

  /// Impossible lengths and counts under correct checksums: a checksum does not protect against an attacker.
  @Test(arguments: 1...3) func randomRecordsAreNoTrap(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let sound = Self.bytes(Self.record().record)
    let odd: [UInt64] = [0, 1, 2, 8, 199, 200, 208, 256, 257, 4096, 4097, 1 << 31, 1 << 32, 1 << 35, 1 << 63, .max]
    for _ in 0..<400 {
      var bytes = sound
      for _ in 0..<1 + Int(generator.next() % 3) {
        let offset = [32, 40, 200, 208, 360, 360, 4464, 4472, 4480, 4488][Int(generator.next() % 10)]
        var word = odd[Int(generator.next() % UInt64(odd.count))]
        if generator.next() % 2 == 0 { word |= odd[Int(generator.next() % UInt64(odd.count))] << 32 }
        bytes.replaceSubrange(offset..<offset + 8, with: Self.words(word))
      }
      if generator.next() % 4 == 0 {
        for index in 200..<500 { bytes[index] = UInt8(truncatingIfNeeded: generator.next()) }
      }
      let length = Int(clamping: LogText.word(bytes, 32))
      if (16...bytes.count).contains(length) {
        bytes.replaceSubrange(8..<16, with: Self.words(LogText.sum(bytes, 16..<length, 99)))
      }
      let found = try read(bytes)
      var count = 0
      guard found.sum != nil else { continue }
      var bases: [UInt64: [UInt8]] = [5: Self.leaf]
      _ = found.record.forEachPage { page in
        count += 1
        bases[page.number] = found.record.content(of: page, in: &bases)
        #expect(page.number >= 2 && bases[page.number].map { $0.count == 4096 } != false, "seed \(seed)")
        return true
      }
      #expect(count <= 256)
    }
    for _ in 0..<200 {
      let bytes = (0..<360).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
      #expect(try CommitLogHead(bytes) == nil && read(bytes).sum == nil, "seed \(seed)")
    }
  }

  @Test func aRecordHasRoomFor256PagesAndNoMore() throws {
    let record = CommitLogRecord()
    Self.large.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      for number in 0..<256 { #expect(record.append(PageView(start), UInt64(number) + 2, isWhole: true)) }
      #expect(!record.append(PageView(start), 999, isWhole: true))
    }
    let sum = record.seal(salt: 3, commit: 12, meta: Self.metas[0], previousSum: 99)
    #expect(record.count == CommitLogRecord.maximumLength)
    let found = try read(Self.bytes(record))
    #expect(found.sum == sum && found.record.pageCount == 256)
  }
}
