import Foundation
import KVCloneCore
import KVCloneCoreData
import KVCloneModel

/// An object as stored in a row.
struct CoreDataRow {
  let entity: CoreDataLayout.Entity
  let key: Int64
  /// The values to set, including nil; other attributes have their defaults.
  var values: [(attribute: String, value: AttributeValue?)] = []
  /// Attributes with too many bytes to be read at once.
  var streams: [(attribute: String, stream: Stream)] = []
  /// By index in the hierarchy's to-one relationships: the target's key, and the position in its list.
  var targets: [(toOne: Int, key: Int64, order: Int64?)] = []

  enum Stream {
    /// The row's column, without the first bytes.
    case column(Int, skipping: Int)
    /// A file in the database's folder.
    case file(name: String, byteCount: UInt64)
  }

  var name: String { "\(entity.name)/\(key)" }
}

/// Converts a table's rows to objects.
struct CoreDataRows {
  let hierarchy: CoreDataLayout.Hierarchy
  /// The files of externally stored values.
  let external: CoreDataExternalFiles
  /// Handles an error: throws it, or records it.
  let broken: (CoreDataImportError, _ isWholeObject: Bool) throws -> Void
  /// Records a lossy conversion.
  let converted: (CoreDataConversion) -> Void

  /// Larger keys do not fit the tables of links.
  static let maximumKey = Int64(UInt32.max)
  static let keyLimit = "ids keep the Z_PK, which must be from 1 to \(maximumKey)"

  /// The columns that are read of a row.
  enum Part {
    case all, attributes, links
  }

