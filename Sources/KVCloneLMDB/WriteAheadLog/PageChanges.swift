import Glibc

/// The words of a page that its base does not have, as runs. The log has them in the place of a page.
@safe
struct PageChanges {
  /// The start and the end of each run, in bytes, in ascending order.
  private(set) var runs: [Range<Int>] = []
  private var byteCount = 0

  /// The length in the log.
  var length: Int { Self.headLength(runs.count) + byteCount }

  private static func headLength(_ runCount: Int) -> Int { (4 * runCount + 7) & ~7 }

  /// Finds the runs. Returns false if they are not shorter than `limit` bytes.
  ///
  /// The gap of the base does not count as known: the log does not have it. The page's number is no change.
  mutating func find(in page: PageView, _ gap: Range<Int>, since base: PageView, limit: Int) -> Bool {
    runs.removeAll(keepingCapacity: true)
    byteCount = 0
    let unknown = base.gap
    for part in [8..<max(8, gap.lowerBound), gap.upperBound..<PageView.size] {
      compare(page, base, part.clamped(to: 0..<unknown.lowerBound))
      add(part.clamped(to: unknown))
      compare(page, base, part.clamped(to: unknown.upperBound..<PageView.size))
      if length >= limit { return false }
    }
    return true
  }

  private mutating func compare(_ page: PageView, _ base: PageView, _ part: Range<Int>) {
    var offset = part.lowerBound
    while offset < part.upperBound {
      while offset + 256 <= part.upperBound, unsafe memcmp(page.base + offset, base.base + offset, 256) == 0 {
        offset += 256
      }
      while offset + 32 <= part.upperBound, Self.areEqual(page, base, offset) { offset += 32 }
      if offset == part.upperBound { return }
      if Self.word(page, offset) == Self.word(base, offset) {
        offset += 8
        continue
      }
      let start = offset
      repeat { offset += 8 } while offset < part.upperBound && Self.word(page, offset) != Self.word(base, offset)
      add(start..<offset)
    }
  }

  /// Whether four words are equal.
  @inline(__always)
  private static func areEqual(_ page: PageView, _ base: PageView, _ offset: Int) -> Bool {
    (word(page, offset) ^ word(base, offset)) | (word(page, offset + 8) ^ word(base, offset + 8))
      | (word(page, offset + 16) ^ word(base, offset + 16)) | (word(page, offset + 24) ^ word(base, offset + 24)) == 0
  }

  @inline(__always)
  private static func word(_ page: PageView, _ offset: Int) -> UInt64 {
    unsafe page.base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  private mutating func add(_ run: Range<Int>) {
    if run.isEmpty { return }
    byteCount += run.count
    if let last = runs.last, last.upperBound == run.lowerBound {
      runs[runs.count - 1] = last.lowerBound..<run.upperBound
    } else {
      runs.append(run)
    }
  }

  /// Writes `length` bytes.
  func write(_ page: PageView, to target: UnsafeMutableRawPointer) {
    if runs.isEmpty { return }
    var place = Self.headLength(runs.count)
    unsafe memset(target + place - 8, 0, 8)
    for (index, run) in runs.enumerated() {
      let head = UInt32(run.lowerBound) | UInt32(run.count) << 16
      unsafe target.storeBytes(of: head.littleEndian, toByteOffset: 4 * index, as: UInt32.self)
      unsafe memcpy(target + place, page.base + run.lowerBound, run.count)
      place += run.count
    }
  }

  // MARK: Reading

  /// The length of runs that start at `start`; nil if they are not well-formed, or longer than `limit`.
  static func length(_ start: UnsafeRawPointer, runCount: Int, limit: Int) -> Int? {
    var length = headLength(runCount)
    if length > limit { return nil }
    var end = 8
    for index in 0..<runCount {
      let run = unsafe run(start, index)
      guard run.lowerBound >= end, run.upperBound <= PageView.size, run.lowerBound % 8 == 0, run.count % 8 == 0
      else { return nil }
      end = run.upperBound
      length += run.count
    }
    return length <= limit ? length : nil
  }

  /// Copies well-formed runs to their places in a page.
  static func apply(_ start: UnsafeRawPointer, runCount: Int, to page: UnsafeMutableRawPointer) {
    var place = headLength(runCount)
    for index in 0..<runCount {
      let run = unsafe run(start, index)
      unsafe memcpy(page + run.lowerBound, start + place, run.count)
      place += run.count
    }
  }

  private static func run(_ start: UnsafeRawPointer, _ index: Int) -> Range<Int> {
    let head = UInt32(littleEndian: unsafe start.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self))
    let first = Int(head & 0xFFFF)
    return first..<first + Int(head >> 16)
  }
}

extension PageView {
  /// The bytes between the lists of a leaf or branch page, inwards to multiples of 8; empty, at the end of the page, if
  /// there are none.
  var gap: Range<Int> {
    let (lower, upper) = ((word16(12) + 7) & ~7, word16(14) & ~7)
    return lower < upper && upper <= Self.size ? lower..<upper : Self.size..<Self.size
  }
}
