/// A branch page on the path from a root to a leaf, and the followed node.
struct BranchStep {
  var page = PageView.none
  var index: Int32 = 0
  var count: Int32 = 0
}

/// The branch pages on the path to a leaf, root first.
struct BranchPath {
  /// As many as `MapTree.maximumDepth`.
  var steps = InlineArray<8, BranchStep>(repeating: BranchStep())
  /// The number of branch pages.
  var level = 0

  /// The path to the leaf that contains `key`, if the tree does. Nil in a tree of one leaf, and if a page is corrupted.
  init?(root: UInt64, depth: Int, _ key: PageKey, _ pages: inout MappedPages) {
    guard depth > 1, depth <= 8 else { return nil }
    level = depth - 1
    var number = root
    for step in 0..<level {
      guard let page = pages.page(number), let count = page.count(asPage: number, PageView.branchFlag),
        let index = page.checkedBranchIndex(key, count), let node = page.checkedNode(index)
      else { return nil }
      steps[step] = BranchStep(page: page, index: Int32(index), count: Int32(count))
      number = PageView.child(page.word64(node))
    }
  }

  init(steps: InlineArray<8, BranchStep>, level: Int) {
    self.steps = steps
    self.level = level
  }

  /// The branch page that leads to the leaf.
  var last: BranchStep {
    get { steps[level - 1] }
    set { steps[level - 1] = newValue }
  }

  /// Moves to the first leaf of the next branch page; returns false at the tree's end, at `end`, and if a page is
  /// corrupted.
  mutating func enterNextBranch(before end: UnsafeRawBufferPointer, _ pages: inout MappedPages) -> Bool {
    var up = level - 2
    while up >= 0, steps[up].index + 1 >= steps[up].count { up -= 1 }
    guard up >= 0 else { return false }
    var next = self
    next.steps[up].index += 1
    if unsafe next.steps[up].page.isKey(Int(next.steps[up].index), atOrAfter: end) { return false }
    while up < level - 1 {
      let step = next.steps[up]
      guard let number = step.page.checkedChild(Int(step.index)), let page = pages.page(number),
        let count = page.count(asPage: number, PageView.branchFlag)
      else { return false }
      up += 1
      next.steps[up] = BranchStep(page: page, index: 0, count: Int32(count))
    }
    self = next
    return true
  }
}