  /// The object in the scan's row; nil if it cannot be imported.
  func object(_ scan: SQLiteScan, _ part: Part) throws -> CoreDataRow? {
    let root = hierarchy.root
    guard case .integer(let key) = try scan.value(hierarchy.keyColumn), key > 0, key <= Self.maximumKey else {
      try broken(
        CoreDataImportError(
          .invalidKey,
          "row \(scan.rowID) of \(hierarchy.table.name): \(Self.keyLimit); --skip-broken imports the other rows, "
            + "without links to this one", entity: root, object: "\(root)/\(scan.rowID)"),
        true)
      return nil
    }
    guard case .integer(let number) = try scan.value(hierarchy.entityColumn), let entity = hierarchy.entities[number],
      !entity.isAbstract
    else {
      try broken(
        CoreDataImportError(
          .unknownEntity,
          "\(root)/\(key): its Z_ENT is not an entity with objects in the table of \(root); give the model that wrote "
            + "the store (--model), or import the other rows with --skip-broken", entity: root,
          object: "\(root)/\(key)"), true)
      return nil
    }
    var row = CoreDataRow(entity: entity, key: key)
    var property = ""
    do {
      for attribute in entity.attributes where part != .links {
        property = attribute.description.name
        try read(attribute, scan, into: &row)
      }
      for place in entity.toOnes where part != .attributes {
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

  /// The column with the property's value.
  private func column(_ columns: [Int], _ scan: SQLiteScan, _ row: CoreDataRow, _ property: String) throws -> Int? {
    if columns.count == 1 { return columns[0] }
    var found: Int?
    for column in columns where try !scan.isNull(column) {
      if found != nil {
        try broken(
          failure(
            .ambiguousColumn, "two columns that match the property have a value; \(Self.withoutValue)", row, property),
          false)
        return nil
      }
      found = column
    }
    return found
  }

  // MARK: Attributes

  /// The option that handles an unreadable value.
  private static let withoutValue = "--skip-broken imports the object without the value"

  private func read(_ attribute: CoreDataLayout.Attribute, _ scan: SQLiteScan, into row: inout CoreDataRow) throws {
    let description = attribute.description
    let name = description.name
    if description.type == .composite {
      let elements = try composite(attribute, scan, row, path: name)
      // Its elements may have defaults, but the stored object has nil.
      row.values.append((name, elements.isEmpty ? nil : .composite(elements)))
      return
    }
    guard let column = try column(attribute.columns, scan, row, name) else { return setMissing(description, &row) }
    if try scan.isNull(column) {
      if !description.isOptional {
        let remedy = description.defaultValue == nil ? "leaves it nil" : "gives it the model's default value"
        try broken(
          failure(
            .requiredValueMissing, "is required but NULL, which Core Data reads as nil; --skip-broken \(remedy)", row,
            name),
          false)
      }
      return setMissing(description, &row)
    }
    if try !read(attribute, column, scan, into: &row) { setMissing(description, &row) }
  }

  /// Sets nil, even if a new object would have a default value; if nil violates a rule, the default value.
  private func setMissing(_ description: AttributeDescription, _ row: inout CoreDataRow) {
    if description.defaultValue == nil { return }
    row.values.append((description.name, description.isOptional ? nil : description.defaultValue))
  }

  /// Returns false if the value is unreadable.
  private func read(
    _ attribute: CoreDataLayout.Attribute, _ column: Int, _ scan: SQLiteScan, into row: inout CoreDataRow
  ) throws -> Bool {
    let description = attribute.description
    if description.type == .binary || description.type == .transformable, let bytes = try StoredBytes(column, scan) {
      return try readBytes(attribute, column, bytes, scan, into: &row)
    }
    switch reading(try value(column, scan, of: description), of: description) {
    case .success(nil): return false
    case .success(let reading?):
      row.values.append((description.name, reading.value))
      note(reading, description.name, of: row)
      return true
    case .failure(let error):
      try broken(refusal(error, row, description.name), false)
      return false
    }
  }

  /// The value of a column. For a value with too many bytes, only the significant ones.
  private func value(
    _ column: Int, _ scan: SQLiteScan, of description: AttributeDescription
  ) throws -> SQLiteValue {
    let stored = try scan.value(column)
    guard case .longBlob(let count) = stored else { return stored }
    switch description.type {
    case .string, .uri, .binary, .transformable:
      guard count <= SQLiteScan.textLimit else { return .unreadableText(.length) }
      return .blob(try scan.front(column, count)?.bytes ?? [])
    default: return .blob(try scan.front(column, CoreDataValue.numberLimit)?.bytes ?? [])
    }
  }

  private func reading(
    _ stored: SQLiteValue, of description: AttributeDescription
  ) -> Result<CoreDataValue.Reading?, CoreDataValue.Refusal> {
    do throws(CoreDataValue.Refusal) {
      return .success(try CoreDataValue.reading(stored, of: description))
    } catch {
      return .failure(error)
    }
  }

  private func note(_ reading: CoreDataValue.Reading, _ property: String, of row: CoreDataRow) {
    if reading.isExact { return }
    converted(CoreDataConversion(entity: row.entity.name, property: property, object: row.name))
  }

  private func refusal(_ refusal: CoreDataValue.Refusal, _ row: CoreDataRow, _ property: String) -> CoreDataImportError
  {
    switch refusal {
    case .wrongType(let reason): failure(.wrongType, "\(reason); \(Self.withoutValue)", row, property)
    case .outOfRange(let reason): failure(.outOfRange, "\(reason); \(Self.withoutValue)", row, property)
    }
  }

  /// The bytes of a blob, or of a text: SQLite returns both.
  private struct StoredBytes {
    /// The first bytes, more than a reference has.
    let front: [UInt8]
    let byteCount: Int
    /// All bytes of a text; a blob's are read on demand.
    let text: [UInt8]?

    /// Nil if the column has neither.
    init?(_ column: Int, _ scan: SQLiteScan) throws {
      if let (bytes, count) = try scan.front(column, 2 * CoreDataValue.externalReferenceLength) {
        (front, byteCount, text) = (bytes, count, nil)
        return
      }
      var bytes: [UInt8] = []
      switch try scan.value(column) {
      case .text(let text): bytes = Array(text.utf8)
      case .unreadableText(.encoding): try scan.readChunks(column) { bytes += $0 }
      default: return nil
      }
      (front, byteCount, text) = (bytes, bytes.count, bytes)
    }
  }

  /// With external storage: 01 and the bytes, or 02 and the name of a file; other bytes are values from before the
  /// attribute was stored externally. Without, all bytes are the value, regardless of their content: the model decides.
  private func readBytes(
    _ attribute: CoreDataLayout.Attribute, _ column: Int, _ stored: StoredBytes, _ scan: SQLiteScan,
    into row: inout CoreDataRow
  ) throws -> Bool {
    let name = attribute.description.name
    let file = stored.byteCount == stored.front.count ? CoreDataValue.externalName(stored.front) : nil
    var skipped = 0
    if attribute.isExternal {
      switch stored.front.first {
      case 1: skipped = 1
      case 2, 3:
        if let file { return try readFile(file, name, into: &row) }
        try broken(
          failure(
            .wrongType,
            "the reference to its bytes has an unknown format; save the value again in the app, or "
              + "\(Self.withoutValue)",
            row, name), false)
        return false
      default: break
      }
    } else if attribute.description.type == .binary, let file, external.has(file) {
      // Only possible with a model that did not write the store.
      try broken(
        failure(
          .wrongType,
          "the value names an existing file, but the attribute has no external storage in the model; give the model "
            + "that wrote the store (--model), or \(Self.withoutValue)", row, name), false)
      return false
    }
    let bytes: Data
    if let text = stored.text {
      bytes = Data(text.dropFirst(skipped))
    } else if stored.byteCount > SQLiteScan.inlineLimit {
      row.streams.append((name, .column(column, skipping: skipped)))
      return true
    } else {
      bytes = Data((try scan.front(column, stored.byteCount)?.bytes ?? []).dropFirst(skipped))
    }
    row.values.append((name, attribute.description.type == .binary ? .binary(bytes) : .transformable(bytes)))
    return true
  }

  private func readFile(_ file: String, _ name: String, into row: inout CoreDataRow) throws -> Bool {
    do {
      row.streams.append((name, .file(name: file, byteCount: try external.byteCount(of: file))))
      return true
    } catch {
      try broken(failure(.invalidFile, external.advice(error.reason), row, name), false)
      return false
    }
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
      switch reading(try value(column, scan, of: element.description), of: element.description) {
      case .success(nil): break
      case .success(let reading?):
        result[name] = reading.value
        note(reading, elementPath, of: row)
      case .failure(let error): try broken(refusal(error, row, elementPath), false)
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
    default:
      try broken(
        failure(
          .wrongType, "the value is not the key of a row; --skip-broken imports the object without the link", row,
          name), false)
    }
  }
}

/// The files of values that Core Data stores outside the database: only those in the database's own folder.
struct CoreDataExternalFiles {
  private let files: TransferFiles
  /// Inside the database's own folder.
  private let folder: String

  /// - Parameter path: of the database.
  init(besideDatabase path: String) {
    let url = URL(fileURLWithPath: path)
    files = TransferFiles(directory: url.deletingLastPathComponent().path)
    folder = ".\(url.deletingPathExtension().lastPathComponent)_SUPPORT/_EXTERNAL_DATA"
  }

  /// The size of a readable file.
  func byteCount(of name: String) throws(TransferError) -> UInt64 { try files.open("\(folder)/\(name)").byteCount }

  /// Passes a file's bytes to `body` in chunks.
  ///
  /// - Throws: ``TransferError`` if it cannot be read to its end, or its size has changed.
  func read(_ name: String, _ byteCount: UInt64, _ body: (Data) throws -> Void) throws {
    let file = try files.open("\(folder)/\(name)")
    guard file.byteCount == byteCount else {
      throw TransferError(.invalidFile, "the file changed while it was read; try again when no process writes it")
    }
    try TransferFiles.read(file, body)
  }

  /// Whether a file with this name is readable.
  func has(_ name: String) -> Bool { (try? byteCount(of: name)) != nil }

  func advice(_ reason: String) -> String {
    "the file with its bytes cannot be read (\(reason)); copy the folder \(folder.split(separator: "/")[0]) along with "
      + "the database, or import the object without the value: --skip-broken"
  }
}
