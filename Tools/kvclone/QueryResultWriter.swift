import Foundation
import KVClone

/// Writes the objects that a query found, one after the other.
struct QueryResultWriter {
  /// How many rows decide how wide a table's columns are.
  private static let sampleSize = 200
  private static let maximumWidth = 40

  private let format: QueryCommand.Format
  private let output: Output
  private let columns: [Column]
  private var json: ObjectLineWriter
  /// Rows that wait until there are enough to decide about widths; nil once that is done.
  private var waiting: [[String]]? = []
  private var widths: [Int] = []

  /// What stands in one column: the properties that every result has.
  private enum Column {
    case attribute(AttributeDescription)
    case toOne(RelationshipDescription)

    var name: String {
      switch self {
      case .attribute(let attribute): attribute.name
      case .toOne(let relationship): relationship.name
      }
    }
  }

  init(_ format: QueryCommand.Format, _ entity: String, _ model: ManagedObjectModel, _ output: Output) {
    self.format = format
    self.output = output
    json = ObjectLineWriter(model: model)
    columns =
      model.attributes(of: entity).filter(\.isStored).map { .attribute($0) }
      + model.relationships(of: entity).filter { !$0.isToMany && !$0.isTransient }.map { .toOne($0) }
  }

  mutating func begin() throws {
    switch format {
    case .json:
      json.json.beginObject()
      json.json.key("objects")
      json.json.beginArray()
    case .csv: try output.line((["id"] + columns.map(\.name)).map(Self.csv).joined(separator: ","))
    case .table: waiting = [["id"] + columns.map(\.name)]
    case .ids: break
    }
  }

  mutating func write<T: ObjectReading & ~Copyable>(_ object: ManagedObject, in transaction: borrowing T) throws {
    switch format {
    case .ids: try output.line(object.name)
    case .json:
      json.json.beginObject()
      try json.writeMembers(object, in: transaction, to: { [output] in try output.write($0) })
      json.json.endObject()
      try json.flushIfLarge(to: { [output] in try output.write($0) })
    case .csv:
      let cells = try columns.map { column throws in try text(column, object, transaction, isPlain: true) }
      try output.line(([object.name] + cells).map(Self.csv).joined(separator: ","))
    case .table:
      let cells = try columns.map { column throws in try text(column, object, transaction, isPlain: false) }
      try addRow([object.name] + cells)
    }
  }

  mutating func end() throws {
    switch format {
    case .json:
      json.json.endArray()
      json.json.endObject()
      json.json.newLine()
      try json.flush(to: { [output] in try output.write($0) })
    case .table: try writeWaiting()
    case .csv, .ids: break
    }
  }

  private func text<T: ObjectReading & ~Copyable>(
    _ column: Column, _ object: ManagedObject, _ transaction: borrowing T, isPlain: Bool
  ) throws -> String {
    switch column {
    case .attribute(let attribute):
      guard let value = try object.value(attribute.name) else { return "" }
      // Programs read CSV, where quotes are the format's own.
      if isPlain, case .string(let text) = value { return text }
      if isPlain, case .uri(let text) = value { return text }
      return ValueText.describe(value)
    case .toOne(let relationship):
      return try object.toOne(relationship.name).map { target throws in try transaction.name(of: target) } ?? ""
    }
  }

  // MARK: Tables

  private mutating func addRow(_ cells: [String]) throws {
    guard waiting != nil else { return try writeRow(cells) }
    waiting?.append(cells)
    if waiting?.count ?? 0 > Self.sampleSize { try writeWaiting() }
  }

  private mutating func writeWaiting() throws {
    guard let rows = waiting else { return }
    waiting = nil
    widths = Array(repeating: 0, count: columns.count + 1)
    for row in rows {
      for (index, cell) in row.enumerated() { widths[index] = max(widths[index], min(cell.count, Self.maximumWidth)) }
    }
    for row in rows { try writeRow(row) }
  }

  private func writeRow(_ cells: [String]) throws {
    var line = ""
    for (index, cell) in cells.enumerated() {
      let shown = Text.cut(cell, Self.maximumWidth)
      line += index == 0 ? shown : "  " + shown
      if index + 1 < cells.count { line += String(repeating: " ", count: max(0, widths[index] - shown.count)) }
    }
    try output.line(line)
  }

  // MARK: CSV

  /// RFC 4180: what has a comma, a quote or a line's end in it stands between quotes.
  private static func csv(_ text: String) -> String {
    guard text.contains(where: { ",\"\n\r\r\n".contains($0) }) else { return text }
    return "\"" + text.replacingOccurrences(of: "\"", with: "\"\"") + "\""
  }
}
