#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Uploads blobs in short transactions of a store.
package struct BlobStaging {
  private let store: ObjectStore
  private let stagers: Stagers
  private let timeout: Duration?

  init(_ store: ObjectStore, timeout: Duration?) {
    self.store = store
    stagers = store.resource(Stagers.self)
    self.timeout = timeout
  }

  func stage(_ source: (inout BlobUploader) throws -> Void) throws -> StagedBlob {
    let upload = StagingUpload()
    do {
      var writer = BlobUploader(upload) { try write($0) }
      try source(&writer)
      return try finish(upload)
    } catch {
      abandon(upload)
      throw error
    }
  }

  func stage<Source: AsyncSequence>(from source: Source) async throws -> StagedBlob
  where Source.Element: ContiguousBytes {
    let upload = StagingUpload()
    do {
      for try await piece in source {
        var offset = 0
        while true {
          let (taken, count) = piece.withUnsafeBytes { (upload.take($0, from: offset), $0.count) }
          offset += taken
          if upload.isFull {
            try Task.checkCancellation()
            try await onWriterQueue(upload) { try write($0) }
          }
          if offset == count { break }
        }
      }
      return try await onWriterQueue(upload) { try finish($0) }
    } catch {
      try? await onWriterQueue(upload) { abandon($0) }
      throw error
    }
  }

  /// Runs `body` on an upload on the thread of asynchronous writes, and waits for it.
  private func onWriterQueue<R: Sendable>(
    _ upload: StagingUpload, _ body: @escaping @Sendable (StagingUpload) throws -> R
  ) async throws -> R {
    // Only one of the two threads uses it at a time: this one waits.
    nonisolated(unsafe) let upload = upload
    return try await withCheckedThrowingContinuation { continuation in
      store.writerQueue.async { continuation.resume(with: Result { try body(upload) }) }
    }
  }

  /// Writes the buffered chunks of an upload.
  private func write(_ upload: StagingUpload) throws {
    do {
      try retryIfMapFull { try tryToWrite(upload) }
    } catch {
      upload.failure = error
      throw error
    }
  }

  private func tryToWrite(_ upload: StagingUpload) throws {
    var begun: PendingBlob?
    do {
      let blob = try store.runWrite(label: "stage blob", timeout: timeout) { transaction in
        begun = try transaction.changeObjects { (session) throws(StoreError) in
          try PendingBlobs.write(upload, stagers, in: &session)
        }
        return begun
      }
      if let blob { upload.noteWritten(blob) }
    } catch {
      // The commit failed: the blob was not created.
      if upload.blob == nil, let begun { stagers.release(begun.stager) }
      throw error
    }
  }

  private func finish(_ upload: StagingUpload) throws -> StagedBlob {
    if let failure = upload.failure { throw failure }
    if let data = upload.inlineData {
      return StagedBlob(.inline(data), byteCount: upload.byteCount, store)
    }
    if !upload.chunks.isEmpty { try write(upload) }
    guard var blob = upload.blob else { throw PendingBlobs.gone }
    blob.info = upload.completeInfo()
    upload.blob = nil
    return StagedBlob(.blob(blob), byteCount: upload.byteCount, store)
  }

  /// Deletes the written chunks of an upload. Chunks that cannot be deleted now are swept later.
  private func abandon(_ upload: StagingUpload) {
    guard let blob = upload.blob else { return }
    defer { stagers.release(blob.stager) }
    try? store.runWrite(label: "drop staged blob", timeout: .zero) { transaction in
      try transaction.changeObjects { (session) throws(StoreError) in
        var limit = PendingBlobs.sweepLimit
        _ = try PendingBlobs.delete(blob.serial, &limit, in: &session)
      }
    }
  }

  /// Sweeps the remains of earlier uploads, in short transactions. It never blocks other work: what cannot be swept now
  /// is left for the next sweep.
  ///
  /// - Parameter read: reads something else in the transaction that looks for remains.
  package static func sweep(_ store: ObjectStore, _ read: (borrowing Session) -> Void = { _ in }) {
    let stagers = store.resource(Stagers.self)
    if store.options.isReadOnly { return }
    do {
      var isLeft = false
      let session = try store.readSession()
      read(session)
      try PendingBlobs.forEach(in: session) { (_, stager) throws(StoreError) in
        isLeft = try stagers.isGone(stager)
        return !isLeft
      }
      _ = consume session
      while isLeft {
        isLeft = try store.runWrite(label: "delete staged blobs", timeout: .zero) { transaction in
          try transaction.changeObjects { (session) throws(StoreError) in try PendingBlobs.sweep(stagers, in: &session)
          }
        }
      }
    } catch {
      let reason = (error as? StoreError)?.message ?? ""
      store.options.logger?.notice(
        "bytes of abandoned staged uploads could not be deleted", metadata: ["error": "\(reason)"])
    }
  }
}
