import Foundation
import KVCloneCoreData
import KVCloneLMDB
import KVCloneModel

/// An open Core Data store, with the model for reading it.
struct CoreDataImportSource {
  let file: SQLiteFile
  let layout: CoreDataLayout
  let external: CoreDataExternalFiles
  private let omissions: [String]?
  private let stamps: [Stamp?]
  private let path: String

  /// The state of a database file, to detect concurrent writes, creation and removal.
  private struct Stamp: Equatable {
    let byteCount: UInt64
    let modified: Date
    let number: UInt64

    init?(_ path: String) {
      guard let facts = try? FileManager.default.attributesOfItem(atPath: path),
        let modified = facts[.modificationDate] as? Date
      else { return nil }
      byteCount = (facts[.size] as? NSNumber)?.uint64Value ?? 0
      self.modified = modified
      number = (facts[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0
    }

    static func all(_ path: String) -> [Stamp?] { ["", "-wal", "-journal"].map { Stamp(path + $0) } }
  }

  /// - Parameter isCancelled: called for every page and row that is read.
  /// - Throws: ``CoreDataImportError``; ``StoreError``: `cancelled`.
  init(_ given: String, _ options: CoreDataImportOptions, _ isCancelled: @escaping () -> Bool) throws {
    // Its other files are next to the file itself.
    let path = URL(fileURLWithPath: given).resolvingSymlinksInPath().path
    self.path = path
    stamps = Stamp.all(path)
    do {
      guard let main = try Self.open(path) else {
        throw CoreDataImportError(.unreadableDatabase, "\(given) does not exist; check the path")
      }
      file = try SQLiteFile(
        main, log: try Self.open(path + "-wal"), journal: try Self.open(path + "-journal"), isCancelled: isCancelled)
      let store = try CoreDataStore(file)
      external = CoreDataExternalFiles(besideDatabase: path)
      let model: ManagedObjectModel
      if let given = options.model {
        model = given
        omissions = nil
      } else {
        let archived = try store.storedModel(name: URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent)
        model = archived.model
        omissions = archived.omitted
      }
      try Self.validate(model)
      layout = try CoreDataLayout(store, model, isModelComplete: omissions == nil)
    } catch {
      throw CoreDataImportError.translated(error)
    }
  }

  /// Throws `changedDatabase` if the database was written since it was opened: a write-ahead log may be written, and
  /// copied into the database, without a trace in what was read at first.
  func requireUnchanged() throws {
    try file.requireUnchanged()
    if Stamp.all(path) == stamps { return }
    throw Self.changed
  }

  private static let changed = CoreDataImportError(
    .changedDatabase,
    "the database changed during the import; quit the app, or copy the file with its -wal and import the copy")

  /// Converts an error of reading. Apparent corruption may be a concurrent write.
  func translated(_ error: any Error) -> any Error {
    let error = CoreDataImportError.translated(error)
    guard let known = error as? CoreDataImportError, known.kind == .corruptedDatabase else { return error }
    return (try? requireUnchanged()) == nil ? Self.changed : error
  }

  private static func validate(_ model: ManagedObjectModel) throws(CoreDataImportError) {
    do {
      _ = try model.validate()
    } catch {
      throw CoreDataImportError(
        .unreadableModel, "the model is unusable: \(error)", entity: error.entity, property: error.property)
    }
  }

  /// Returns nil if the file does not exist. Follows no links: the link of the given path is already resolved, and the
  /// log is in the same directory.
  private static func open(_ path: String) throws(CoreDataImportError) -> SQLiteHandle? {
    do throws(LMDBError) {
      if try !FileSystem.exists(path) { return nil }
    } catch {
      // An existing log would be ignored, with its transactions.
      throw CoreDataImportError(
        .unreadableDatabase,
        "the existence of \(path) cannot be determined (\(error.message)); try again, or import a copy")
    }
    let url = URL(fileURLWithPath: path)
    do {
      let folder = TransferFiles(directory: url.deletingLastPathComponent().path)
      return SQLiteHandle(try folder.open(url.lastPathComponent).handle)
    } catch {
      throw CoreDataImportError(
        .unreadableDatabase, "\(path) cannot be read (\(error.reason)); give the path of the .sqlite file")
    }
  }

  /// The report before a row is read.
  func report() -> CoreDataImportReport {
    var report = CoreDataImportReport()
    report.modelName = layout.model.name
    report.modelVersion = layout.model.versionIdentifier
    report.isStoredModel = omissions != nil
    report.modelOmissions = omissions ?? []
    if omissions != nil {
      for hierarchy in layout.hierarchies {
        for entity in hierarchy.entities.values {
          report.externalAttributes += entity.attributes.filter(\.isExternal).map {
            "\(entity.name).\($0.description.name)"
          }
        }
      }
      report.externalAttributes.sort()
    }
    report.omissions = layout.leftOut.map { CoreDataOmission(name: $0.name, reason: $0.reason) }
    return report
  }
}
