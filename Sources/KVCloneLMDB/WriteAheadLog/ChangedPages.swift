import Glibc

/// Finds the pages that one commit has written, and adds them to a record.
///
/// LMDB copies a page before it changes it, and reuses pages that one commit freed after two more commits at the
/// earliest. So a page that is only in the new trees was written by the commit, and a page in both is unchanged. A page
/// has the same height above the leaves in both; the trees are therefore compared level by level, without descending
/// below a shared page.
///
/// No byte is trusted: if something is invalid, or there are too many pages, the result is unknown, and the whole file
/// is synced.
@safe
struct ChangedPages {
  private let record: CommitLogRecord
  private var source = PageSource()
  private var oldPageCount = 0
  private var bases: PageNumberSet?
  // A commit of one object compares about a dozen levels of trees, so memory is reused.
  private var level: (new: [UInt64], old: [UInt64]) = ([], [])
  private var differences = PageDifferences()
  /// The replaced pages of a level that have to be read as a whole.
  private var unpaired: [UInt64] = []
  private var targets: Targets = (LeafTargets(), LeafTargets())
  private var lists: Targets = (LeafTargets(), LeafTargets())

  private typealias Targets = (new: LeafTargets, old: LeafTargets)

  init(_ record: CommitLogRecord) { self.record = record }

  /// Adds the pages of `new` that `old`, the commit before, does not have to the record. Returns false if unknown.
  ///
  /// - Parameter bases: the numbers of the pages that earlier records of the log have.
  mutating func collect(_ new: PageMeta, since old: PageMeta, in source: PageSource, bases: PageNumberSet) -> Bool {
    self.source = source
    self.bases = bases
    // With a second reference, the next change would copy the set.
    defer { self.bases = nil }
    oldPageCount = 0
    record.removeAll()
    guard new.rootProblem == nil, old.rootProblem == nil else { return false }
    var (targets, lists): (Targets, Targets) = ((LeafTargets(), LeafTargets()), (LeafTargets(), LeafTargets()))
    swap(&targets, &self.targets)
    swap(&lists, &self.lists)
    defer {
      swap(&targets, &self.targets)
      swap(&lists, &self.lists)
    }
    guard compare(new.freeTree, old.freeTree, &targets), compare(new.mainTree, old.mainTree, &lists, isList: true)
    else { return false }
    var place = 0
    for index in lists.new.tables.indices {
      let tree = lists.new.tables[index].tree
      let before = lists.old.tree(named: lists.new.name(index), from: &place)
      if tree.root == before?.root { continue }
      guard tree.isPlausible(lastPage: new.lastPage), compare(tree, before, &targets) else { return false }
    }
    return true
  }

  /// Adds the changed pages of a tree; returns false if they are unknown.
  private mutating func compare(
    _ new: PageTree, _ old: PageTree?, _ targets: inout Targets, isList: Bool = false
  ) -> Bool {
    targets.new.removeAll()
    targets.old.removeAll()
    if new.isEmpty || new.root == old?.root { return true }
    let old = old.flatMap { $0.isEmpty ? nil : $0 }
    guard (old?.depth ?? 0) <= PageTree.maximumDepth else { return false }
    // Leaves of small values lead nowhere.
    let hasPlainLeaves = !isList && new.overflowPages == 0
    level.new.removeAll(keepingCapacity: true)
    level.old.removeAll(keepingCapacity: true)
    for height in stride(from: max(new.depth, old?.depth ?? 0), to: 0, by: -1) {
      if height == new.depth { level.new.append(new.root) }
      if let old, height == old.depth { level.old.append(old.root) }
      differences.find(level.new, level.old)
      let (written, replaced) = (differences.new, differences.old)
      level.new.removeAll(keepingCapacity: true)
      level.old.removeAll(keepingCapacity: true)
      unpaired.removeAll(keepingCapacity: true)
      for (index, number) in written.enumerated() {
        guard let page = source.page(number) else { return false }
        // Most pages replace the one in the same place; others have little in common with it, and are added whole.
        let other = index < replaced.count ? replaced[index] : nil
        if height == 1, hasPlainLeaves {
          guard page.count(asPage: number, PageView.leafFlag) != nil else { return false }
        } else {
          let nodes = PageNodes(page, number, isLeaf: height == 1, isList: isList)
          if let other, let pair = source.mappedPage(other), nodes.hasOffsets(of: pair, other) {
            oldPageCount += 1
            guard nodes.collectDifferences(from: pair, &level, &targets) else { return false }
          } else {
            if let other { unpaired.append(other) }
            guard nodes.collect(&level.new, &targets.new) else { return false }
          }
        }
        guard record.append(page, number, base: base(other)) else { return false }
      }
      // Old leaves matter only if new ones have overflow pages or tables.
      if height == 1, !isList, targets.new.overflow.isEmpty { break }
      unpaired.append(contentsOf: replaced.dropFirst(written.count))
      for number in unpaired {
        oldPageCount += 1
        // A corrupted tree can be cyclic.
        guard oldPageCount <= 8 * CommitLogRecord.maximumPages, let page = source.page(number),
          PageNodes(page, number, isLeaf: height == 1, isList: isList).collect(&level.old, &targets.old)
        else { return false }
      }
    }
    differences.find(targets.new.overflow, targets.old.overflow)
    for number in differences.new {
      guard keepOverflow(number) else { return false }
    }
    return true
  }

