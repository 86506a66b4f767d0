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
final class ChangedPages {
  private let record: CommitLogRecord
  private var source = PageSource()
  private var oldPageCount = 0
  private var members = PageNumberTable()
  private var bases: Set<UInt64> = []

  /// The targets of the leaves of one side.
  private struct Finds {
    /// The first overflow page of each long value.
    var overflow: [UInt64] = []
    /// The tables in the list of tables.
    var tables: [(name: [UInt8], tree: PageTree)] = []
  }

  init(_ record: CommitLogRecord) { self.record = record }

  /// Adds the pages of `new` that `old`, the commit before, does not have to the record. Returns false if unknown.
  ///
  /// - Parameter bases: the numbers of the pages that earlier records of the log have.
  func collect(_ new: PageMeta, since old: PageMeta, in source: PageSource, bases: Set<UInt64>) -> Bool {
    self.source = source
    self.bases = bases
    // With a second reference, the next change would copy the set.
    defer { self.bases = [] }
    oldPageCount = 0
    record.removeAll()
    guard new.rootProblem == nil, old.rootProblem == nil else { return false }
    guard compare(new.freeTree, old.freeTree) != nil,
      let lists = compare(new.mainTree, old.mainTree, isList: true)
    else { return false }
    for (name, tree) in lists.new.tables {
      let before = lists.old.tables.first { $0.name == name }?.tree
      if tree.root == before?.root { continue }
      guard tree.isPlausible(lastPage: new.lastPage), compare(tree, before) != nil else { return false }
    }
    return true
  }

  private func compare(_ new: PageTree, _ old: PageTree?, isList: Bool = false) -> (new: Finds, old: Finds)? {
    var finds = (new: Finds(), old: Finds())
    if new.isEmpty || new.root == old?.root { return finds }
    let old = old.flatMap { $0.isEmpty ? nil : $0 }
    guard (old?.depth ?? 0) <= PageTree.maximumDepth else { return nil }
    // Leaves of small values lead nowhere.
    let hasPlainLeaves = !isList && new.overflowPages == 0
    var level: (new: [UInt64], old: [UInt64]) = ([], [])
    for height in stride(from: max(new.depth, old?.depth ?? 0), to: 0, by: -1) {
      if height == new.depth { level.new.append(new.root) }
      if let old, height == old.depth { level.old.append(old.root) }
      let (written, replaced) = members.differences(level.new, level.old)
      level.new.removeAll(keepingCapacity: true)
      level.old.removeAll(keepingCapacity: true)
      for (index, number) in written.enumerated() {
        guard let page = source.page(number) else { return nil }
        if height == 1, hasPlainLeaves {
          guard page.count(asPage: number, PageView.leafFlag) != nil else { return nil }
        } else {
          guard look(page, number, height, &level.new, &finds.new, isList) else { return nil }
        }
        // Most pages replace the one in the same place; others have little in common with it, and are added whole.
        let base = index < replaced.count ? self.base(replaced[index]) : nil
        guard record.append(page, number, base: base) else { return nil }
      }
      // What old leaves lead to matters only where the new ones lead somewhere.
      if height == 1, !isList, finds.new.overflow.isEmpty { break }
      for number in replaced {
        oldPageCount += 1
        // A corrupted tree can be cyclic.
        guard oldPageCount <= 8 * CommitLogRecord.maximumPages, let page = source.page(number),
          look(page, number, height, &level.old, &finds.old, isList)
        else { return nil }
      }
    }
    for number in members.differences(finds.new.overflow, finds.old.overflow).new {
      guard keepOverflow(number) else { return nil }
    }
    return finds
  }

  /// A page of the commit before, if the log has it, and two pages are readable at the same time.
  private func base(_ number: UInt64) -> (page: PageView, number: UInt64)? {
    guard source.isMapped, bases.contains(number), let page = source.page(number) else { return nil }
    return (page, number)
  }

