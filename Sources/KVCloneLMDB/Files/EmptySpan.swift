/// A span needs an address even when it has no bytes.
@inlinable
@inline(__always)
func orEmpty(_ base: UnsafeRawPointer?) -> UnsafeRawPointer {
  if let base = unsafe base { return unsafe base }
  return unsafe UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
}
