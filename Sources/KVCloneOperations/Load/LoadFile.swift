import Foundation
import KVCloneCore

/// An open input file of a load. For one thread at a time.
final class LoadFile: @unchecked Sendable {
  /// The options, with the file's directory as the base of `{"file":"…"}` values.
  let options: LoadOptions
  /// Whether its bytes may be read while the write lock is held.
  let isRegular: Bool
  /// The spooled bytes, if there are any; then nothing else is read.
  var spool: LoadSpool?
  private let path: String
  private let handle: FileHandle

  init(_ path: String, _ options: LoadOptions) throws(TransferError) {
    self.path = path
    var options = options
    options.baseDirectory = URL(fileURLWithPath: path).deletingLastPathComponent().path
    self.options = options
    handle = try TransferFiles.open(path, path)
    isRegular = try TransferFiles.isRegular(handle, path)
  }

  /// Appends the next bytes; returns false at the end.
  func next(_ buffer: inout [UInt8]) throws -> Bool {
    if let spool { return try spool.read(into: &buffer) }
    if !isRegular { return try TransferFiles.append(from: handle, path, to: &buffer) }
    guard let data = try TransferFiles.next(from: handle, path) else { return false }
    buffer.append(contentsOf: data)
    return true
  }

  /// Returns to the first byte of a regular file, or of the spooled ones.
  func rewind() throws(TransferError) {
    if let spool { return spool.rewind() }
    do { try handle.seek(toOffset: 0) } catch {
      throw TransferError(.invalidFile, "\(path) cannot be read again; check that it is a file, and the disk it is on")
    }
  }
}
