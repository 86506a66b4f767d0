import Glibc

/// A bounded cache of pages, checked when they were read, and of values on overflow pages.
///
/// What it returns stays valid until the current scope ends: a page is pinned, a long value is copied. Scopes nest; the
/// outermost one ends with the cache.
@safe
final class PageCache {
  /// 8 MiB. Sets of eight pages: a page can be in eight places only, so a lookup needs no hash table.
  static let setCount = 256
  static let ways = 8
  static let frameCount = setCount * ways
  private static let empty = UInt64.max
  private static let unpinned: Int32 = -1

  private let frames: UnsafeMutableRawPointer
  private let numbers: UnsafeMutablePointer<UInt64>
  private let ages: UnsafeMutablePointer<UInt32>
  /// The scope that pins a page.
  private let pins: UnsafeMutablePointer<Int32>
  private var clock: UInt32 = 0
  private var scope: Int32 = 0
  /// Pinned frames, in the order of their scopes.
  private var pinned: [Int32] = []
  /// Allocated memory, in the order of its scopes.
  private var owned: [UnsafeMutableRawPointer] = unsafe []

  /// A position to unwind to.
  struct Scope {
    fileprivate let pinned: Int
    fileprivate let owned: Int
  }

  init?() {
    // One allocation, which the kernel fills on use: a small store needs a few pages of it.
    let length = Self.frameCount * LMDBLimits.pageSize
    guard let frames = unsafe malloc(length) else { return nil }
    unsafe self.frames = frames
    unsafe numbers = .allocate(capacity: Self.frameCount)
    unsafe numbers.initialize(repeating: Self.empty, count: Self.frameCount)
    unsafe ages = .allocate(capacity: Self.frameCount)
    unsafe ages.initialize(repeating: 0, count: Self.frameCount)
    unsafe pins = .allocate(capacity: Self.frameCount)
    unsafe pins.initialize(repeating: Self.unpinned, count: Self.frameCount)
  }

  deinit {
    while let memory = unsafe owned.popLast() { unsafe free(memory) }
    unsafe free(frames)
    unsafe numbers.deallocate()
    unsafe ages.deallocate()
    unsafe pins.deallocate()
  }

  // MARK: Scopes

  func enter() -> Scope {
    scope += 1
    return unsafe Scope(pinned: pinned.count, owned: owned.count)
  }

  func leave(_ mark: Scope) {
    scope -= 1
    while pinned.count > mark.pinned { unsafe pins[Int(pinned.removeLast())] = Self.unpinned }
    while unsafe owned.count > mark.owned { unsafe free(owned.removeLast()) }
  }

  /// Allocates memory until the scope ends; nil on failure.
  func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer? {
    guard byteCount >= 0, let memory = unsafe malloc(max(byteCount, 1)) else { return nil }
    unsafe owned.append(memory)
    return unsafe memory
  }

  // MARK: Pages

  /// A page in memory, valid until the next call, or, once it is pinned, until the scope ends.
  @safe
  struct Page {
    let view: PageView
    /// Negative: not in a frame, and valid until the scope ends anyway.
    fileprivate let frame: Int32
  }

  /// Returns the page from the cache, or reads and checks it.
  @inline(__always)
  func page(_ number: UInt64, isLeaf: Bool, of file: PageFile) throws(PageError) -> Page {
    let first = Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) >> 56) * Self.ways
    clock &+= 1
    for frame in first..<first + Self.ways where unsafe numbers[frame] == number {
      unsafe ages[frame] = clock
      let view = unsafe PageView(frames + frame * LMDBLimits.pageSize)
      if view.isLeaf != isLeaf { throw PageError(page: number, problem: .wrongKind) }
      return Page(view: view, frame: Int32(truncatingIfNeeded: frame))
    }
    return try load(number, isLeaf: isLeaf, of: file, first)
  }

  private func load(_ number: UInt64, isLeaf: Bool, of file: PageFile, _ first: Int) throws(PageError) -> Page {
    var victim = -1
    var oldest: UInt32 = 0
    for frame in first..<first + Self.ways where unsafe pins[frame] == Self.unpinned {
      if unsafe numbers[frame] == Self.empty {
        victim = frame
        break
      }
      let age = unsafe clock &- ages[frame]
      if age >= oldest { (victim, oldest) = (frame, age) }
    }
    let memory: UnsafeMutableRawPointer
    if victim >= 0 {
      unsafe memory = unsafe frames + victim * LMDBLimits.pageSize
      unsafe numbers[victim] = Self.empty
    } else {
      guard let extra = unsafe allocate(LMDBLimits.pageSize) else {
        throw PageError(page: number, problem: .unreadable(ENOMEM))
      }
      unsafe memory = unsafe extra
    }
    try unsafe file.read(
      number, into: UnsafeMutableRawBufferPointer(start: memory, count: LMDBLimits.pageSize))
    let view = unsafe PageView(memory)
    // Checked again after the walk: the bytes of the file may have changed.
    if let problem = view.problem(number: number, isLeaf: isLeaf, order: .bytes) {
      throw PageError(page: number, problem: problem)
    }
    if victim >= 0 {
      unsafe numbers[victim] = number
      unsafe ages[victim] = clock
    }
    return Page(view: view, frame: Int32(victim))
  }

  /// Pins the page until the scope ends.
  @inline(__always)
  func pin(_ page: Page) {
    if hold(page) { pinned.append(page.frame) }
  }

  /// Pins the page until `release`; returns false if it is pinned already.
  func hold(_ page: Page) -> Bool {
    guard page.frame >= 0, unsafe pins[Int(page.frame)] == Self.unpinned else { return false }
    unsafe pins[Int(page.frame)] = scope
    return true
  }

  func release(_ page: Page) {
    unsafe pins[Int(page.frame)] = Self.unpinned
  }
}
