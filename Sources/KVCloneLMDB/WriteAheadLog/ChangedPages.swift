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
  private var targets: LeafTargets.Pair = (LeafTargets(), LeafTargets())
  private var lists: LeafTargets.Pair = (LeafTargets(), LeafTargets())

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
    var targets: LeafTargets.Pair = (LeafTargets(), LeafTargets())
    var lists = targets
    // Taken out, because `compare` also changes other properties.
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
    _ new: PageTree, _ old: PageTree?, _ targets: inout LeafTargets.Pair, isList: Bool = false
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