  /// Collects the targets of the page's nodes.
  private func look(
    _ page: PageView, _ number: UInt64, _ height: Int, _ children: inout [UInt64], _ finds: inout Finds, _ isList: Bool
  ) -> Bool {
    let isLeaf = height == 1
    guard let count = page.count(asPage: number, isLeaf ? PageView.leafFlag : PageView.branchFlag) else { return false }
    if !isLeaf {
      children.reserveCapacity(children.count + count)
      for index in 0..<count {
        guard let node = page.checkedNode(index) else { return false }
        children.append(PageView.child(page.word64(node)))
      }
      return true
    }
    for index in 0..<count {
      guard let node = page.checkedNode(index) else { return false }
      let header = page.word64(node)
      if PageView.isPlain(header) { continue }
      let (keyLength, length) = PageView.lengths(header)
      let start = node + PageView.nodeHeaderLength + keyLength
      switch Int(header >> 32 & 0xFFFF) {
      case PageView.bigDataFlag where start + 8 <= PageView.size:
        finds.overflow.append(page.word64(start))
      case PageView.subDataFlag where isList && length == PageTree.length && start + length <= PageView.size:
        let name = unsafe UnsafeRawBufferPointer(start: page.base + node + PageView.nodeHeaderLength, count: keyLength)
        unsafe finds.tables.append((Array(name), PageTree(page.base + start)))
      default: return false
      }
    }
    return true
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

  /// Whether pages remain valid.
  var isMapped: Bool { unsafe start != nil }

  /// The page, valid until the next call unless `isMapped`; nil if unreadable.
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

/// Computes the differences of two lists of page numbers, some dozen times a commit. No page has the number 0.
private struct PageNumberTable {
  private var slots = [UInt64](repeating: 0, count: 64)
  private var mask = 63

  /// The numbers only in `new`, and those only in `old`.
  ///
  /// Both are in key order, and almost equal: most numbers are skipped without a lookup in the table.
  mutating func differences(_ new: [UInt64], _ old: [UInt64]) -> (new: [UInt64], old: [UInt64]) {
    var rest: (new: [UInt64], old: [UInt64]) = ([], [])
    var (i, j) = (0, 0)
    while i < new.count, j < old.count {
      if new[i] == old[j] {
        i += 1
        j += 1
        continue
      }
      let step = Self.step(new, i, old, j)
      rest.new += new[i..<i + step.new]
      rest.old += old[j..<j + step.old]
      i += step.new
      j += step.old
    }
    rest.new += new[i...]
    rest.old += old[j...]
    if rest.new.isEmpty || rest.old.isEmpty { return rest }
    fill(rest.old)
    let onlyNew = rest.new.filter { !contains($0) }
    if onlyNew.count == rest.new.count { return rest }
    fill(rest.new)
    return (onlyNew, rest.old.filter { !contains($0) })
  }

  /// The number of differing numbers before the lists match again: one replaced by another, one by two where a page was
  /// split, two by one where pages were merged. In other cases, the table finds what is in both.
  private static func step(_ new: [UInt64], _ i: Int, _ old: [UInt64], _ j: Int) -> (new: Int, old: Int) {
    for (a, b) in [(1, 1), (2, 1), (1, 2), (1, 0), (0, 1)] where i + a < new.count && j + b < old.count {
      if new[i + a] == old[j + b] { return (a, b) }
    }
    return (1, 1)
  }

  private mutating func fill(_ numbers: [UInt64]) {
    var size = 64
    while size < 2 * numbers.count { size *= 2 }
    slots.removeAll(keepingCapacity: true)
    slots.append(contentsOf: repeatElement(0, count: size))
    mask = size - 1
    for number in numbers where number != 0 {
      var index = place(number)
      while slots[index] != 0, slots[index] != number { index = (index + 1) & mask }
      slots[index] = number
    }
  }

  private func contains(_ number: UInt64) -> Bool {
    var index = place(number)
    while slots[index] != 0 {
      if slots[index] == number { return true }
      index = (index + 1) & mask
    }
    return false
  }

  private func place(_ number: UInt64) -> Int {
    Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) &>> 32) & mask
  }
}
