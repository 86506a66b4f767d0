import KVClone
import KVCloneExplorer

/// Writes the values of `query --select`, result by result.
struct QueryDictionaryWriter {
  private let isJSON: Bool
  private let isPlain: Bool
  private let output: Output
  private var json = JSONWriter()
  private var rows: RowWriter

  init(_ format: QueryCommand.Format, _ output: Output) {
    isJSON = format == .json
    isPlain = format == .csv
    self.output = output
    rows = RowWriter(isTable: format == .table, output)
  }

  mutating func begin(_ names: [String]) throws {
    guard isJSON else { return try rows.write(names) }
    json.beginObject()
    json.key("objects")
    json.beginArray()
  }

  mutating func write<T: ObjectReading & ~Copyable>(
    _ dictionary: FetchedDictionary, in transaction: borrowing T
  ) throws {
    guard isJSON else {
      return try rows.write(dictionary.values.map { try text($0, in: transaction) })
    }
    json.beginObject()
    for (name, value) in zip(dictionary.names, dictionary.values) {
      json.key(name)
      try write(value, in: transaction)
    }
    json.endObject()
    try output.write(json.text)
    json.removeWritten()
  }

  mutating func end() throws {
    guard isJSON else { return try rows.end() }
    json.endArray()
    json.endObject()
    json.newLine()
    try output.write(json.text)
  }

  private mutating func write<T: ObjectReading & ~Copyable>(
    _ value: QueryConstant, in transaction: borrowing T
  ) throws {
    switch value {
    case .null: json.null()
    case .value(let value): AttributeJSON.write(value, to: &json)
    case .object(let id): json.string(try transaction.name(of: id))
    case .list(let values):
      json.beginArray()
      for value in values { try write(value, in: transaction) }
      json.endArray()
    }
  }

  /// A cell; nil for nil.
  private func text<T: ObjectReading & ~Copyable>(
    _ value: QueryConstant, in transaction: borrowing T
  ) throws -> String? {
    switch value {
    case .null: return nil
    case .value(let value): return ValueText.cell(value, isPlain: isPlain)
    case .object(let id): return try transaction.name(of: id)
    case .list(let values):
      return try values.map { try text($0, in: transaction) ?? "" }.joined(separator: ", ")
    }
  }
}
