/// What the lines of one batch say about one side of one relationship, in a few flat arrays.
struct LoadLinks {
  /// By statement: whose relationship it is.
  private(set) var owners: [UInt32] = []
  /// By statement: where its targets end in ``targets``.
  private var ends: [Int] = []
  /// By statement: its line.
  private(set) var lines: [UInt32] = []
  private(set) var targets: [UInt32] = []
  /// Bit per number: lines of this and earlier batches that say anything about the relationship.
  private var given: [UInt64] = []

  var isEmpty: Bool { owners.isEmpty }

  mutating func append(owner: UInt32, targets: [UInt32], line: Int) {
    owners.append(owner)
    self.targets.append(contentsOf: targets)
    ends.append(self.targets.count)
    lines.append(UInt32(clamping: line))
    let word = Int(owner >> 6)
    if word >= given.count { given.append(contentsOf: repeatElement(0, count: word + 1 - given.count)) }
    given[word] |= 1 << UInt64(owner & 63)
  }

  func isGiven(_ owner: UInt32) -> Bool {
    let word = Int(owner >> 6)
    return word < given.count && given[word] >> UInt64(owner & 63) & 1 == 1
  }

  func targets(of statement: Int) -> ArraySlice<UInt32> {
    targets[(statement == 0 ? 0 : ends[statement - 1])..<ends[statement]]
  }

  /// The line that says something about the owner in this batch.
  func line(of owner: UInt32) -> Int? {
    owners.firstIndex(of: owner).map { Int(lines[$0]) }
  }

  /// Forgets the statements of a batch that is linked.
  mutating func endBatch() {
    owners.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
    lines.removeAll(keepingCapacity: true)
    targets.removeAll(keepingCapacity: true)
  }

  /// Every link as `first << 32 | second`, sorted; with `isSwapped` the target comes first.
  func sortedLinks(isSwapped: Bool) -> [UInt64] {
    var result: [UInt64] = []
    result.reserveCapacity(targets.count)
    for statement in owners.indices {
      let owner = UInt64(owners[statement])
      for target in targets(of: statement) {
        result.append(isSwapped ? UInt64(target) << 32 | owner : owner << 32 | UInt64(target))
      }
    }
    result.sort()
    return result
  }
}
