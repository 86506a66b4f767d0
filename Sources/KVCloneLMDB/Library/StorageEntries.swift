/// The position that a seek looks for.
@usableFromInline
package enum StorageSeek: Sendable {
  /// The least key that is equal or greater.
  case atOrAfter
  /// The greatest key that is equal or less.
  case atOrBefore
}

/// A key and its value, borrowed from a transaction.
///
/// This type and the next one are public, although no member is: the compiler inlines their members into other modules
/// only then.
public struct StorageEntry: ~Escapable {
  @usableFromInline package let key: RawSpan
  @usableFromInline package let value: RawSpan

  @inlinable
  @_lifetime(copy key, copy value)
  package init(key: RawSpan, value: RawSpan) {
    self.key = key
    self.value = value
  }
}

/// Pointers to an entry in the memory of an engine, valid until the next change or the end of the transaction.
///
/// The layout is that of two `MDB_val`, so that LMDB writes it.
@safe
public struct StorageEntryPointers {
  @usableFromInline var keyCount = 0
  @usableFromInline var keyBase: UnsafeRawPointer?
  @usableFromInline var valueCount = 0
  @usableFromInline var valueBase: UnsafeRawPointer?

  package init() {}

  @inlinable
  package init(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    keyCount = key.count
    unsafe keyBase = key.baseAddress
    valueCount = value.count
    unsafe valueBase = value.baseAddress
  }

  /// The entry's key.
  @inlinable
  package var key: UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: orEmpty(keyBase), count: keyCount)
  }

  /// The entry's value.
  @inlinable
  package var value: UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: orEmpty(valueBase), count: valueCount)
  }
}
