#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Dispatch
public import KVCloneCore

extension ObjectStore {
  /// Inserts and links the objects of an NDJSON text. Ids in the text connect its lines; the store allocates new ids.
  ///
  /// An id `"@Note/12"` in a relationship refers to an object that is already in the store. Without
  /// ``LoadOptions/batch``, the load is one write transaction, so it loads all lines or nothing.
  ///
  /// The write lock is never held while `source` is called. The text is first spooled to an unnamed temporary file in
  /// the directory of the store: all of it, or with ``LoadOptions/batch`` one batch at a time. The disk therefore needs
  /// space for the text in addition to the store. The file is removed when the load ends, with or without an error. It
  /// does not count against ``StoreOptions/maximumFileBytes``.
  ///
  /// - Parameters:
  ///   - options: the batch size, the header check and the progress closures.
  ///   - source: appends the next bytes of the text to the array, and returns false at its end. It runs outside of
  ///     transactions.
  /// - Returns: the number of inserted objects, and their ids.
  /// - Throws: ``TransferError`` with the line; ``StoreError`` for errors of the store, including `diskFull` if the
  ///   spooled text would leave less than a sixteenth of the disk, or 64 MiB, free; errors of `source`.
  @available(*, noasync)
  public func load(
    _ options: LoadOptions = LoadOptions(), from source: (inout [UInt8]) throws -> Bool
  ) throws -> LoadResult {
    let session = try beginLoad(options)
    let spool = try LoadSpool(directory: scratchDirectory)
    var isFirst = true
    while true {
      let lines: Int
      do {
        lines = try spool.fill(
          upTo: options.batch ?? .max, from: source, progress: options.spoolProgress,
          checkFirstLine: session.parser.checkHeader(ahead:))
      } catch {
        options.commitObserver?(.failed)
        throw session.transferError(error)
      }
      // An empty text is still a load: a store that may not be written refuses it.
      if lines == 0, !isFirst { return session.result }
      isFirst = false
      if try !loadBatch(session, from: spool) { return session.result }
    }
  }

  /// Loads the objects of an NDJSON file. `{"file":"…"}` values are relative to the directory of the file.
  ///
  /// A regular file is read while the write lock is held. Anything else, such as a named pipe, is spooled first, as in
  /// ``load(_:from:)``, and with ``LoadOptions/skipsBroken`` a regular file, too.
  ///
  /// - Returns: the number of inserted objects, and their ids.
  /// - Throws: ``TransferError`` with the line; ``StoreError`` for errors of the store.
  @available(*, noasync)
  public func load(contentsOf path: String, options: LoadOptions = LoadOptions()) throws -> LoadResult {
    let file = try LoadFile(path, options)
    return try file.isRegular ? loadRegularFile(file.options, from: file.next) : load(file.options, from: file.next)
  }

  /// Loads a file from asynchronous code, when the turn of this write comes. Anything but a regular file is spooled
  /// whole before that, so that other asynchronous writes do not wait for it.
  package func loadInTurn(contentsOf path: String, options: LoadOptions) async throws -> LoadResult {
    let file = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<LoadFile, any Error>) in
      DispatchQueue(label: "KVClone.load").async {
        continuation.resume(
          with: Result {
            let file = try LoadFile(path, options)
            if !file.isRegular { file.spool = try self.spool(file) }
            return file
          })
      }
    }
    return try await onWriterQueue { try self.loadRegularFile(file.options, from: file.next) }
  }

  private func spool(_ file: LoadFile) throws -> LoadSpool {
    let session = try beginLoad(file.options)
    let spool = try LoadSpool(directory: scratchDirectory)
    do {
      _ = try spool.fill(
        upTo: .max, from: file.next, progress: file.options.spoolProgress,
        checkFirstLine: session.parser.checkHeader(ahead:))
    } catch {
      throw session.transferError(error)
    }
    return spool
  }

  /// As ``load(_:from:)``, for the bytes of a regular file: they are read while the write lock is held, and not
  /// spooled.
  @available(*, noasync)
  package func loadRegularFile(_ options: LoadOptions, from source: (inout [UInt8]) throws -> Bool) throws -> LoadResult
  {
    // Lines may be needed again.
    if options.skipsBroken { return try load(options, from: source) }
    let session = try beginLoad(options)
    try ParsedLines.read(&session.reader, from: source, session.parser) { lines in
      while try loadBatch(session, { transaction in try session.loadBatch(&transaction, from: lines) }) {}
    }
    return session.result
  }

  private func beginLoad(_ options: LoadOptions) throws -> LoadSession {
    try requireWritable()
    return LoadSession(model: model, modelHash: try info().modelHash, options: options, directory: scratchDirectory)
  }

  /// Where files without a name are made: they share the disk with the store, which may have been moved while it is
  /// open. Stores without a directory have them in the one for temporary files.
  private var scratchDirectory: String {
    engine.files?.currentDirectory ?? FileManager.default.temporaryDirectory.path
  }

  /// Loads a batch that was spooled; false when that was the last one. Without the lines that were found to be broken,
  /// it is loaded again.
  private func loadBatch(_ session: LoadSession, from spool: LoadSpool) throws -> Bool {
    while true {
      do {
        return try loadBatch(session) { transaction in try session.loadSpooled(&transaction, from: spool) }
      } catch is LoadRestart {
        spool.rewind()
        session.restartBatch()
      }
    }
  }

  /// Loads one batch in a transaction; false when that was the last one.
  private func loadBatch(
    _ session: LoadSession, _ body: (inout WriteTransaction) throws -> Bool
  ) throws -> Bool {
    let observer = session.options.commitObserver
    let hasMore: Bool
    do {
      hasMore = try runWrite(label: "load", timeout: nil) { transaction in
        transaction.operation = "load"
        let hasMore = try body(&transaction)
        observer?(.begins)
        return hasMore
      }
    } catch {
      observer?(.failed)
      throw session.transferError(error)
    }
    session.endBatch()
    observer?(.succeeded(objectCount: session.committedCount))
    return hasMore
  }
}
