/// A page of a long ordered list's directory, borrowed; ``DirectoryPage`` is the same, copied.
///
/// Looking up a position passes over every page before it, so that this view copies nothing.
package struct DirectoryPageView: ~Escapable {
  @usableFromInline let base: UnsafeRawPointer
  package let count: Int

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
    let view = Self(entriesAt: base + Self.headerLength, count: count)
    guard view.label(0) == position else { throw .badOrder }
    for index in 1..<max(count, 1) where view.label(index - 1) >= view.label(index) { throw .badOrder }
    self = _overrideLifetime(view, copying: bytes)
  }

  @_lifetime(immortal)
  private init(entriesAt base: UnsafeRawPointer, count: Int) {
    self.base = base
    self.count = count
  }

  /// The label of a chunk.
  ///
  /// - Precondition: `index` is in `0..<count`.
  package func label(_ index: Int) -> UInt64 {
    precondition(index >= 0 && index < count, "no such entry")
    return base.number(at: Self.entryLength * index, UInt64.self)
  }

  /// The members of a chunk.
  ///
  /// - Precondition: `index` is in `0..<count`.
  package func memberCount(_ index: Int) -> Int {
    precondition(index >= 0 && index < count, "no such entry")
    return Int(base.number(at: Self.entryLength * index + 8, UInt32.self))
  }

  /// The members of all the page's chunks.
  package var memberCount: Int {
    var sum = 0
    for index in 0..<count { sum += memberCount(index) }
    return sum
  }

  /// The page's entries, copied.
  package var entries: [DirectoryPage.Entry] {
    (0..<count).map { .init(label: label($0), memberCount: UInt32(truncatingIfNeeded: memberCount($0))) }
  }
}
