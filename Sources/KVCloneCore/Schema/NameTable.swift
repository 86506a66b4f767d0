/// Numbers by name, for names that are looked up for every object: a name is identified by its length and its first and
/// last bytes, which costs a fraction of hashing it. If these are equal, the bytes in between decide.
///
/// Names are compared bytewise; a dictionary also finds canonically equivalent ones. If nothing is found, callers use a
/// dictionary.
final class NameTable: @unchecked Sendable {
  private struct Slot {
    var key: NameKey
    var number: Int
    /// The whole name; nil in an empty slot.
    var bytes: UnsafeRawPointer?
  }

  private let slots: UnsafeMutablePointer<Slot>
  private let mask: Int
  /// All names, concatenated.
  private let texts: UnsafeMutableRawBufferPointer

  /// Of equal names the first counts.
  init(_ names: some Collection<(name: String, number: Int)>) {
    var capacity = 4
    while capacity < 2 * names.count { capacity *= 2 }
    mask = capacity - 1
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: Slot(key: .none, number: 0), count: capacity)
    texts = .allocate(byteCount: names.reduce(0) { $0 + $1.name.utf8.count }, alignment: 1)
    var start = 0
    for (name, number) in names {
      let count = name.utf8.count
      let text = UnsafeMutableRawBufferPointer(rebasing: texts[start..<start + count])
      text.copyBytes(from: name.utf8)
      start += count
      guard let bytes = text.baseAddress, self[UnsafeRawBufferPointer(text)] == nil else { continue }
      let key = NameKey(bytes, count)
      var place = key.hash & mask
      while slots[place].bytes != nil { place = (place + 1) & mask }
      slots[place] = Slot(key: key, number: number, bytes: bytes)
    }
  }

  deinit {
    slots.deallocate()
    texts.deallocate()
  }

  /// The number of a name; nil also if the name's bytes are not contiguous in memory.
  @inline(__always)
  subscript(name: String) -> Int? {
    name.utf8.withContiguousStorageIfAvailable { self[UnsafeRawBufferPointer($0)] } ?? nil
  }

  private subscript(name: UnsafeRawBufferPointer) -> Int? {
    guard let bytes = name.baseAddress, !name.isEmpty else { return nil }
    let key = NameKey(bytes, name.count)
    var place = key.hash & mask
    while let bytes = slots[place].bytes {
      if slots[place].key == key,
        key.isWhole || name.elementsEqual(UnsafeRawBufferPointer(start: bytes, count: key.count))
      {
        return slots[place].number
      }
      place = (place + 1) & mask
    }
    return nil
  }
}

/// The length of a name with its first and last eight bytes.
private struct NameKey: Equatable {
  let count: Int
  let first: UInt64
  let last: UInt64

  static let none = NameKey(count: 0, first: 0, last: 0)

  private init(count: Int, first: UInt64, last: UInt64) {
    (self.count, self.first, self.last) = (count, first, last)
  }

  /// - Precondition: `count` is at least 1.
  @inline(__always)
  init(_ bytes: UnsafeRawPointer, _ count: Int) {
    self.count = count
    if count >= 8 {
      first = bytes.loadUnaligned(as: UInt64.self)
      last = (bytes + count - 8).loadUnaligned(as: UInt64.self)
    } else if count >= 4 {
      first = UInt64(bytes.loadUnaligned(as: UInt32.self))
      last = UInt64((bytes + count - 4).loadUnaligned(as: UInt32.self))
    } else {
      first = UInt64(bytes.load(as: UInt8.self)) | UInt64(bytes.load(fromByteOffset: count / 2, as: UInt8.self)) << 8
      last = UInt64(bytes.load(fromByteOffset: count - 1, as: UInt8.self))
    }
  }

  /// Whether it contains all of the name's bytes.
  var isWhole: Bool { count <= 16 }

  var hash: Int {
    let mixed = (first ^ (last &<< 23 | last &>> 41) ^ UInt64(truncatingIfNeeded: count)) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: mixed &>> 40)
  }
}
