import Foundation
import KVCloneCoreData
import KVCloneModel

/// An object as a row has it.
struct CoreDataRow {
  let entity: CoreDataLayout.Entity
  let key: Int64
  /// What is given here is set, nil included; other attributes have their defaults.
  var values: [String: AttributeValue?] = [:]
  /// Attributes whose bytes are too many to be handed over at once.
  var streams: [(attribute: String, stream: Stream)] = []
  /// By place in the hierarchy's to-one relationships: the target's key, and the place in its list.
  var targets: [(toOne: Int, key: Int64, order: Int64?)] = []

  enum Stream {
    /// Of the row's column, without the first bytes.
    case column(Int, skipping: Int)
    /// Of a file in the database's folder.
    case file(name: String, byteCount: UInt64)
  }

  var name: String { "\(entity.name)/\(key)" }
}

/// Reads a table's rows as objects.
struct CoreDataRows {
  let hierarchy: CoreDataLayout.Hierarchy
  /// Where the files of externally stored values are.
  let external: CoreDataExternalFiles
  /// Is asked what becomes of something broken: it throws, or notes it.
  let broken: (CoreDataImportError, _ isWholeObject: Bool) throws -> Void

  /// Keys above have no place in the tables of links.
  static let maximumKey = Int64(UInt32.max)

  /// The object of the scan's row; nil where there is none that can be taken over.
  func object(_ scan: SQLiteScan) throws -> CoreDataRow? {
    let root = hierarchy.root
    guard case .integer(let key) = try scan.value(hierarchy.keyColumn), key > 0, key <= Self.maximumKey else {
      try broken(
        CoreDataImportError(
          .invalidKey, "a row of \(hierarchy.table.name) has a Z_PK that no object can have; correct it", entity: root),
        true)
      return nil
    }
    guard case .integer(let number) = try scan.value(hierarchy.entityColumn), let entity = hierarchy.entities[number],
      !entity.isAbstract
    else {
      try broken(
        CoreDataImportError(
          .unknownEntity,
          "\(root)/\(key): its Z_ENT is no entity of \(root)'s table that has objects; correct or delete the row",
          entity: root,
          object: "\(root)/\(key)"), true)
      return nil
    }
    var row = CoreDataRow(entity: entity, key: key)
    var property = ""
    do {
      for attribute in entity.attributes {
        property = attribute.description.name
        guard try read(attribute, scan, into: &row) else { return nil }
      }
      for place in entity.toOnes {
        property = hierarchy.toOnes[place].description.name
        try readTarget(place, scan, into: &row)
      }
    } catch let error as SQLiteError {
      throw CoreDataImportError.named(error, row, property)
    }
    return row
  }

  private func failure(
    _ kind: CoreDataImportError.Kind, _ reason: String, _ row: CoreDataRow, _ property: String
  ) -> CoreDataImportError {
    CoreDataImportError(
      kind, "\(row.name) \(property): \(reason)", entity: row.entity.name, property: property, object: row.name)
  }

  /// The column that has the property's value.
  private func column(_ columns: [Int], _ scan: SQLiteScan, _ row: CoreDataRow, _ property: String) throws -> Int? {
    if columns.count == 1 { return columns[0] }
    var found: Int?
    for column in columns where try !scan.isNull(column) {
      if found != nil {
        try broken(
          failure(
            .ambiguousColumn, "two columns that could both be meant have a value; set the wrong one to NULL", row,
            property), false)
        return nil
      }
      found = column
    }
    return found
  }

  // MARK: Attributes

  /// False where the whole object is left out.
  private func read(_ attribute: CoreDataLayout.Attribute, _ scan: SQLiteScan, into row: inout CoreDataRow) throws
    -> Bool
  {
    let description = attribute.description
    if description.type == .composite {
      let elements = try composite(attribute, scan, row, path: description.name)
      // Its elements may have defaults, but the object has what it has.
      row.values[description.name] = .some(elements.isEmpty ? nil : .composite(elements))
      return true
    }
    var isPresent = false
    if let column = try column(attribute.columns, scan, row, description.name) {
      isPresent = try read(attribute, column, scan, into: &row)
    }
    if isPresent { return true }
    guard description.isOptional else {
      try broken(
        failure(
          .requiredValueMissing, "is required, and has no value; set one, or make it optional", row, description.name),
        true)
      return false
    }
    if description.defaultValue != nil { row.values[description.name] = .some(nil) }
    return true
  }

  /// False where the attribute is nil.
  private func read(
    _ attribute: CoreDataLayout.Attribute, _ column: Int, _ scan: SQLiteScan, into row: inout CoreDataRow
  ) throws -> Bool {
    let description = attribute.description
    let stored = try scan.value(column)
    if stored == .null { return false }
    if attribute.isExternal, try scan.front(column, 1) != nil {
      return try readExternal(attribute, column, stored, scan, into: &row)
    }
    if description.type == .binary, case .blob(let bytes) = stored, CoreDataValue.externalName(bytes) != nil {
      try broken(
        failure(
          .wrongType,
          "the name of an external file, and the model does not store the attribute externally; give "
            + "the model that wrote the store", row, description.name), false)
      return false
    }
    if case .longBlob = stored, description.type == .binary || description.type == .transformable {
      row.streams.append((description.name, .column(column, skipping: 0)))
      return true
    }
    do throws(CoreDataValue.Refusal) {
      row.values[description.name] = try CoreDataValue.value(stored, of: description)
      return true
    } catch {
      try broken(refusal(error, row, description.name), false)
      return false
    }
  }

