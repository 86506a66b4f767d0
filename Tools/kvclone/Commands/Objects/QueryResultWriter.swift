import KVClone
import KVCloneExplorer
import KVCloneOperations

/// Writes the objects of a query, one by one.
struct QueryResultWriter {
  private let format: QueryCommand.Format
  private let output: Output
  private let columns: [Column]
  private var json: ObjectLineWriter
  private var rows: RowWriter

  /// The content of a column: the common properties of all results.
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
    rows = RowWriter(isTable: format == .table, output)
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
    case .csv, .table:
      // Core Data's name for it, if the model has a property `id`.
      let isTaken = columns.contains { $0.name == "id" }
      try rows.write([isTaken ? "objectID" : "id"] + columns.map(\.name))
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
    case .csv, .table:
      let cells = try columns.map { column throws in try text(column, object, transaction) }
      try rows.write([object.name] + cells)
    }
  }

  mutating func end() throws {
    switch format {
    case .json:
      json.json.endArray()
      json.json.endObject()
      json.json.newLine()
      try json.flush(to: { [output] in try output.write($0) })
    case .csv, .table: try rows.end()
    case .ids: break
    }
  }

  private func text<T: ObjectReading & ~Copyable>(
    _ column: Column, _ object: ManagedObject, _ transaction: borrowing T
  ) throws -> String? {
    switch column {
    case .attribute(let attribute):
      return try object.value(attribute.name).map { ValueText.cell($0, isPlain: format == .csv) }
    case .toOne(let relationship):
      return try object.toOne(relationship.name).map { target throws in try transaction.name(of: target) }
    }
  }
}
