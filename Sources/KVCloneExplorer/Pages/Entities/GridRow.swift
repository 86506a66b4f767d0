import Foundation
import KVClone
import KVCloneCore

/// A row of a grid: an object, and the values of the columns.
struct GridRow: Sendable {
  var name: DisplayName
  var cells: [GridCell]

  /// Reads an object.
  ///
  /// - Parameter limit: of texts; nil for whole ones.
  static func read(
    _ id: ObjectID, _ columns: [GridColumn], _ limit: GridTextLimit?, in model: ManagedObjectModel,
    _ transaction: borrowing ReadTransaction
  ) throws -> GridRow {
    var targets: [(cell: Int, id: ObjectID)] = []
    var row = try transaction.withObject(id) { view in
      var cells: [GridCell] = []
      for column in columns {
        switch column.kind {
        case .attribute: cells.append(try GridCell(view, column.name, limit))
        case .toMany: cells.append(.count(view.count(column.name)))
        case .toOne:
          if let target = view.toOne(column.name) { targets.append((cells.count, target)) }
          cells.append(.missing)
        }
      }
      return GridRow(name: try DisplayName(view, in: model), cells: cells)
    }
    for target in targets {
      row.cells[target.cell] = .object(try DisplayName.read(target.id, in: model, transaction))
    }
    return row
  }

  /// The approximate size of the row's texts, in bytes.
  var byteCount: Int { cells.reduce(0) { $0 + $1.byteCount } }
}

/// The length of texts in a grid.
struct GridTextLimit: Sendable {
  /// The longest text that is shown as a whole, in Unicode scalars.
  var whole: Int
  /// The length of the beginning of a longer text.
  var beginning: Int

  static let html = GridTextLimit(whole: 200, beginning: 200)
  static let data = GridTextLimit(whole: 64 << 10, beginning: 1000)
}

/// The value of a property of an object in a grid.
enum GridCell: Sendable {
  case missing
  case value(AttributeValue)
  /// A text, or its beginning and the size of all of it in bytes.
  case text(String, size: Int?)
  /// The size of binary data.
  case bytes(UInt64)
  case object(DisplayName)
  /// The number of members of a relationship.
  case count(Int)

  init(_ view: ObjectView, _ attribute: String, _ limit: GridTextLimit?) throws {
    // A long text is not copied.
    if let limit, let found = view.beginning(ofText: attribute, scalars: limit.whole) {
      self = Self.text(found.text, found.isCut ? found.byteCount : nil, limit)
      return
    }
    switch try view.value(attribute) {
    case nil: self = .missing
    case .string(let text)?, .uri(let text)?: self = Self.text(whole: text, limit)
    case .binary(let data)?, .transformable(let data)?: self = .bytes(UInt64(data.count))
    case .blob(let blob)?: self = .bytes(blob.byteCount)
    case .composite(let elements)?: self = Self.text(whole: ValueText.describe(.composite(elements)), limit)
    case let value?: self = .value(value)
    }
  }

  private static func text(whole text: String, _ limit: GridTextLimit?) -> GridCell {
    guard let limit else { return .text(text, size: nil) }
    let shown = Excerpt.beginning(of: text, limit.whole)
    return Self.text(shown, shown.utf8.count != text.utf8.count ? text.utf8.count : nil, limit)
  }

  private static func text(_ text: String, _ size: Int?, _ limit: GridTextLimit) -> GridCell {
    .text(size == nil ? text : Excerpt.beginning(of: text, limit.beginning), size: size)
  }

  var byteCount: Int {
    switch self {
    case .text(let text, _): text.utf8.count
    case .object(let name): name.title.utf8.count
    default: 16
    }
  }

  /// The value in CSV; nil for no value.
  var text: String? {
    switch self {
    case .missing: nil
    case .value(let value): ValueText.cell(value, isPlain: true)
    case .text(let text, _): text
    case .bytes(let count): "\(count)"
    case .object(let name): name.id
    case .count(let count): "\(count)"
    }
  }

  func write(to json: inout JSONWriter) {
    switch self {
    case .missing: json.null()
    case .value(let value): AttributeJSON.write(value, to: &json)
    case .text(let text, nil): json.string(text)
    case .text(let text, let size?):
      json.beginObject()
      json.member("size", size)
      json.member("beginning", text)
      json.endObject()
    case .bytes(let count):
      json.beginObject()
      json.member("size", count)
      json.endObject()
    case .object(let name): json.string(name.id)
    case .count(let count): json.integer(count)
    }
  }

  func html(_ column: GridColumn, of object: DisplayName, _ context: PageContext) -> HTML {
    switch self {
    case .missing: return Components.missing
    case .value(.date(let date)):
      return Components.time(ValueText.cell(.date(date), isPlain: true))
    case .value(let value): return "\(ValueText.cell(value, isPlain: true))"
    case .text(let text, let size):
      if size == nil { return "\(text)" }
      return "\(text) <a href=\"\(context.link(object.path + ["text", column.name]))\">Full text</a>"
    case .bytes(let count):
      return "<a href=\"\(context.link(object.path + ["blob", column.name]))\">\(Components.bytes(count))</a>"
    case .object(let name): return name.link(context)
    case .count(let count): return Components.number(count)
    }
  }
}
