/// A borrowed page of a long ordered list's directory; ``DirectoryPage`` is the same, copied.
///
/// Looking up a position reads every page before it, so this view copies nothing.
package struct DirectoryPageView: ~Escapable {
  @usableFromInline let base: UnsafeRawPointer
  package let count: Int
  /// The number of members in all the page's chunks.
  package let memberCount: Int

  private static var headerLength: Int { 12 }
  private static var entryLength: Int { 12 }

  /// Checks a stored page.
  ///
  /// - Parameter position: the position in the page's key: the label of its first chunk.
  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan, seed: UInt64, position: UInt64) throws(RecordError) {
    let buffer = bytes.withUnsafeBytes { $0 }
    guard let base = buffer.baseAddress, buffer.count >= Self.headerLength else { throw .tooShort }
    guard ValueEnvelope.isIntact(buffer, seed: seed) else { throw .checksumMismatch }
    let count = Int(base.number(at: 8, UInt16.self))
    guard base.number(at: 10, UInt16.self) == 0 else { throw .badFlag }
    guard count >= 1, count <= FormatLimits.directoryCapacity else { throw .badCount }
    guard buffer.count == Self.headerLength + Self.entryLength * count else { throw .wrongLength }
    let entries = base + Self.headerLength
    guard entries.number(at: 0, UInt64.self) == position else { throw .badOrder }
    // One pass for order and sum: looking up a position in a list of a million members reads some 64 pages.
    var sum = 0
    var last: UInt64 = 0
    var isAscending = true
    for index in 0..<count {
      let offset = Self.entryLength &* index
      let label = entries.number(at: offset, UInt64.self)
      isAscending = isAscending && (label > last || index == 0)
      last = label
      sum &+= Int(entries.number(at: offset &+ 8, UInt32.self))
    }
    guard isAscending else { throw .badOrder }
    self = _overrideLifetime(Self(entriesAt: entries, count: count, memberCount: sum), copying: bytes)
  }

  @_lifetime(immortal)
  private init(entriesAt base: UnsafeRawPointer, count: Int, memberCount: Int) {
    self.base = base
    self.count = count
    self.memberCount = memberCount
  }

  /// The label of a chunk.
  ///
  /// - Precondition: `index` is in `0..<count`.
  package func label(_ index: Int) -> UInt64 {
    precondition(index >= 0 && index < count, "no such entry")
    return base.number(at: Self.entryLength * index, UInt64.self)
  }

  /// The number of members in a chunk.
  ///
  /// - Precondition: `index` is in `0..<count`.
  package func memberCount(_ index: Int) -> Int {
    precondition(index >= 0 && index < count, "no such entry")
    return Int(base.number(at: Self.entryLength * index + 8, UInt32.self))
  }

  /// A copy of the page's entries.
  package var entries: [DirectoryPage.Entry] {
    (0..<count).map { .init(label: label($0), memberCount: UInt32(truncatingIfNeeded: memberCount($0))) }
  }
  /// Encodes a page, byte for byte as ``DirectoryPage`` does, but with one allocation: a change of a long list stores
  /// one.
  ///
  /// - Precondition: 1…128 entries with ascending labels.
  package static func encode(_ entries: [DirectoryPage.Entry], seed: UInt64) -> [UInt8] {
    precondition((1...FormatLimits.directoryCapacity).contains(entries.count), "a page has 1 to 128 entries")
    let length = headerLength + entryLength * entries.count
    return [UInt8](unsafeUninitializedCapacity: length) { buffer, initialized in
      let memory = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<length])
      if let base = memory.baseAddress {
        base.set(UInt16(truncatingIfNeeded: entries.count), at: 8)
        base.set(0 as UInt16, at: 10)
        for index in entries.indices {
          let offset = headerLength + entryLength * index
          base.set(entries[index].label, at: offset)
          base.set(entries[index].memberCount, at: offset + 8)
        }
        ValueEnvelope.seal(memory, seed: seed)
      }
      initialized = length
    }
  }
}
