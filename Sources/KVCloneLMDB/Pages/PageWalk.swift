import Glibc

/// One walk over all trees of a file's state.
///
/// Invariant: a page is read at most once, and its bytes are used only after `PageView.problem` found none. A corrupted
/// page is reported once and skipped, with all that is below it; everything else is walked.
@safe
final class PageWalk {
  let file: PageFile
  let meta: PageMeta
  var map: PageMap
  let used: PageSet
  let freed: PageSet
  /// The number of free pages so far beyond the file's end that they are only counted.
  var freedBeyond: UInt64 = 0
  /// The number of whole pages in the file.
  let filePages: UInt64
  private let maximumFindings: Int
  /// Counts the space of pages, if requested.
  let census: PageCensus?
  /// A page for each level of a tree, and the first one for values.
  let buffers: UnsafeMutableRawPointer
  /// The buffer for overflow pages; nil if they are not read.
  private let values: UnsafeMutableRawBufferPointer?

  /// The type of the tree that is being walked.
  enum Kind {
    case tables, free
    case table(String)
  }
  var kind = Kind.tables
  private var seen = Counts()
  private var depth = 0
  private var hasLosses = false
  /// Whether a part of the last tree was unreadable.
  private var hasLostBelow = false
  /// Whether all of the free list was readable: then an unreferenced page that is not on it belongs to something that
  /// is lost.
  private(set) var isFreeListSound = false
  /// Whether the list was readable to its end, though it may name pages that are in use.
  private(set) var isFreeListWhole = false

  private struct Counts {
    var branches: UInt64 = 0
    var leaves: UInt64 = 0
    var overflows: UInt64 = 0
    var entries: UInt64 = 0
  }

  /// The distance beyond the file's end up to which free pages are stored: 256 GiB.
  private static let reach: UInt64 = 1 << 26

  init?(
    _ file: PageFile, _ meta: PageMeta, maximumFindings: Int, census: PageCensus? = nil, readsValues: Bool = false
  ) {
    self.census = census
    self.file = file
    self.meta = meta
    self.maximumFindings = maximumFindings
    map = PageMap(pageCount: Int(meta.lastPage) + 1)
    filePages = file.byteCount / UInt64(PageView.size)
    let limit = min(meta.lastPage + 1, filePages + Self.reach)
    guard let used = PageSet(limit: limit), let freed = PageSet(limit: limit) else { return nil }
    self.used = used
    self.freed = freed
    unsafe buffers = .allocate(byteCount: (PageTree.maximumDepth + 2) * PageView.size, alignment: 16)
    unsafe values = readsValues ? .allocate(byteCount: Self.valuePages * PageView.size, alignment: 16) : nil
  }

  deinit {
    unsafe buffers.deallocate()
    unsafe values?.deallocate()
  }

  func run() -> PageMap {
    for finding in file.metaFindings { note(finding.page, finding.problem) }
    census?.beginTableList(depth: meta.mainTree.depth)
    walk(meta.mainTree, .tables, from: meta.page)
    if hasLosses { map.isTableListDamaged = true }
    census?.begin(file, map)
    for index in census?.order(map) ?? Array(map.tables.indices) {
      let table = map.tables[index]
      if table.isLost || isFull { continue }
      census?.beginTable(index, depth: table.tree.depth)
      if !walk(table.tree, .table(table.name), from: meta.page) {
        map.tables[index].isLost = true
        lose(low: [], high: nil, page: table.tree.root)
      }
    }
    if !isFull {
      census?.beginFreeList(depth: meta.freeTree.depth)
      let before = map.findings.count
      isFreeListWhole = walk(meta.freeTree, .free, from: meta.page) && !hasLostBelow
      isFreeListSound = isFreeListWhole && map.findings.count == before
      account()
    }
    map.isTruncated = isFull
    return map
  }

  /// Reads the list of tables alone.
  func listTables() -> PageMap {
    for finding in file.metaFindings { note(finding.page, finding.problem) }
    walk(meta.mainTree, .tables, from: meta.page)
    return map
  }

  var isFull: Bool { map.findings.count >= maximumFindings }

  func note(_ page: UInt64, _ problem: PageProblem, key: [UInt8]? = nil) {
    guard !isFull else { return }
    map.findings.append(PageFinding(page: page, table: tableName, key: key, problem: problem))
  }

  var tableName: String? {
    if case .table(let name) = kind { return name }
    return nil
  }

