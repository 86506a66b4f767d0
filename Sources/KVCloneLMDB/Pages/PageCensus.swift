import Glibc

/// The space of one tree's pages: the three byte counts add up to all of them.
package struct TreeCensus: Sendable, Equatable {
  package internal(set) var sizes = TreeSizes()
  /// Keys and values, including those on overflow pages.
  package internal(set) var contentBytes: UInt64 = 0
  /// Headers of pages and entries, and branches.
  package internal(set) var overheadBytes: UInt64 = 0
  /// Gaps between the entries of a page, and the end of overflow pages.
  package internal(set) var unusedBytes: UInt64 = 0
  /// The leaves and overflow pages of a compact copy of the tree; as many as `TreeBuilder` would make.
  package internal(set) var packedPages: UInt64 = 0
  /// Bytes of the packed leaf that is being filled; 0 before the first.
  private var packedLength = 0

  package init() {}

  mutating func count(_ view: PageView, isLeaf: Bool) {
    let unused = view.word16(14) - view.word16(12)
    unusedBytes += UInt64(unused)
    guard isLeaf else {
      sizes.branchPages += 1
      overheadBytes += UInt64(PageView.size - unused)
      return
    }
    sizes.leafPages += 1
    var content = 0
    for index in 0..<view.count {
      let isLong = view.flags(index) == PageView.bigDataFlag
      let (key, value) = (view.keyLength(index), view.dataLength(index))
      content += key + (isLong ? 0 : value)
      pack(PageView.nodeHeaderLength + key + (isLong ? 8 : value))
    }
    sizes.entries += UInt64(view.count)
    contentBytes += UInt64(content)
    overheadBytes += UInt64(PageView.size - unused - content)
  }

  mutating func countOverflow(_ byteCount: Int, pages: UInt64) {
    sizes.overflowPages += Int(clamping: pages)
    contentBytes += UInt64(byteCount)
    overheadBytes += UInt64(PageView.headerLength)
    unusedBytes += pages * UInt64(PageView.size) - UInt64(PageView.headerLength + byteCount)
    packedPages += UInt64(PageView.headerLength - 1 + byteCount) / UInt64(PageView.size) + 1
  }

  /// Mirrors `Level.hasRoom` of the builder.
  private mutating func pack(_ nodeLength: Int) {
    let needed = 2 + (nodeLength + 1) & ~1
    if packedLength == 0 || packedLength + needed > PageView.size {
      packedPages += 1
      packedLength = PageView.headerLength
    }
    packedLength += needed
  }

  /// The approximate number of pages of a compact copy: assumes that branches shrink like leaves.
  package var compactedPages: UInt64 {
    let below = UInt64(sizes.leafPages + sizes.overflowPages)
    guard below > 0 else { return 0 }
    return packedPages + (UInt64(sizes.branchPages) * packedPages + below - 1) / below
  }
}

/// An entry that a census visits.
@unsafe
package struct CensusEntry {
  package let key: UnsafeRawBufferPointer
  /// The size of the value, wherever it is.
  package let valueLength: Int
  /// The value, if it is in the leaf.
  fileprivate let value: UnsafeRawBufferPointer?
  fileprivate let overflowPage: UInt64
}

