package import KVCloneCore
package import KVCloneLMDB

/// A dictionary that may exceed memory: its entries are in scratch space, in the order of insertion, behind a hash
/// table of their numbers. Entries are replaced and never removed. A reference type.
package final class ScratchMap<Key: Hashable & BitwiseCopyable, Value: BitwiseCopyable> {
  private struct Entry: BitwiseCopyable {
    let key: Key
    var value: Value
  }

  private let space: ScratchSpace
  private let entries: ScratchArray<Entry>
  /// The number of an entry from 1, or 0: a power of two, at least twice as many as entries.
  private var slots: ScratchArray<UInt32>

  package init(in space: ScratchSpace) {
    self.space = space
    entries = ScratchArray(in: space)
    slots = ScratchArray(in: space)
  }

  package var count: Int { entries.count }
  package var isEmpty: Bool { entries.isEmpty }

  package subscript(key: Key) -> Value? {
    let number = number(of: key)
    return number == 0 ? nil : entries[number - 1].value
  }

  package func set(_ key: Key, to value: Value) throws(StoreError) {
    let known = number(of: key)
    if known > 0 {
      entries[known - 1].value = value
      return
    }
    if (entries.count + 1) * 2 > slots.count { try grow() }
    try entries.append(Entry(key: key, value: value))
    slots[slot(of: key)] = UInt32(entries.count)
  }

  /// The number of the key's entry, or 0.
  private func number(of key: Key) -> Int { slots.isEmpty ? 0 : Int(slots[slot(of: key)]) }

  /// The slot with the key's entry, or the free one for it.
  private func slot(of key: Key) -> Int {
    let mask = slots.count - 1
    var slot = key.hashValue & mask
    while slots[slot] != 0, entries[Int(slots[slot]) - 1].key != key { slot = (slot + 1) & mask }
    return slot
  }

  private func grow() throws(StoreError) {
    slots = try ScratchArray(repeating: 0, count: max(16, slots.count * 2), in: space)
    for number in entries.indices { slots[slot(of: entries[number].key)] = UInt32(number + 1) }
  }
}