  private var order: PageKeyOrder {
    if case .free = kind { return .numbers }
    return .bytes
  }

  /// Walks a tree; returns whether its root was readable.
  @discardableResult
  private func walk(_ tree: PageTree, _ kind: Kind, from page: UInt64) -> Bool {
    self.kind = kind
    hasLostBelow = false
    if tree.isEmpty { return true }
    seen = Counts()
    depth = tree.depth
    let hadLosses = hasLosses
    hasLosses = false
    defer {
      hasLostBelow = hasLosses
      hasLosses = hasLosses || hadLosses
    }
    if let problem = unsafe visit(tree.root, level: 1, low: nil, high: nil) {
      note(problem == .outOfRange ? page : tree.root, problem)
      hasLosses = true
      return false
    }
    let isCounted =
      seen.branches == tree.branchPages && seen.leaves == tree.leafPages && seen.overflows == tree.overflowPages
      && seen.entries == tree.entries
    // Lost parts were not counted.
    if !hasLosses, !isCounted { note(tree.root, .miscounted) }
    return true
  }

  /// Visits a page and all below it; returns why the page cannot be used, if so.
  private func visit(
    _ page: UInt64, level: Int, low: UnsafeRawBufferPointer?, high: UnsafeRawBufferPointer?
  ) -> PageProblem? {
    if page < 2 || page > meta.lastPage { return .outOfRange }
    if page >= filePages { return .beyondEnd }
    if !used.insert(page) { return .reachedTwice }
    if freed.contains(page) { return .usedAndFree }
    let buffer = unsafe UnsafeMutableRawBufferPointer(start: buffers + level * PageView.size, count: PageView.size)
    do throws(PageError) { try unsafe file.read(page, into: buffer) } catch { return error.problem }
    guard let base = buffer.baseAddress else { return .badEntry }
    let view = unsafe PageView(base)
    let isLeaf = level == depth
    if let problem = view.problem(number: page, isLeaf: isLeaf, order: order) { return problem }
    if let problem = unsafe misplaced(view, isLeaf: isLeaf, low, high) { return problem }
    census?.count(view, isLeaf: isLeaf)
    var ahead = PageFileReadAhead()
    if isLeaf {
      seen.leaves += 1
      for index in 0..<view.count where !isFull {
        ahead.value(index, of: view, isWhole: unsafe values != nil, in: file)
        visitEntry(view, index, page)
      }
      return nil
    }
    seen.branches += 1
    // LMDB asserts it, except in the free list, where it passes through a state of one child (ITS#8336).
    if view.count < 2, order == .bytes { return .lonelyChild }
    for index in 0..<view.count where !isFull {
      let from = unsafe index == 0 ? low : view.key(index)
      let to = unsafe index + 1 < view.count ? view.key(index + 1) : high
      let child = view.child(index)
      ahead.child(index, of: view, in: file)
      guard let problem = unsafe visit(child, level: level + 1, low: from, high: to) else { continue }
      note(problem == .outOfRange ? page : child, problem)
      map.badEdges[PageMap.edge(page, index)] = child
      unsafe lose(low: from.map { unsafe [UInt8]($0) } ?? [], high: to.map { unsafe [UInt8]($0) }, page: child)
    }
    return nil
  }

  /// Whether a key is outside of the range of its parents: LMDB would not find it.
  private func misplaced(
    _ view: PageView, isLeaf: Bool, _ low: UnsafeRawBufferPointer?, _ high: UnsafeRawBufferPointer?
  ) -> PageProblem? {
    let first = isLeaf ? 0 : 1
    guard view.count > first else { return nil }
    if let low = unsafe low, unsafe compare(view.key(first), low, order) < 0 { return .misplacedKey }
    if let high = unsafe high, unsafe compare(view.key(view.count - 1), high, order) >= 0 { return .misplacedKey }
    return nil
  }

