/// The space that an environment's file can still grow by.
package struct LMDBRoom: Sendable, Equatable {
  /// Bytes of the map beyond the file's last page. The map can grow while there are no live users.
  package let freeMapBytes: Int
  /// The greatest number of bytes by which the file's pages can grow: the free space of the file system for any user,
  /// plus what it has allocated to the file already, limited by the process's file size limit. The greatest number if
  /// unknown.
  package let freeDiskBytes: Int
  /// Whether the file size limit, and not the disk, is the bound.
  package var isLimitedBySize = false

  /// The error for exceeding ``freeDiskBytes``.
  var diskError: LMDBError { isLimitedBySize ? .fileSizeLimit : .diskFull }
}
