/// The differences of two lists of page numbers.
struct PageDifferences {
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