  private func refusal(_ refusal: CoreDataValue.Refusal, _ row: CoreDataRow, _ property: String) -> CoreDataImportError
  {
    switch refusal {
    case .wrongType(let reason): failure(.wrongType, reason, row, property)
    case .outOfRange(let reason): failure(.outOfRange, reason, row, property)
    }
  }

  /// 01 and the bytes, or 02 and the name of a file; other bytes are values from before the attribute was stored externally.
  private func readExternal(
    _ attribute: CoreDataLayout.Attribute, _ column: Int, _ stored: SQLiteValue, _ scan: SQLiteScan,
    into row: inout CoreDataRow
  ) throws -> Bool {
    let name = attribute.description.name
    switch stored {
    case .longBlob:
      let first = try scan.front(column, 1)?.bytes.first
      if first != 2, first != 3 {
        row.streams.append((name, .column(column, skipping: first == 1 ? 1 : 0)))
        return true
      }
    case .blob(let bytes):
      if bytes.first != 2, bytes.first != 3 {
        row.values[name] = .binary(Data(bytes.first == 1 ? bytes[1...] : bytes[...]))
        return true
      }
      if let file = CoreDataValue.externalName(bytes) {
        do {
          row.streams.append((name, .file(name: file, byteCount: try external.byteCount(of: file))))
          return true
        } catch {
          try broken(failure(.invalidFile, external.advice(error.reason), row, name), false)
          return false
        }
      }
    default: break
    }
    try broken(
      failure(
        .wrongType, "a reference to its bytes of a kind that is not known here; let the app write the value again", row,
        name), false)
    return false
  }

  private func composite(
    _ attribute: CoreDataLayout.Attribute, _ scan: SQLiteScan, _ row: CoreDataRow, path: String
  ) throws -> [String: AttributeValue] {
    var result: [String: AttributeValue] = [:]
    for element in attribute.elements {
      let name = element.description.name
      let elementPath = "\(path).\(name)"
      if element.description.type == .composite {
        let inner = try composite(element, scan, row, path: elementPath)
        if !inner.isEmpty { result[name] = .composite(inner) }
        continue
      }
      guard let column = try column(element.columns, scan, row, elementPath) else { continue }
      var stored = try scan.value(column)
      if case .longBlob = stored {
        var bytes: [UInt8] = []
        try scan.readChunks(column) { bytes.append(contentsOf: $0) }
        stored = .blob(bytes)
      }
      do throws(CoreDataValue.Refusal) {
        if let value = try CoreDataValue.value(stored, of: element.description) { result[name] = value }
      } catch {
        try broken(refusal(error, row, elementPath), false)
      }
    }
    return result
  }

  // MARK: Relationships

  private func readTarget(_ place: Int, _ scan: SQLiteScan, into row: inout CoreDataRow) throws {
    let toOne = hierarchy.toOnes[place]
    let name = toOne.description.name
    guard let column = try column(toOne.columns, scan, row, name) else { return }
    switch try scan.value(column) {
    case .null: return
    case .integer(let key):
      var order: Int64?
      if let index = toOne.columns.firstIndex(of: column), let orderColumn = toOne.orderColumns[index],
        case .integer(let value) = try scan.value(orderColumn)
      {
        order = value
      }
      row.targets.append((place, key, order))
    default: try broken(failure(.wrongType, "something else than the key of a row", row, name), false)
    }
  }
}

extension SQLiteScan {
  func isNull(_ column: Int) throws -> Bool { try value(column) == .null }
}

/// The files of values that Core Data stores outside the database: only those in the folder that belongs to it.
struct CoreDataExternalFiles {
  private let files: TransferFiles
  /// Below the database's own folder.
  private let folder: String

  /// - Parameter path: of the database.
  init(besideDatabase path: String) {
    let url = URL(fileURLWithPath: path)
    files = TransferFiles(directory: url.deletingLastPathComponent().path)
    folder = ".\(url.deletingPathExtension().lastPathComponent)_SUPPORT/_EXTERNAL_DATA"
  }

  /// How many bytes a file has that can be read.
  func byteCount(of name: String) throws(TransferError) -> UInt64 { try files.open("\(folder)/\(name)").byteCount }

  /// Hands a file's bytes to `body` in pieces.
  ///
  /// - Throws: ``TransferError`` where it cannot be read to its end, or has another size than it had.
  func read(_ name: String, _ byteCount: UInt64, _ body: (Data) throws -> Void) throws {
    let file = try files.open("\(folder)/\(name)")
    guard file.byteCount == byteCount else {
      throw TransferError(.invalidFile, "the file was written while it was read; try again when nobody writes it")
    }
    try TransferFiles.read(file, body)
  }

  func advice(_ reason: String) -> String {
    "the file with its bytes cannot be read (\(reason)); copy the folder \(folder.split(separator: "/")[0]) along with the database"
  }
}
