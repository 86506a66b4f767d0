/// How much more an environment's file can hold.
package struct LMDBRoom: Sendable, Equatable {
  /// Bytes of the map beyond the file's last page. The map can grow, as long as nobody uses it.
  package let freeMapBytes: Int
  /// Bytes by which the file's pages can grow at most: what the file system has, for whomever, and has given the file
  /// already, but no more than the process may make a file long. The greatest number where nobody knows.
  package let freeDiskBytes: Int
  /// Whether the limit on the file's size is what leaves so little, and not the disk.
  package var isLimitedBySize = false

  /// The error of what exceeds ``freeDiskBytes``.
  var diskError: LMDBError { isLimitedBySize ? .fileSizeLimit : .diskFull }
}