/// Counts the space of all pages of a file's state, and visits each entry of its named tables, in one walk that checks
/// everything as `check` does.
@safe
package final class PageCensus {
  /// The list of tables and the free list.
  package private(set) var tableList = TreeCensus()
  package private(set) var freeList = TreeCensus()
  /// The tables, in the order of the map.
  package private(set) var tables: [TreeCensus] = []
  /// The number of freed pages by the commit that freed them, ascending.
  package private(set) var freed: [(commit: UInt64, pages: UInt64)] = []
  private let isFirst: (String) -> Bool
  private let visit: (PageCensus, Int, CensusEntry) -> Void
  fileprivate var whenListed: ((PageMap) -> Void)?
  private var place = Place.tableList
  private var file: PageFile?
  private var buffer: UnsafeMutableRawBufferPointer?

  private enum Place {
    case tableList, freeList
    case table(Int)
  }

  /// - Parameters:
  ///   - isFirst: whether a table is walked before the others.
  ///   - visit: called with each entry of a table, which is given by its index in the map; arguments are valid during
  ///     the call.
  package init(
    first isFirst: @escaping (String) -> Bool, visit: @escaping (PageCensus, Int, CensusEntry) -> Void
  ) {
    self.isFirst = isFirst
    unsafe self.visit = unsafe visit
  }

  /// Returns a range of an entry's value, valid until the next call. Reads only this range of a long value.
  package func bytes(of entry: CensusEntry, _ range: Range<Int>) throws(PageError) -> UnsafeRawBufferPointer {
    precondition(range.lowerBound >= 0, "a value has no bytes before its first")
    guard unsafe range.upperBound <= entry.valueLength else {
      throw unsafe PageError(page: entry.overflowPage, problem: .badEntry)
    }
    if let value = unsafe entry.value { return unsafe UnsafeRawBufferPointer(rebasing: value[range]) }
    guard let file else { throw unsafe PageError(page: entry.overflowPage, problem: .badEntry) }
    let place = unsafe UnsafeMutableRawBufferPointer(rebasing: room(for: range.count)[..<range.count])
    try unsafe file.read(entry.overflowPage, PageView.headerLength + range.lowerBound, into: place)
    return UnsafeRawBufferPointer(place)
  }

  private func room(for count: Int) -> UnsafeMutableRawBufferPointer {
    if let buffer = unsafe buffer {
      if buffer.count >= count { return unsafe buffer }
      unsafe buffer.deallocate()
    }
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, PageView.size), alignment: 16)
    unsafe buffer = larger
    return unsafe larger
  }

  deinit {
    unsafe buffer?.deallocate()
  }

  // MARK: The walk

  func begin(_ file: PageFile, _ map: PageMap) {
    self.file = file
    whenListed?(map)
    tables = Array(repeating: TreeCensus(), count: map.tables.count)
  }

  /// The order in which the tables are walked.
  func order(_ map: PageMap) -> [Int] {
    map.tables.indices.filter { isFirst(map.tables[$0].name) }
      + map.tables.indices.filter { !isFirst(map.tables[$0].name) }
  }

  func beginTableList(depth: Int) {
    place = .tableList
    tableList.sizes.depth = depth
  }

  func beginFreeList(depth: Int) {
    place = .freeList
    freeList.sizes.depth = depth
  }

  func beginTable(_ index: Int, depth: Int) {
    place = .table(index)
    tables[index].sizes.depth = depth
  }

  func count(_ view: PageView, isLeaf: Bool) {
    change { $0.count(view, isLeaf: isLeaf) }
  }

  func countOverflow(_ byteCount: Int, pages: UInt64) {
    change { $0.countOverflow(byteCount, pages: pages) }
  }

  private func change(_ body: (inout TreeCensus) -> Void) {
    switch place {
    case .tableList: body(&tableList)
    case .freeList: body(&freeList)
    case .table(let index): body(&tables[index])
    }
  }

  func noteFreed(_ commit: UInt64, pages: UInt64) { freed.append((commit, pages)) }

  func tell(_ view: PageView, _ index: Int) {
    guard case .table(let table) = place else { return }
    let isLong = view.flags(index) == PageView.bigDataFlag
    let length = view.dataLength(index)
    let value = unsafe isLong ? nil : UnsafeRawBufferPointer(start: view.data(index), count: length)
    unsafe visit(
      self, table,
      CensusEntry(
        key: view.key(index), valueLength: length, value: value, overflowPage: isLong ? view.overflowPage(index) : 0))
  }
}

extension PageFile {
  /// Walks over every reachable page, as `walk` does, and has a census count their space. If the map has findings, the
  /// census is incomplete.
  ///
  /// - Parameter begin: called with the tables, before the first entry.
  package func walk(_ census: PageCensus, begin: @escaping (PageMap) -> Void) throws(LMDBError) -> PageMap {
    census.whenListed = begin
    guard let meta else { return try walk(maximumFindings: 1) }
    guard let walk = PageWalk(self, meta, maximumFindings: 1000, census: census) else { throw .outOfMemory }
    return walk.run()
  }
}
