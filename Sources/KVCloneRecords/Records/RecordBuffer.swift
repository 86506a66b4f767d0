/// An object record that is being built or edited, in its own memory.
///
/// Always a well-formed record of ``layout`` (its checksum and commit are only right after ``seal(commit:seed:)``).
/// Reused for many records: `reset` and `load` keep the memory. Read it through ``view``.
@usableFromInline
package struct RecordBuffer: ~Copyable {
  @usableFromInline var base: UnsafeMutableRawPointer
  @usableFromInline var capacity: Int
  @usableFromInline var length: Int
  @usableFromInline var variableStart: Int
  @usableFromInline
  package private(set) var layout: RecordLayout

  /// Creates a buffer with the record of a layout without fields.
  package init() {
    capacity = 1024
    base = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    layout = .empty
    length = 0
    variableStart = 0
    reset(.empty)
  }

  /// Creates a buffer with an empty record.
  package init(layout: RecordLayout) {
    self.init()
    reset(layout)
  }

  deinit {
    base.deallocate()
  }

  /// The size of the record in bytes.
  @inlinable
  package var byteCount: Int { length }

  /// The record's current values.
  @inlinable
  package var view: RecordView {
    @_lifetime(borrow self)
    get {
      let view = RecordView(
        unchecked: UnsafeRawPointer(base), count: length, layout: layout, variableStart: variableStart)
      return _overrideLifetime(view, borrowing: self)
    }
  }

  /// The record's current bytes.
  @inlinable
  package var bytes: RawSpan {
    @_lifetime(borrow self)
    get {
      let span = RawSpan(_unsafeStart: UnsafeRawPointer(base), byteCount: length)
      return _overrideLifetime(span, borrowing: self)
    }
  }

  /// Replaces the content by a record with nil in all attributes and empty lists.
  @inlinable
  package mutating func reset(_ layout: RecordLayout) {
    let fixed = layout.table.pointee.fixedLength
    if fixed > capacity { grow(to: fixed, keeping: 0) }
    base.copyMemory(from: layout.table.pointee.template, byteCount: fixed)
    take(layout, length: fixed, variableStart: fixed)
  }

  /// Copies a record.
  @inlinable
  package mutating func load(_ view: borrowing RecordView) {
    if view.byteCount > capacity { grow(to: view.byteCount, keeping: 0) }
    base.copyMemory(from: view.base, byteCount: view.byteCount)
    take(view.layout, length: view.byteCount, variableStart: view.variableStart)
  }

  /// Writes the commit and the checksum: the bytes can then be stored under the key that the seed was computed from.
  @inlinable
  package mutating func seal(commit: UInt64, seed: UInt64) {
    base.set(commit, at: RecordHeader.commit)
    let checksum = XXH3.hash(UnsafeRawPointer(base + 8), count: length &- 8, seed: seed)
    base.set(checksum, at: 0)
    // Encode asserts, decode checks.
    assert(isAccepted, "a record is sealed that its own reader refuses")
  }

  /// Whether the record has the form that its reader requires.
  @usableFromInline
  var isAccepted: Bool {
    (try? RecordView.validate(UnsafeRawPointer(base), count: length, layout: layout)) == variableStart
  }

  @usableFromInline
  mutating func take(_ layout: RecordLayout, length: Int, variableStart: Int) {
    self.layout = layout
    self.length = length
    self.variableStart = variableStart
  }

  /// Allocates more memory, at least doubled, so that a growing record is copied a logarithmic number of times.
  @usableFromInline
  mutating func grow(to needed: Int, keeping kept: Int) {
    let larger = max(needed, capacity * 2)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
    memory.copyMemory(from: base, byteCount: kept)
    base.deallocate()
    base = memory
    capacity = larger
  }

  /// Replaces the bytes in `range` by `count` bytes that the caller writes: moves what follows, sets the total length.
  ///
  /// - Throws: `recordTooLarge`; the record is then unchanged.
  @inlinable
  mutating func splice(_ range: Range<Int>, count: Int) throws(RecordError) {
    let newLength = length &+ count &- range.count
    if newLength != length {
      guard newLength <= FormatLimits.maximumRecordLength else { throw .recordTooLarge }
      if newLength > capacity { grow(to: newLength, keeping: length) }
      // `copyMemory` may overlap.
      base.advanced(by: range.lowerBound &+ count)
        .copyMemory(from: base + range.upperBound, byteCount: length &- range.upperBound)
      length = newLength
      base.set(UInt32(truncatingIfNeeded: newLength), at: RecordHeader.totalLength)
    }
  }
}
