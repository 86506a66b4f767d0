import Foundation
import KVCloneCore
import KVCloneCoreData
import KVCloneLMDB
import KVCloneModel
import Synchronization

/// One export: its progress, cancellation, and output.
final class ExportRun: Sendable {
  private struct Written {
    var blobCount = 0
    var blobByteCount: UInt64 = 0
    var textByteCount: UInt64 = 0
    var lastReport: ContinuousClock.Instant?
  }

  private static let pause = Duration.milliseconds(50)

  private let path: String
  private let progress: (@Sendable (OperationProgress) -> Void)?
  private let cancellation: Cancellation?
  private let written = Mutex(Written())

  init(_ path: String, _ progress: (@Sendable (OperationProgress) -> Void)?, _ cancellation: Cancellation?) {
    self.path = path
    self.progress = progress
    self.cancellation = cancellation
  }

  func export(_ transaction: borrowing ReadTransaction) throws(StoreError) -> ExportResult {
    let start = ContinuousClock.now
    let (model, uuid, totalCount) = try transaction._withSession { (session) throws(StoreError) in
      (session.schema.model, session.storeUUID, try StoreLimits.objectCount(in: session))
    }
    let folder = try Self.files(path) { () throws(LMDBError) in try UnfinishedFolder(for: path) }
    let bundle = Self.fileName(model.name) + ".xcdatamodeld"
    let place = folder.path
    let dump: DumpResult
    do {
      try check()
      // First, to fail before anything large is written if no file can contain the model.
      try write(Self.named(model), to: "\(place)/\(bundle)")
      dump = try writeObjects(transaction, place, totalCount)
      let text = ExportReadme.text(model: model, bundle: bundle, store: uuid, dump: dump, written.withLock(\.blobCount))
      try write(text, to: "\(place)/README.txt")
      report(.sync, dump.objectCount, totalCount, isDue: true)
    } catch {
      throw storeError(error)
    }
    try check()
    do throws(LMDBError) { try folder.publish() } catch { throw Self.storeError(error, path) }
    let result = written.withLock { $0 }
    return ExportResult(
      modelBundle: bundle, modelVersion: model.versionIdentifier, modelHash: model.modelHash.hex,
      objectCount: dump.objectCount, counts: dump.counts, blobCount: result.blobCount,
      blobByteCount: result.blobByteCount, byteCount: result.textByteCount + result.blobByteCount,
      duration: ContinuousClock.now - start)
  }

  // MARK: Files

  private func writeObjects(
    _ transaction: borrowing ReadTransaction, _ place: String, _ totalCount: Int
  ) throws -> DumpResult {
    try Self.files(path) { () throws(LMDBError) in try FileSystem.createDirectory("\(place)/blobs") }
    let handle = try Self.create("\(place)/objects.ndjson")
    defer { try? handle.close() }
    var options = DumpOptions()
    options.blobsDirectory = "\(place)/blobs"
    options.blobsPath = "blobs"
    options.progress = { self.report(.objects, $0, totalCount) }
    options.onBlobFile = { isNew, byteCount in
      self.written.withLock { written in
        if isNew { written.blobCount += 1 }
        written.blobByteCount += UInt64(byteCount)
      }
      try self.check()
    }
    return try DumpRun.dump(transaction, options) { piece in
      try check()
      written.withLock { $0.textByteCount += UInt64(piece.byteCount) }
      try piece.withUnsafeBytes { try handle.write(contentsOf: Data($0)) }
    }
  }

  /// Writes the model's bundle, for its owner alone like everything else.
  private func write(_ model: ManagedObjectModel, to path: String) throws {
    let files = try model.bundleFiles(path)
    try Self.files(path) { () throws(LMDBError) in
      try FileSystem.createDirectory(path)
      try FileSystem.createDirectory("\(path)/\(files.version)")
    }
    try write(files.contents, to: "\(path)/\(files.version)/contents")
    try write(files.current, to: "\(path)/.xccurrentversion")
  }

  private func write(_ text: String, to path: String) throws {
    let handle = try Self.create(path)
    defer { try? handle.close() }
    try handle.write(contentsOf: Data(text.utf8))
    written.withLock { $0.textByteCount += UInt64(text.utf8.count) }
  }

  private static func create(_ path: String) throws(StoreError) -> FileHandle {
    do {
      return FileHandle(fileDescriptor: try NamedFile.create(path), closeOnDealloc: true)
    } catch {
      if case .system(let code) = error { throw SystemError(code: code).storeError("\(path) cannot be created") }
      throw StoreError(.io, "\(path) cannot be created (\(error.reason)); \(error.advice)")
    }
  }

  /// A valid file name for a bundle on any disk.
  static func fileName(_ name: String) -> String {
    var result = ""
    for character in name where result.utf8.count + character.utf8.count <= 200 {
      let isUsable =
        character != "/" && character.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
      result.append(isUsable ? character : "-")
    }
    return result.isEmpty ? "Model" : result
  }

  /// The model with a version name that is valid for a folder.
  private static func named(_ model: ManagedObjectModel) -> ManagedObjectModel {
    let version = fileName(model.versionIdentifier)
    if version == model.versionIdentifier { return model }
    return ManagedObjectModel(
      name: model.name, versionIdentifier: version, entities: model.entities, composites: model.composites,
      configurations: model.configurations, fetchRequestTemplates: model.fetchRequestTemplates)
  }

  // MARK: Progress and errors

  private func report(_ phase: OperationProgress.Phase, _ count: Int, _ totalCount: Int, isDue: Bool = false) {
    guard let progress else { return }
    let now = ContinuousClock.now
    let isTold = written.withLock { written in
      if !isDue, let last = written.lastReport, now - last < Self.pause { return false }
      written.lastReport = now
      return true
    }
    if isTold { progress(OperationProgress(phase: phase, completed: count, total: max(count, totalCount))) }
  }

  private func check() throws(StoreError) {
    if cancellation?.isCancelled == true {
      throw StoreError(.cancelled, "the export was cancelled; its partial output was removed")
    }
  }

  private static func files<R: ~Copyable>(
    _ path: String, _ body: () throws(LMDBError) -> R
  ) throws(StoreError) -> R {
    do throws(LMDBError) { return try body() } catch { throw storeError(error, path) }
  }

  private static func storeError(_ error: LMDBError, _ path: String) -> StoreError {
    switch error {
    case .storeExists:
      StoreError(.fileExists, "\(path) already exists; choose another path")
    default: StoreError(error)
    }
  }

  /// Converts an error.
  private func storeError(_ error: any Error) -> StoreError {
    switch error {
    case let error as StoreError: error
    case let error as ModelFileError:
      StoreError(
        .invalidModel, "the model cannot be exported: \(error.description)", entity: error.entity,
        property: error.property)
    case let error as any KVCloneError:
      StoreError(.io, error.message, entity: error.entity, property: error.property, object: error.object)
    default:
      SystemError(error)?.storeError("the export cannot be written; its partial output was removed")
        ?? StoreError(.io, "the export cannot be written (\(error.localizedDescription)); check the disk")
    }
  }
}
