#if Postgres
  import Glibc

  /// Compares two keys: by their bytes, and a prefix comes first. This is the order of `bytea`, and of LMDB.
  @inline(__always)
  func keyOrder(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let common = min(left.count, right.count)
    if common > 0, let first = left.baseAddress, let second = right.baseAddress {
      let order = memcmp(first, second, common)
      if order != 0 { return Int(order) }
    }
    return left.count - right.count
  }

  extension Array<UInt8> {
    /// Compares the array with a key, see ``keyOrder(_:_:)``.
    @inline(__always)
    func order(to key: UnsafeRawBufferPointer) -> Int {
      withUnsafeBytes { keyOrder($0, key) }
    }

    /// Calls `body` with the bytes, and passes its error on as it is.
    func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
      try span.bytes.withUnsafeBytes(body)
    }
  }

  /// The first key behind a key.
  func successor(of key: UnsafeRawBufferPointer) -> [UInt8] { Array(key) + [0] }
#endif
