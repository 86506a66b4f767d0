#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Dispatch
package import KVCloneCore

/// One load of a text into a store.
package struct LoadRun {
  private let store: ObjectStore
  private let session: LoadSession
  /// The directory for unnamed temporary files: on the disk of the store, which may have been moved since it was
  /// opened.
  private let directory: String

  package init(_ store: ObjectStore, _ options: LoadOptions) throws {
    try store.options.requireWritable(store.path)
    self.store = store
    directory = store.engine.files?.currentDirectory ?? FileManager.default.temporaryDirectory.path
    session = LoadSession(
      model: store.model, modelHash: try StoreInfo(of: store).modelHash, options: options, directory: directory)
  }

  /// Loads a text. It is spooled while the write lock is not held.
  func load(from source: (inout [UInt8]) throws -> Bool) throws -> LoadResult {
    let spool = try LoadSpool(directory: directory)
    var isFirst = true
    while true {
      let lines: Int
      do {
        lines = try spool.fill(
          upTo: session.options.batch ?? .max, from: source, progress: session.options.spoolProgress,
          checkFirstLine: session.parser.checkHeader(ahead:))
      } catch {
        session.options.commitObserver?(.failed)
        throw session.transferError(error)
      }
      // An empty text is still a load: a read-only store rejects it.
      if lines == 0, !isFirst { return session.result }
      isFirst = false
      if session.readsAhead {
        try session.readAhead { buffer in try spool.read(into: &buffer) }
        spool.rewind()
      }
      if try !loadBatch(from: spool) { return session.result }
    }
  }

  /// Loads a file. A regular one is read while the write lock is held; anything else is spooled.
  static func load(
    contentsOf path: String, _ options: LoadOptions, into store: ObjectStore
  ) throws -> LoadResult {
    let file = try LoadFile(path, options)
    let run = try LoadRun(store, file.options)
    return try file.isRegular
      ? run.loadRegularFile(from: file.next, rewind: file.rewind) : run.load(from: file.next)
  }

  /// Loads a file from asynchronous code, in the order of the writer queue. Anything but a regular file is spooled
  /// completely before that, so that other asynchronous writes do not wait for it.
  package static func loadInTurn(
    contentsOf path: String, _ options: LoadOptions, into store: ObjectStore
  ) async throws -> LoadResult {
    let file = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<LoadFile, any Error>) in
      DispatchQueue(label: "KVClone.load").async {
        continuation.resume(
          with: Result {
            let file = try LoadFile(path, options)
            if !file.isRegular { file.spool = try LoadRun(store, file.options).spool(file) }
            return file
          })
      }
    }
    return try await store.onWriterQueue {
      try LoadRun(store, file.options).loadRegularFile(from: file.next, rewind: file.rewind)
    }
  }

  private func spool(_ file: LoadFile) throws -> LoadSpool {
    let spool = try LoadSpool(directory: directory)
    do {
      _ = try spool.fill(
        upTo: .max, from: file.next, progress: file.options.spoolProgress,
        checkFirstLine: session.parser.checkHeader(ahead:))
    } catch {
      throw session.transferError(error)
    }
    return spool
  }

  /// Loads the bytes of a regular file. They are read while the write lock is held, and are only spooled if lines may
  /// have to be read again.
  ///
  /// - Parameters:
  ///   - source: appends the next bytes; returns false at the end.
  ///   - rewind: returns to the first of them.
  package func loadRegularFile(
    from source: (inout [UInt8]) throws -> Bool, rewind: () throws -> Void
  ) throws -> LoadResult {
    if session.options.skipsBroken { return try load(from: source) }
    if session.readsAhead {
      try session.readAhead(source)
      try rewind()
    }
    try ParsedLines.read(&session.reader, from: source, session.parser) { lines in
      while try loadBatch({ transaction in try session.loadBatch(&transaction, from: lines) }) {}
    }
    return session.result
  }

  /// Loads a spooled batch, again without the lines that were found to be broken; returns false after the last batch.
  private func loadBatch(from spool: LoadSpool) throws -> Bool {
    while true {
      do {
        return try loadBatch { transaction in try session.loadSpooled(&transaction, from: spool) }
      } catch is LoadRestart {
        spool.rewind()
        session.restartBatch()
      }
    }
  }

  /// Loads one batch in a transaction; returns false after the last batch.
  private func loadBatch(_ body: (inout WriteTransaction) throws -> Bool) throws -> Bool {
    let observer = session.options.commitObserver
    let hasMore: Bool
    do {
      hasMore = try store.runWrite(label: "load", timeout: nil) { transaction in
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
    observer?(
      .succeeded(
        objectCount: session.committedCount, skips: session.options.skipsBroken ? LoadSkips(session.result) : nil))
    return hasMore
  }
}