  private func visitEntry(_ view: PageView, _ index: Int, _ page: UInt64) {
    seen.entries += 1
    let flags = view.flags(index)
    if case .tables = kind {
      let isTable = flags == PageView.subDataFlag && view.dataLength(index) == PageTree.length
      guard isTable else {
        hasLosses = true
        return note(page, .notATable)
      }
      let name = unsafe String(decoding: view.key(index), as: UTF8.self)
      var table = unsafe PageMap.Table(name: name, tree: PageTree(view.data(index)))
      table.isLost = !table.tree.isPlain || !table.tree.isPlausible(lastPage: meta.lastPage)
      map.tables.append(table)
      guard table.isLost else { return }
      map.findings.append(PageFinding(page: page, table: name, key: nil, problem: .badTree))
      hasLosses = true
      map.lost[name] = [LostRange(low: [], high: nil, page: page)]
      return
    }
    if flags == PageView.subDataFlag { return loseEntry(view, index, page, told: page, .badEntry) }
    if flags == PageView.bigDataFlag {
      let first = view.overflowPage(index)
      if let problem = visitOverflow(first, byteCount: view.dataLength(index)) {
        return loseEntry(view, index, page, told: problem == .outOfRange ? page : first, problem)
      }
      if let error = readValue(first, byteCount: view.dataLength(index)) {
        return loseEntry(view, index, page, told: error.page, error.problem)
      }
    }
    if case .free = kind {
      do throws(PageError) { try visitFreeRecord(view, index, page) } catch {
        note(error.page, error.problem)
        hasLosses = true
      }
    }
    census?.tell(view, index)
  }

  private func loseEntry(_ view: PageView, _ index: Int, _ page: UInt64, told: UInt64, _ problem: PageProblem) {
    let key = unsafe [UInt8](view.key(index))
    note(told, problem, key: key)
    map.badEdges[PageMap.edge(page, index)] = told
    lose(low: key, high: key + [0], page: told)
  }

  private func lose(low: [UInt8], high: [UInt8]?, page: UInt64) {
    hasLosses = true
    guard let name = tableName else { return }
    map.lost[name, default: []].append(LostRange(low: low, high: high, page: page))
  }

  /// Visits the overflow pages of a value: only the first one has a header.
  private func visitOverflow(_ first: UInt64, byteCount: Int) -> PageProblem? {
    if first < 2 || first > meta.lastPage { return .outOfRange }
    if first >= filePages { return .beyondEnd }
    let header = unsafe UnsafeMutableRawBufferPointer(start: buffers, count: PageView.headerLength)
    do throws(PageError) { try unsafe file.read(first, into: header) } catch { return error.problem }
    let view = unsafe PageView(buffers)
    if view.number != first { return .wrongNumber }
    let pages = UInt64(view.word32(12))
    // More pages than the value needs are valid: LMDB overwrites a longer value of the same transaction in place
    // (mdb_cursor_put: "we don't bother to try shrinking the page").
    let needed = Self.pageCount(of: byteCount)
    guard view.word16(10) == PageView.overflowFlag, pages >= needed, first + pages - 1 <= meta.lastPage else {
      return .badOverflow
    }
    if first + pages > filePages { return .beyondEnd }
    for page in first..<first + pages {
      if !used.insert(page) { return .reachedTwice }
      if freed.contains(page) { return .usedAndFree }
    }
    seen.overflows += pages
    census?.countOverflow(byteCount, pages: pages)
    return nil
  }

  /// The number of overflow pages of a value.
  private static func pageCount(of byteCount: Int) -> UInt64 {
    UInt64(PageView.headerLength - 1 + byteCount) / UInt64(PageView.size) + 1
  }

  /// The number of pages of a value that are read at a time.
  private static let valuePages = 64

  /// The error of the first unreadable page of a value.
  private func readValue(_ first: UInt64, byteCount: Int) -> PageError? {
    guard let values = unsafe values else { return nil }
    func read(_ pages: Range<UInt64>) -> PageError? {
      let buffer = unsafe UnsafeMutableRawBufferPointer(rebasing: values[..<(pages.count * PageView.size)])
      do throws(PageError) { try unsafe file.read(pages.lowerBound, into: buffer) } catch { return error }
      return nil
    }
    let end = first + Self.pageCount(of: byteCount)
    for start in stride(from: first, to: end, by: Self.valuePages) {
      if let error = read(start..<min(end, start + UInt64(Self.valuePages))) { return error }
    }
    return nil
  }

  /// Checks that each page is either in use or free.
  private func account() {
    map.usedPages = 2 + used.count
    map.freePages = freed.count + freedBeyond
    if hasLosses || isFull { return }
    let accounted = map.usedPages + map.freePages
    guard accounted <= meta.lastPage else { return }
    kind = .free
    note(
      used.firstMissing(from: 2, alsoIn: freed) ?? meta.lastPage, .leaked(Int(meta.lastPage + 1 - accounted)))
  }
}
