package import Foundation
import KVCloneLMDB

/// Files beside an NDJSON file that hold attribute values: found by a path that came with the data, so never trusted.
package struct TransferFiles {
  /// Bytes read or written at a time.
  static let chunkSize = 1 << 20

  let directory: String

  /// The size of the regular file at `relative`, and where it is.
  ///
  /// - Throws: ``TransferError/Kind/invalidFile`` for absolute paths, `..`, symbolic links anywhere below the
  ///   directory, and everything that is not a regular file.
  func locate(_ relative: String) throws(TransferError) -> (path: String, size: UInt64) {
    let components = relative.split(separator: "/", omittingEmptySubsequences: false)
    let isPlain = components.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." && !$0.utf8.contains(0) }
    guard isPlain else {
      throw TransferError(.invalidFile, "the file's path is not a plain relative one below the directory of the data")
    }
    var path = directory.isEmpty ? "." : directory
    for (index, component) in components.enumerated() {
      path += "/\(component)"
      guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
        let type = attributes[.type] as? FileAttributeType
      else { throw TransferError(.invalidFile, "there is no such file below the directory of the data") }
      let isLast = index == components.count - 1
      guard type == (isLast ? .typeRegular : .typeDirectory) else {
        throw TransferError(.invalidFile, "the file is a link or something else than a regular file in a directory")
      }
      if isLast { return (path, (attributes[.size] as? NSNumber)?.uint64Value ?? 0) }
    }
    throw TransferError(.invalidFile, "the file's path is empty")
  }

  /// Hands the file's bytes to `body`, at most ``chunkSize`` at a time.
  ///
  /// - Throws: ``TransferError/Kind/invalidFile`` for files of a store that is open, and what `body` throws.
  static func read(_ path: String, _ body: (Data) throws -> Void) throws {
    let handle = try open(path, "the file")
    defer { try? handle.close() }
    while let data = try next(from: handle, "the file") { try body(data) }
  }

  /// Opens a file that somebody named. Its name in errors is `name`.
  package static func open(_ path: String, _ name: String) throws(TransferError) -> FileHandle {
    do {
      return FileHandle(fileDescriptor: try NamedFile.openToRead(path), closeOnDealloc: true)
    } catch .belongsToStore {
      throw storeFile(name)
    } catch {
      throw TransferError(.invalidFile, "\(name) cannot be opened (\(error.reason)); check its permissions")
    }
  }

  /// The next bytes; nil at the end.
  package static func next(from handle: FileHandle, _ name: String) throws(TransferError) -> Data? {
    do {
      let data = try handle.read(upToCount: chunkSize)
      return data?.isEmpty == true ? nil : data
    } catch {
      throw TransferError(.invalidFile, "\(name) cannot be read; check that it is a file, and the disk it is on")
    }
  }

  /// Refuses to replace a file that belongs to a store.
  package static func refuseStoreFile(_ path: String) throws(TransferError) {
    if NamedFile.belongsToStore(path) { throw storeFile(path) }
  }

  private static func storeFile(_ name: String) -> TransferError {
    TransferError(
      .invalidFile, "\(name) belongs to a store that is open, and is not for reading or writing; name another one")
  }

  /// Creates the directory and the file `name` in it, readable by its owner only; an older file is replaced.
  func create(_ name: String) throws(TransferError) -> FileHandle {
    let manager = FileManager.default
    try? manager.createDirectory(
      atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let path = "\(directory)/\(name)"
    if let type = try? manager.attributesOfItem(atPath: path)[.type] as? FileAttributeType, type != .typeRegular {
      throw TransferError(.invalidFile, "\(name) exists in the directory for blobs and is not a regular file")
    }
    do {
      return FileHandle(fileDescriptor: try NamedFile.create(path), closeOnDealloc: true)
    } catch .belongsToStore {
      throw Self.storeFile("\(name) in the directory for blobs")
    } catch {
      throw TransferError(
        .invalidFile,
        "\(name) cannot be created in the directory for blobs (\(error.reason)); check that it is writable")
    }
  }
}
