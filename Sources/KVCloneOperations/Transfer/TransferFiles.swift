package import Foundation
package import KVCloneCore
import KVCloneLMDB
package import KVCloneModel

/// Files with attribute values next to an NDJSON file, at paths from the data, which are not trusted.
package struct TransferFiles {
  /// The number of bytes read or written at a time.
  static let chunkSize = 1 << 20

  let directory: String

  /// A file that is open for reading.
  struct OpenFile {
    let handle: FileHandle
    /// The size of the file when it was opened.
    let byteCount: UInt64
  }

  /// Opens the regular file at `relative`.
  ///
  /// - Throws: ``TransferError/Kind/invalidFile`` for absolute paths, `..`, symbolic links anywhere below the
  ///   directory, everything that is not a regular file, and files of a store that is open.
  func open(_ relative: String) throws(TransferError) -> OpenFile {
    let components = relative.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    let isPlain = components.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." && !$0.utf8.contains(0) }
    guard isPlain else {
      throw TransferError(
        .invalidFile, "the path of the file must be relative, without “.” and “..”, below the directory of the data")
    }
    do {
      let file = try NamedFile.openToRead(components, below: directory.isEmpty ? "." : directory)
      return OpenFile(
        handle: FileHandle(fileDescriptor: file.descriptor, closeOnDealloc: true), byteCount: UInt64(file.byteCount))
    } catch .belongsToStore {
      throw Self.storeFile("the file")
    } catch .notPlain {
      throw TransferError(.invalidFile, NamedFile.Refusal.notPlain.reason)
    } catch {
      throw TransferError(
        .invalidFile,
        "the file cannot be opened below the directory of the data (\(error.reason)); \(error.advice)")
    }
  }

  /// Passes the file's bytes to `body`, at most ``chunkSize`` at a time, and closes it.
  ///
  /// - Throws: ``TransferError/Kind/invalidFile`` if it cannot be read, or its size has changed since it was opened;
  ///   and
  ///   errors of `body`.
  static func read(_ file: OpenFile, _ body: (Data) throws -> Void) throws {
    defer { try? file.handle.close() }
    var byteCount: UInt64 = 0
    while let data = try next(from: file.handle, "the file") {
      byteCount += UInt64(data.count)
      guard byteCount <= file.byteCount else { break }
      try body(data)
    }
    guard byteCount == file.byteCount else {
      throw Self.changed
    }
  }

  /// The error for a file that another process writes.
  static var changed: TransferError {
    TransferError(.invalidFile, "the file changed while it was read; try again when no process writes it")
  }

  /// Opens a file named by the caller. Its name in errors is `name`.
  package static func open(_ path: String, _ name: String) throws(TransferError) -> FileHandle {
    do {
      return FileHandle(fileDescriptor: try NamedFile.openToRead(path), closeOnDealloc: true)
    } catch .belongsToStore {
      throw storeFile(name)
    } catch .system(errno: ENOENT) {
      throw TransferError(.invalidFile, "\(name) does not exist; check the path")
    } catch {
      throw TransferError(.invalidFile, "\(name) cannot be opened (\(error.reason)); \(error.advice)")
    }
  }

  /// Whether an open file is a regular one: others (pipes, terminals, devices) may wait for another process at every
  /// read, so none is read while a lock is held.
  ///
  /// - Throws: ``TransferError/Kind/invalidFile`` for directories.
  package static func isRegular(_ handle: FileHandle, _ name: String) throws(TransferError) -> Bool {
    let kind: FileSystem.Kind
    do throws(LMDBError) {
      kind = try FileSystem.kind(descriptor: handle.fileDescriptor)
    } catch {
      throw TransferError(.invalidFile, "\(name) cannot be read (\(error.message))")
    }
    if kind == .directory { throw TransferError(.invalidFile, "\(name) is a directory; give the path of a file") }
    return kind == .regularFile
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

  /// Appends the next bytes of a pipe or a device, at most 64 KiB; returns false at the end. Unlike ``next(from:_:)``,
  /// which waits for a whole chunk, it returns the available bytes.
  static func append(from handle: FileHandle, _ name: String, to buffer: inout [UInt8]) throws(TransferError) -> Bool {
    do throws(LMDBError) {
      return try FileSystem.read(handle.fileDescriptor, into: &buffer, upTo: 64 << 10)
    } catch {
      throw TransferError(.invalidFile, "\(name) cannot be read (\(error.message))")
    }
  }

  /// Rejects replacing a file that belongs to a store.
  private static func refuseStoreFile(_ path: String) throws(TransferError) {
    do throws(NamedFile.Refusal) {
      if try !NamedFile.belongsToStore(path) { return }
    } catch {
      throw TransferError(
        .invalidFile, "cannot determine whether \(path) belongs to the store (\(error.reason)); choose another file")
    }
    throw storeFile(path)
  }

  /// Rejects an output file that belongs to a store, is in a store's directory, or is in a directory that does not
  /// exist.
  package static func requireWritable(_ path: String) throws {
    try refuseStoreFile(path)
    try storeErrors { () throws(LMDBError) in try OutputPath.requireFile(path) }
  }

  /// Creates a directory for files, unless it exists; its parent must exist.
  ///
  /// - Parameter mode: the permission bits, reduced by the umask.
  /// - Throws: `invalidDestination`, `io` …
  package static func prepareDirectory(_ path: String, mode: UInt32 = 0o700) throws(StoreError) {
    try storeErrors { () throws(LMDBError) in try OutputPath.prepareDirectory(path, mode: mode) }
  }

  private static func storeFile(_ name: String) -> TransferError {
    TransferError(
      .invalidFile, "\(name) belongs to an open store and cannot be read or written here; choose another file")
  }

  /// Creates the file `name` in the directory, readable by its owner only; replaces an existing file.
  func create(_ name: String) throws(TransferError) -> FileHandle {
    let path = "\(directory)/\(name)"
    let kind: FileSystem.Kind?
    do throws(LMDBError) {
      kind = try FileSystem.kind(path)
    } catch {
      throw TransferError(
        .invalidFile,
        "\(name) cannot be looked up in the directory for blobs (\(error.message)); choose another directory")
    }
    guard kind == nil || kind == .regularFile else {
      throw TransferError(
        .invalidFile, "\(name) in the directory for blobs is not a regular file; choose another directory")
    }
    do {
      return FileHandle(fileDescriptor: try NamedFile.create(path), closeOnDealloc: true)
    } catch .belongsToStore {
      throw Self.storeFile("\(name) in the directory for blobs")
    } catch {
      throw TransferError(
        .invalidFile,
        "\(name) cannot be created in the directory for blobs (\(error.reason)); \(error.advice)")
    }
  }
}

extension AttributeJSON.FileValue {
  /// Sets an attribute to the bytes of the file; they pass through in pieces.
  package func set(_ id: ObjectID, in transaction: inout WriteTransaction, below directory: String) throws {
    try set(id, to: try open(below: directory), in: &transaction)
  }

  /// Sets an attribute to the bytes of the file, which is open.
  func set(_ id: ObjectID, to opened: TransferFiles.OpenFile, in transaction: inout WriteTransaction) throws {
    do {
      try transaction.setData(id, path) { writer in
        try TransferFiles.read(opened) { try writer.append($0) }
      }
    } catch let error as TransferError {
      throw named(error)
    }
  }

  /// Opens the file, if it has the size that the line gives.
  func open(below directory: String) throws(TransferError) -> TransferFiles.OpenFile {
    do throws(TransferError) {
      let opened = try TransferFiles(directory: directory).open(file)
      if let size, size != opened.byteCount {
        throw TransferError(.invalidFile, "the file has \(opened.byteCount) bytes instead of \(size)")
      }
      return opened
    } catch {
      throw named(error)
    }
  }

  /// The error with the attribute's path.
  private func named(_ error: TransferError) -> TransferError {
    TransferError(error.kind, "\(path): \(error.reason)", property: path)
  }
}
