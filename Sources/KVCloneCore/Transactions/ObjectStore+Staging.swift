public import KVCloneModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension ObjectStore {
  /// Uploads a blob from a slow source without holding the write lock, see ``StagedBlob``.
  ///
  /// The bytes are written in chunks, each in a short write transaction. ``WriteTransaction/setData(_:_:_:)`` later
  /// makes them the value of an attribute.
  ///
  /// ```swift
  /// let image = try store.stageBlob { writer in
  ///   while let piece = try connection.read() { try writer.append(piece) }
  /// }
  /// try store.write { tx in try tx.setData(photo, "image", image) }
  /// ```
  ///
  /// The call uses a few MiB of memory for any length. The bytes are invisible to readers until they are a value. Bytes
  /// that never become a value are deleted later.
  ///
  /// - Parameters:
  ///   - timeout: the maximum wait of each short transaction for another writer; nil for ``StoreOptions/busyTimeout``.
  ///   - source: appends the bytes. It runs outside any transaction. Do not call `stageBlob` inside a transaction.
  /// - Returns: the staged upload.
  /// - Throws: the error of `source`; `busy`, `nestedWrite`, `closed`, and errors of the file system. Nothing of the
  ///   upload remains then.
  @available(*, noasync, message: "use stageBlob(from:)")
  public func stageBlob(timeout: Duration? = nil, _ source: (inout BlobUploader) throws -> Void) throws -> StagedBlob {
    let upload = StagingUpload()
    do {
      var writer = BlobUploader(upload) { try self.writeStaged($0, timeout) }
      try source(&writer)
      return try finish(upload, timeout)
    } catch {
      abandon(upload)
      throw error
    }
  }

  /// Uploads a blob from an asynchronous sequence, like the synchronous form.
  ///
  /// - Parameters:
  ///   - source: chunks of any length, as `Data` or arrays of bytes.
  ///   - timeout: the maximum wait of each short transaction for another writer; nil for ``StoreOptions/busyTimeout``.
  /// - Returns: the staged upload.
  /// - Throws: the error of `source`; `CancellationError`; `busy`, `closed`, and errors of the file system.
  public func stageBlob<Source: AsyncSequence>(from source: Source, timeout: Duration? = nil) async throws -> StagedBlob
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
            try await onWriterQueue(upload) { try self.writeStaged($0, timeout) }
          }
          if offset == count { break }
        }
      }
      return try await onWriterQueue(upload) { try self.finish($0, timeout) }
    } catch {
      await onWriterQueue(upload) { self.abandon($0) }
      throw error
    }
  }

  /// Lends an upload to the thread that asynchronous writes run on, and waits for it.
  private func onWriterQueue<R: Sendable>(
    _ upload: StagingUpload, _ body: @escaping @Sendable (StagingUpload) throws -> R
  ) async throws -> R {
    // Only one of the two threads touches it: this one waits.
    nonisolated(unsafe) let upload = upload
    return try await withCheckedThrowingContinuation { continuation in
      writerQueue.async { continuation.resume(with: Result { try body(upload) }) }
    }
  }

  private func onWriterQueue(_ upload: StagingUpload, _ body: @escaping @Sendable (StagingUpload) -> Void) async {
    nonisolated(unsafe) let upload = upload
    await withCheckedContinuation { continuation in
      writerQueue.async {
        body(upload)
        continuation.resume()
      }
    }
  }

  /// Writes the chunks that an upload has in memory.
  private func writeStaged(_ upload: StagingUpload, _ timeout: Duration?) throws {
    do {
      try onceMoreIfMapFull { try tryToWriteStaged(upload, timeout) }
    } catch {
      upload.failure = error
      throw error
    }
  }

  private func tryToWriteStaged(_ upload: StagingUpload, _ timeout: Duration?) throws {
    var begun: PendingBlob?
    do {
      let blob = try runWrite(label: "stage blob", timeout: timeout) { transaction in
        begun = try transaction.changeObjects { (session) throws(StoreError) in
          try BlobStaging.write(upload, stagers, in: &session)
        }
        return begun
      }
      if let blob { upload.noteWritten(blob) }
    } catch {
      // The commit failed: the blob did not come into being.
      if upload.blob == nil, let begun { stagers.release(begun.stager) }
      throw error
    }
  }

  private func finish(_ upload: StagingUpload, _ timeout: Duration?) throws -> StagedBlob {
    if let failure = upload.failure { throw failure }
    if let data = upload.inlineData {
      return StagedBlob(.inline(data), byteCount: upload.byteCount, self)
    }
    if !upload.chunks.isEmpty { try writeStaged(upload, timeout) }
    guard var blob = upload.blob else { throw BlobStaging.gone }
    blob.info = upload.completeInfo()
    upload.blob = nil
    return StagedBlob(.blob(blob), byteCount: upload.byteCount, self)
  }

  /// Deletes what an upload has written. What cannot be deleted now is swept later.
  private func abandon(_ upload: StagingUpload) {
    guard let blob = upload.blob else { return }
    defer { stagers.release(blob.stager) }
    try? runWrite(label: "drop staged blob", timeout: .zero) { transaction in
      try transaction.changeObjects { (session) throws(StoreError) in
        var limit = BlobStaging.sweepLimit
        _ = try BlobStaging.delete(blob.serial, &limit, in: &session)
      }
    }
  }

  /// Sweeps what uploads of the past have left behind, in short transactions. Never in anybody's way: what cannot be swept
  /// now is left for the next time.
  package func sweepStaged() {
    if options.isReadOnly { return }
    do {
      var isLeft = false
      try BlobStaging.forEach(in: readSession()) { (_, stager) throws(StoreError) in
        isLeft = try stagers.isGone(stager)
        return !isLeft
      }
      while isLeft {
        isLeft = try runWrite(label: "delete staged blobs", timeout: .zero) { transaction in
          try transaction.changeObjects { (session) throws(StoreError) in try BlobStaging.sweep(stagers, in: &session) }
        }
      }
    } catch {
      let reason = (error as? StoreError)?.message ?? ""
      options.logger?.notice("bytes of abandoned staged uploads could not be deleted", metadata: ["error": "\(reason)"])
    }
  }
}

extension WriteTransaction {
  /// Sets a binary or transformable attribute to a staged upload.
  ///
  /// The bytes become a value when this transaction commits, and stay staged if it rolls back. Using the upload again
  /// shares its bytes.
  ///
  /// - Throws: `objectNotFound` if the object does not exist, or if the upload no longer exists because its store was
  ///   closed or the last object with it was deleted; `wrongType` for attributes that are not binary, and for an upload
  ///   of another store.
  public mutating func setData(_ id: ObjectID, _ attribute: String, _ staged: StagedBlob) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in
      guard staged.floor === session.serialFloor else {
        throw StoreError(
          .wrongType, "the upload was staged in another store, or before this one was opened; stage it again",
          property: attribute)
      }
      try BlobAssignment.setData(id, attribute, staged, in: &session)
    }
  }
}
