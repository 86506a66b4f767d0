import KVCloneCore
import KVCloneLMDB

/// The statements of one batch about one side of one relationship, in a few flat arrays of scratch space.
final class LoadLinks {
  /// By statement: the owner of the relationship.
  let owners: ScratchArray<UInt32>
  /// By statement: its line.
  let lines: ScratchArray<UInt32>
  /// By statement: whether the owner's own side is already written.
  private let written: ScratchArray<Bool>
  /// Whether any with targets is.
  private(set) var hasWritten = false
  /// The targets of all statements, concatenated.
  let targets: ScratchArray<UInt32>
  /// By statement: the end of its targets in ``targets``.
  private let ends: ScratchArray<Int>
  /// A bit per number: whether lines of this and earlier batches contain the relationship.
  private var given: [UInt64] = []
  private let space: ScratchSpace

  init(in space: ScratchSpace) {
    self.space = space
    owners = ScratchArray(in: space)
    lines = ScratchArray(in: space)
    written = ScratchArray(in: space)
    targets = ScratchArray(in: space)
    ends = ScratchArray(in: space)
  }

  var isEmpty: Bool { owners.isEmpty }

  /// - Parameter isWritten: whether the owner's own side is already written.
  func append(owner: UInt32, targets: [UInt32], line: Int, isWritten: Bool) throws(StoreError) {
    try owners.append(owner)
    for target in targets { try self.targets.append(target) }
    try ends.append(self.targets.count)
    try lines.append(UInt32(clamping: line))
    try written.append(isWritten)
    if isWritten, !targets.isEmpty { hasWritten = true }
    let word = Int(owner >> 6)
    if word >= given.count { given.append(contentsOf: repeatElement(0, count: word + 1 - given.count)) }
    given[word] |= 1 << UInt64(owner & 63)
  }

  func isGiven(_ owner: UInt32) -> Bool {
    let word = Int(owner >> 6)
    return word < given.count && given[word] >> UInt64(owner & 63) & 1 == 1
  }

  func isWritten(_ statement: Int) -> Bool { written[statement] }

  /// The range of a statement's targets in ``targets``.
  func places(of statement: Int) -> Range<Int> {
    (statement == 0 ? 0 : ends[statement - 1])..<ends[statement]
  }

  /// Removes the targets for which `isDropped` returns true.
  func removeTargets(where isDropped: (_ target: UInt32, _ owner: UInt32, _ line: Int) throws -> Bool) rethrows {
    var (count, start) = (0, 0)
    for statement in owners.indices {
      let end = ends[statement]
      for place in start..<end {
        let target = targets[place]
        if try isDropped(target, owners[statement], Int(lines[statement])) { continue }
        targets[count] = target
        count += 1
      }
      start = end
      ends[statement] = count
    }
    targets.removeLast(targets.count - count)
  }

  /// Removes the statements of a batch that will be loaded again.
  func restartBatch() {
    for statement in owners.indices { given[Int(owners[statement] >> 6)] &= ~(1 << UInt64(owners[statement] & 63)) }
    endBatch()
  }

  /// Removes the statements of a linked batch.
  func endBatch() {
    owners.removeAll()
    ends.removeAll()
    lines.removeAll()
    written.removeAll()
    hasWritten = false
    targets.removeAll()
  }

  /// Every link as `first << 32 | second`, sorted; with `isSwapped` the target comes first.
  func sortedLinks(isSwapped: Bool) throws(StoreError) -> ScratchArray<UInt64> {
    let result = ScratchArray<UInt64>(in: space)
    try result.reserve(targets.count)
    for statement in owners.indices {
      let owner = UInt64(owners[statement])
      for place in places(of: statement) {
        let target = UInt64(targets[place])
        try result.append(isSwapped ? target << 32 | owner : owner << 32 | target)
      }
    }
    try result.sort()
    return result
  }
}
