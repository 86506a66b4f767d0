/// A set of page numbers, which each commit searches many times. No page has the number 0.
struct PageNumberSet {
  /// Open addressing; 0 in empty slots, which are at least half of them.
  private var slots = [UInt64](repeating: 0, count: 64)
  private var count = 0

  init() {}

  init(_ numbers: some Sequence<UInt64>) {
    for number in numbers { insert(number) }
  }

  mutating func insert(_ number: UInt64) {
    if number == 0 { return }
    let slot = slot(of: number)
    if slots[slot] == number { return }
    slots[slot] = number
    count += 1
    if 2 * count > slots.count { grow() }
  }

  func contains(_ number: UInt64) -> Bool { number != 0 && slots[slot(of: number)] == number }

  /// Keeps the capacity.
  mutating func removeAll() {
    if count == 0 { return }
    for slot in slots.indices { slots[slot] = 0 }
    count = 0
  }

  mutating func replace(with numbers: [UInt64]) {
    // After a large commit, small ones would clear its many slots.
    if slots.count > max(64, 8 * numbers.count) { self = PageNumberSet() } else { removeAll() }
    for number in numbers { insert(number) }
  }

  /// The slot with the number, or the empty one where it belongs.
  private func slot(of number: UInt64) -> Int {
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) &>> 32) & mask
    while slots[slot] != 0, slots[slot] != number { slot = (slot + 1) & mask }
    return slot
  }

  private mutating func grow() {
    let numbers = slots
    slots = [UInt64](repeating: 0, count: 2 * numbers.count)
    for number in numbers where number != 0 { slots[slot(of: number)] = number }
  }
}
