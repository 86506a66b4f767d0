import KVCloneCore

/// The entries of one table that a scratch transaction has changed, in ascending order of keys.
///
/// Short arrays, so that an insertion moves few entries.
final class ScratchTable {
  /// A changed entry: its own copy of a key and a value.
  struct Entry {
    fileprivate let memory: UnsafeMutableRawBufferPointer
    private let keyCount: Int
    private let valueCount: Int
    /// Whether the key has a value, and is not deleted.
    let hasValue: Bool

    /// - Parameter value: nil for a deleted key.
    fileprivate init(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) {
      memory = .allocate(byteCount: max(1, key.count + (value?.count ?? 0)), alignment: 8)
      keyCount = key.count
      hasValue = value != nil
      memory.copyMemory(from: key)
      if let value { UnsafeMutableRawBufferPointer(rebasing: memory[keyCount...]).copyMemory(from: value) }
      valueCount = value?.count ?? 0
    }

    var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<keyCount]) }

    /// The value; empty for a deleted key.
    var value: UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(rebasing: memory[keyCount..<keyCount + valueCount])
    }
  }

  /// The position of an entry, valid until the next change.
  struct Position {
    fileprivate var chunk: Int
    fileprivate var index: Int
  }

  private static let longestChunk = 256

  private var chunks: [[Entry]] = []

  deinit {
    for chunk in chunks {
      for entry in chunk { entry.memory.deallocate() }
    }
  }

  /// Returns the position of the first entry at or after a key.
  func position(_ key: UnsafeRawBufferPointer) -> Position {
    // The last chunk that begins at or before the key.
    let chunk = max(0, Self.firstIndex(chunks.count) { KeyBound.compare(chunks[$0][0].key, key) > 0 } - 1)
    guard chunk < chunks.count else { return Position(chunk: 0, index: 0) }
    let index = Self.firstIndex(chunks[chunk].count) { KeyBound.compare(chunks[chunk][$0].key, key) >= 0 }
    return index < chunks[chunk].count ? Position(chunk: chunk, index: index) : Position(chunk: chunk + 1, index: 0)
  }

  /// Returns the entry at a position; nil behind the last one.
  func entry(_ position: Position) -> Entry? {
    position.chunk < chunks.count ? chunks[position.chunk][position.index] : nil
  }

  func next(_ position: Position) -> Position {
    position.index + 1 < chunks[position.chunk].count
      ? Position(chunk: position.chunk, index: position.index + 1) : Position(chunk: position.chunk + 1, index: 0)
  }

  /// Returns the entry with a key.
  func find(_ key: UnsafeRawBufferPointer) -> Entry? {
    guard let found = entry(position(key)), KeyBound.compare(found.key, key) == 0 else { return nil }
    return found
  }

  /// Returns the last entry at or before a key.
  func last(atOrBefore key: UnsafeRawBufferPointer) -> Entry? {
    let position = position(key)
    if let found = entry(position), KeyBound.compare(found.key, key) == 0 { return found }
    if position.index > 0 { return chunks[position.chunk][position.index - 1] }
    return position.chunk > 0 ? chunks[position.chunk - 1].last : nil
  }

  /// Stores an entry in place of an earlier one with the same key, which becomes invalid.
  ///
  /// - Parameter value: nil for a deleted key. Both may be bytes of the earlier entry.
  func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) {
    let entry = Entry(key, value)
    var position = position(key)
    if let old = self.entry(position), KeyBound.compare(old.key, key) == 0 {
      chunks[position.chunk][position.index] = entry
      return old.memory.deallocate()
    }
    // Behind the last entry of a chunk, instead of before all entries of the next one.
    if position.index == 0, position.chunk > 0 {
      position = Position(chunk: position.chunk - 1, index: chunks[position.chunk - 1].count)
    }
    if chunks.isEmpty { chunks.append([]) }
    chunks[position.chunk].insert(entry, at: position.index)
    if chunks[position.chunk].count > Self.longestChunk { split(position) }
  }

  /// Divides a chunk in two; ascending insertions leave full ones.
  private func split(_ position: Position) {
    let count = chunks[position.chunk].count
    let kept = position.index == count - 1 ? count - 1 : count / 2
    chunks.insert(Array(chunks[position.chunk][kept...]), at: position.chunk + 1)
    chunks[position.chunk].removeSubrange(kept...)
  }

  /// Returns the first index for which a condition holds that holds for all later ones; `count` if none.
  private static func firstIndex(_ count: Int, _ holds: (Int) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if holds(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