  /// A page of the commit before, if the log has it, and two pages are readable at the same time.
  private func base(_ number: UInt64?) -> (page: PageView, number: UInt64)? {
    guard let number, bases?.contains(number) == true, let page = source.mappedPage(number) else { return nil }
    return (page, number)
  }

  private func keepOverflow(_ first: UInt64) -> Bool {
    guard let head = source.page(first), head.number == first, head.word16(10) == PageView.overflowFlag,
      head.word32(12) >= 1, head.word32(12) <= CommitLogRecord.maximumPages - record.pageCount
    else { return false }
    for number in first..<first + UInt64(head.word32(12)) {
      guard let page = source.page(number), record.append(page, number, isWhole: true) else { return false }
    }
    return true
  }
}

/// Reads pages: from LMDB's map, or, where its start is unknown, from the file.
@safe
struct PageSource {
  private let start: UnsafeRawPointer?
  private let pageCount: UInt64
  let descriptor: Int32
  private let scratch: PageScratch

  init() {
    unsafe start = nil
    pageCount = 0
    descriptor = -1
    scratch = PageScratch()
  }

  /// - Parameters:
  ///   - start: the beginning of the file in the map, or nil.
  ///   - pageCount: the number of pages of the file that are readable there.
  init(_ descriptor: Int32, map start: UnsafeRawPointer?, pageCount: UInt64, scratch: PageScratch) {
    unsafe self.start = unsafe start
    self.pageCount = pageCount
    self.descriptor = descriptor
    self.scratch = scratch
  }

  /// The meta pages as the map shows them, which LMDB has just written through the page cache; nil without a map.
  var mappedMetas: [[UInt8]]? {
    guard let start = unsafe start, pageCount >= 2 else { return nil }
    return [0, PageView.size].map { offset in
      unsafe Array(UnsafeRawBufferPointer(start: start + offset, count: CommitLogFormat.metaLength))
    }
  }

  /// The page in the map; nil without a map.
  func mappedPage(_ number: UInt64) -> PageView? { unsafe start == nil ? nil : page(number) }

  /// The page, valid until the next call; nil if unreadable.
  func page(_ number: UInt64) -> PageView? {
    guard number < pageCount else { return nil }
    let offset = Int(number) * PageView.size
    if let start = unsafe start { return unsafe PageView(start + offset) }
    let isRead = try? unsafe readAll(descriptor, scratch.base, PageView.size, offset, "read of data.mdb")
    guard isRead == true else { return nil }
    return unsafe PageView(scratch.base)
  }
}

/// Memory for one page.
@safe
final class PageScratch {
  let base = UnsafeMutableRawPointer.allocate(byteCount: PageView.size, alignment: 8)

  deinit { unsafe base.deallocate() }
}

/// The nodes of a page of one kind.
@safe
private struct PageNodes {
  private let page: PageView
  /// Nil if the page is not of the kind.
  private let count: Int?
  private let isLeaf: Bool
  private let isList: Bool

  private static func flag(_ isLeaf: Bool) -> Int { isLeaf ? PageView.leafFlag : PageView.branchFlag }

  init(_ page: PageView, _ number: UInt64, isLeaf: Bool, isList: Bool) {
    self.page = page
    count = page.count(asPage: number, Self.flag(isLeaf))
    self.isLeaf = isLeaf
    self.isList = isList
  }

  /// Collects the children, or targets, of all nodes. Returns false if something is invalid.
  func collect(_ children: inout [UInt64], _ targets: inout LeafTargets) -> Bool {
    guard let count else { return false }
    for index in 0..<count {
      guard let node = page.checkedNode(index), addTarget(page, node, &children, &targets) else { return false }
    }
    return true
  }

  /// Whether another page has as many nodes, at the same offsets.
  func hasOffsets(of other: PageView, _ number: UInt64) -> Bool {
    guard let count, other.count(asPage: number, Self.flag(isLeaf)) == count else { return false }
    let offset = PageView.headerLength
    return unsafe memcmp(page.base + offset, other.base + offset, 2 * count) == 0
  }

  /// Collects those of the nodes that differ from those of the page that this one replaces.
  func collectDifferences(
    from old: PageView, _ level: inout (new: [UInt64], old: [UInt64]),
    _ targets: inout (new: LeafTargets, old: LeafTargets)
  ) -> Bool {
    for index in 0..<(count ?? 0) {
      guard let node = page.checkedNode(index) else { return false }
      if hasSameTarget(node, in: old) { continue }
      guard addTarget(page, node, &level.new, &targets.new), addTarget(old, node, &level.old, &targets.old) else {
        return false
      }
    }
    return true
  }

