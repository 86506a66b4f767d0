import Foundation
import KVClone
import KVCloneCore

/// A row of a grid: an object, and the values of the columns.
struct GridRow: Sendable {
  var name: DisplayName
  var cells: [GridCell]

  /// Reads an object.
  ///
  /// - Parameter textLimit: the longest text in Unicode scalars; nil for whole texts.
  static func read(
    _ id: ObjectID, _ columns: [GridColumn], textLimit: Int?, in model: ManagedObjectModel,
    _ transaction: borrowing ReadTransaction
  ) throws -> GridRow {
    var targets: [(cell: Int, id: ObjectID)] = []
    var row = try transaction.withObject(id) { view in
      var cells: [GridCell] = []
      for column in columns {
        switch column.kind {
        case .attribute: cells.append(GridCell(try view.value(column.name), textLimit: textLimit))
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

/// The value of a property of an object in a grid.
enum GridCell: Sendable {
  case missing
  case value(AttributeValue)
  /// A text, or its beginning.
  case text(String, isCut: Bool)
  /// The size of binary data.
  case bytes(UInt64)
  case object(DisplayName)
  /// The number of members of a relationship.
  case count(Int)

  init(_ value: AttributeValue?, textLimit: Int?) {
    switch value {
    case nil: self = .missing
    case .string(let text)?, .uri(let text)?:
      let shown = textLimit.map { Excerpt.beginning(of: text, $0) } ?? text
      self = .text(shown, isCut: shown.utf8.count != text.utf8.count)
    case .binary(let data)?, .transformable(let data)?: self = .bytes(UInt64(data.count))
    case .blob(let blob)?: self = .bytes(blob.byteCount)
    case .composite?:
      let text = ValueText.describe(value ?? .boolean(false))
      let shown = textLimit.map { Excerpt.beginning(of: text, $0) } ?? text
      self = .text(shown, isCut: shown.utf8.count != text.utf8.count)
    case let value?: self = .value(value)
    }
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
    case .text(let text, _): json.string(text)
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
    case .text(let text, let isCut):
      if !isCut { return "\(text)" }
      return "\(text) <a href=\"\(context.link(object.path + ["text", column.name]))\">whole text</a>"
    case .bytes(let count):
      return "<a href=\"\(context.link(object.path + ["blob", column.name]))\">\(Components.bytes(count))</a>"
    case .object(let name): return name.link(context)
    case .count(let count): return Components.number(count)
    }
  }
}
