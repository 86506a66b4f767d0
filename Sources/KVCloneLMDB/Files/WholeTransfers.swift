import Glibc

/// Reads exactly this many bytes; returns false if the file ends before. Throws `io` on failure: treating it as the end
/// of the file would lose what follows.
func readAll(
  _ descriptor: Int32, _ start: UnsafeMutableRawPointer, _ count: Int, _ offset: Int, _ operation: StaticString
) throws(LMDBError) -> Bool {
  var done = 0
  while done < count {
    let got = unsafe pread(descriptor, start + done, count - done, offset + done)
    if got < 0, errno == EINTR { continue }
    if got < 0 { throw LMDBError(code: errno, operation: operation) }
    if got == 0 { return false }
    done += got
  }
  return true
}

/// Writes all of the bytes; returns 0 or the error's number.
func writeAll(_ descriptor: Int32, _ start: UnsafeRawPointer, _ count: Int, _ offset: Int) -> Int32 {
  var done = 0
  while done < count {
    let got = unsafe pwrite(descriptor, start + done, count - done, offset + done)
    if got < 0, errno == EINTR { continue }
    if got < 0 { return errno }
    if got == 0 { return ENOSPC }
    done += got
  }
  return 0
}