  /// Whether the node at an offset leads to the same page or table in both pages.
  @inline(__always)
  private func hasSameTarget(_ node: Int, in old: PageView) -> Bool {
    let header = page.word64(node)
    if header != old.word64(node) { return false }
    // The header of a branch's node has the number of the child.
    if !isLeaf || PageView.isPlain(header) { return true }
    let (keyLength, length) = PageView.lengths(header)
    let targetLength: Int
    switch Int(header >> 32 & 0xFFFF) {
    // The number of the page, also if the value itself is shorter: LMDB leaves a shortened value there.
    case PageView.bigDataFlag: targetLength = 8
    case PageView.subDataFlag where isList && length == PageTree.length: targetLength = length
    default: return false
    }
    let end = node + PageView.nodeHeaderLength + keyLength + targetLength
    return unsafe end <= PageView.size && memcmp(page.base + node, old.base + node, end - node) == 0
  }

  @inline(__always)
  private func addTarget(_ page: PageView, _ node: Int, _ children: inout [UInt64], _ targets: inout LeafTargets)
    -> Bool
  {
    let header = page.word64(node)
    if !isLeaf {
      children.append(PageView.child(header))
      return true
    }
    if PageView.isPlain(header) { return true }
    let (keyLength, length) = PageView.lengths(header)
    let start = node + PageView.nodeHeaderLength + keyLength
    switch Int(header >> 32 & 0xFFFF) {
    case PageView.bigDataFlag where start + 8 <= PageView.size:
      targets.overflow.append(page.word64(start))
    case PageView.subDataFlag where isList && length == PageTree.length && start + length <= PageView.size:
      let name = unsafe UnsafeRawBufferPointer(start: page.base + node + PageView.nodeHeaderLength, count: keyLength)
      unsafe targets.add(name, PageTree(page.base + start))
    default: return false
    }
    return true
  }
}

/// The targets of the leaves of one side.
@safe
private struct LeafTargets {
  /// The first overflow page of each long value.
  var overflow: [UInt64] = []
  /// The tables in the list of tables, with their places in `names`.
  private(set) var tables: [(name: Range<Int>, tree: PageTree)] = []
  private var names: [UInt8] = []

  mutating func removeAll() {
    overflow.removeAll(keepingCapacity: true)
    tables.removeAll(keepingCapacity: true)
    names.removeAll(keepingCapacity: true)
  }

  mutating func add(_ name: UnsafeRawBufferPointer, _ tree: PageTree) {
    let start = names.count
    unsafe names.append(contentsOf: name)
    tables.append((start..<names.count, tree))
  }

  func name(_ index: Int) -> ArraySlice<UInt8> { names[tables[index].name] }

  /// Finds a table. Both lists are usually in the order of names, so that the next one is at `place`.
  func tree(named name: ArraySlice<UInt8>, from place: inout Int) -> PageTree? {
    for offset in tables.indices {
      let index = (place + offset) % tables.count
      if self.name(index) == name {
        place = index + 1
        return tables[index].tree
      }
    }
    return nil
  }
}

/// The differences of two lists of page numbers.
private struct PageDifferences {
  /// The numbers only in the new list.
  private(set) var new: [UInt64] = []
  /// The numbers only in the old list.
  private(set) var old: [UInt64] = []
  private var members = PageNumberSet()

  /// Equal parts are skipped in order; a search finds the other numbers that both have.
  mutating func find(_ newPages: [UInt64], _ oldPages: [UInt64]) {
    new.removeAll(keepingCapacity: true)
    old.removeAll(keepingCapacity: true)
    var (i, j) = (0, 0)
    while i < newPages.count, j < oldPages.count {
      if newPages[i] == oldPages[j] {
        i += 1
        j += 1
        continue
      }
      let step = Self.step(newPages, i, oldPages, j)
      new.append(contentsOf: newPages[i..<i + step.new])
      old.append(contentsOf: oldPages[j..<j + step.old])
      i += step.new
      j += step.old
    }
    new.append(contentsOf: newPages[i...])
    old.append(contentsOf: oldPages[j...])
    removeShared()
  }

  /// The number of differing numbers before the lists match again: one replaced by another, one by two where a page was
  /// split, two by one where pages were merged. In other cases, a search finds what is in both.
  private static func step(_ new: [UInt64], _ i: Int, _ old: [UInt64], _ j: Int) -> (new: Int, old: Int) {
    func match(_ a: Int, _ b: Int) -> Bool {
      i + a < new.count && j + b < old.count && new[i + a] == old[j + b]
    }
    if match(1, 1) { return (1, 1) }
    if match(2, 1) { return (2, 1) }
    if match(1, 2) { return (1, 2) }
    if match(1, 0) { return (1, 0) }
    if match(0, 1) { return (0, 1) }
    return (1, 1)
  }

  private mutating func removeShared() {
    if new.isEmpty || old.isEmpty { return }
    let shared: [UInt64]
    if new.count * old.count <= 64 {
      shared = new.filter(old.contains)
    } else {
      members.replace(with: old)
      shared = new.filter(members.contains)
    }
    if shared.isEmpty { return }
    members.replace(with: shared)
    new.removeAll(where: members.contains)
    old.removeAll(where: members.contains)
  }
}
