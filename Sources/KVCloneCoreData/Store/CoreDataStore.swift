import Foundation

/// An SQLite store of Core Data: its entities by number, and the model that it contains.
package struct CoreDataStore {
  /// One row of Z_PRIMARYKEY.
  package struct EntityRow: Hashable, Sendable {
    package let number: Int64
    package let name: String
    package let parent: Int64
    /// The greatest Z_PK that was ever assigned; only that of roots counts.
    package let maximum: Int64
  }

  /// The first number of Core Data's own entities: the history of changes.
  package static let firstHistoryNumber: Int64 = 16_001
  /// The first number of the entities of CloudKit mirroring.
  package static let firstCloudNumber: Int64 = 17_001
  /// The maximum number of entities.
  private static let entityLimit = 20_000
  /// The maximum size of a model, compressed or not: some thirty times those of the largest that is known.
  private static let modelLimit = 16 << 20

  package let file: SQLiteFile
  /// The app's own entities.
  package let entities: [EntityRow]
  /// Core Data's own.
  package let internalEntities: [EntityRow]

  /// - Throws: `SQLiteError`, `CoreDataStoreError`.
  package init(_ file: SQLiteFile) throws {
    guard let table = try file.table("Z_PRIMARYKEY"), let number = table.column("Z_ENT"),
      let name = table.column("Z_NAME"), let parent = table.column("Z_SUPER"), let maximum = table.column("Z_MAX")
    else {
      throw CoreDataStoreError(
        .notACoreDataStore,
        "the database has no valid table Z_PRIMARYKEY; use a Core Data store")
    }
    var rows: [EntityRow] = []
    let scan = try SQLiteScan(file, table)
    while try scan.next() {
      guard case .integer(let entity) = try scan.value(number), case .text(let text) = try scan.value(name),
        rows.count < Self.entityLimit, text.isPlainName
      else {
        throw CoreDataStoreError(
          .notACoreDataStore, "Z_PRIMARYKEY has an invalid row; check the file")
      }
      var (above, greatest): (Int64, Int64) = (0, 0)
      if case .integer(let value) = try scan.value(parent) { above = value }
      if case .integer(let value) = try scan.value(maximum) { greatest = value }
      rows.append(EntityRow(number: entity, name: text, parent: above, maximum: greatest))
    }
    self.file = file
    entities = rows.filter { $0.number < Self.firstHistoryNumber }
    internalEntities = rows.filter { $0.number >= Self.firstHistoryNumber }
  }

  /// Decodes the model in the store.
  ///
  /// - Parameter name: the model's name, which the store does not contain.
  /// - Throws: `modelMissing`, `unreadableModel`; of `SQLiteError`, what reading throws, and `cancelled`.
  package func storedModel(name: String) throws -> ArchivedModel {
    let advice =
      "give the model of the app's version that wrote the store: --model X.xcdatamodeld, or X.momd from the app's bundle"
    guard let table = try file.table("Z_MODELCACHE"), let column = table.column("Z_CONTENT") else {
      throw CoreDataStoreError(.modelMissing, "the store does not contain its model (no Z_MODELCACHE); \(advice)")
    }
    let scan = try SQLiteScan(file, table)
    guard try scan.next() else {
      throw CoreDataStoreError(.modelMissing, "the store does not contain its model (Z_MODELCACHE is empty); \(advice)")
    }
    var packed: [UInt8] = []
    try scan.readChunks(column) { piece in
      guard packed.count + piece.count <= Self.modelLimit else {
        throw CoreDataStoreError(.unreadableModel, "the model in the store exceeds the maximum size; \(advice)")
      }
      packed.append(contentsOf: piece)
    }
    let unreadable = CoreDataStoreError(.unreadableModel, "the model in the store cannot be read; \(advice)")
    let unpacked: [UInt8]
    do throws(Inflate.Malformed) {
      unpacked = try Inflate.bytes(of: packed, limit: Self.modelLimit)
    } catch {
      throw unreadable
    }
    let file = file
    do throws(ModelArchive.Problem) {
      return try ModelArchive.model(in: unpacked, name: name, isCancelled: { file.isCancelled() })
    } catch {
      try file.checkCancelled()
      if case .unsupported(let entity, let property, let reason) = error {
        throw CoreDataStoreError(
          .unreadableModel,
          "\(entity).\(property) \(reason); give the model's source instead: --model X.xcdatamodeld",
          entity: entity,
          property: property)
      }
      guard case .tooLarge(let entity) = error else { throw unreadable }
      let what = entity.map { "entity \($0), together with the preceding ones, has" } ?? "it has"
      throw CoreDataStoreError(
        .unreadableModel,
        "the model in the store exceeds the limits (\(what) more than a model may contain); \(advice)",
        entity: entity)
    }
  }
}
