import Foundation
import KVClone
import KVCloneExplorer

/// Writes transactions of the history, a line or a JSON object each, in memory that does not grow with the transaction.
struct TransactionWriter {
  private let output = Output()
  private let isJSON: Bool
  private let withObjects: Bool
  private var json = JSONWriter()

  init(isJSON: Bool, withObjects: Bool) {
    self.isJSON = isJSON
    self.withObjects = withObjects
  }

  /// Begins the document of a list.
  mutating func beginList() throws {
    guard isJSON else { return }
    json.beginObject()
    json.key("transactions")
    json.beginArray()
  }

  /// Ends it with the token after the last commit.
  mutating func endList(_ token: HistoryToken) throws {
    if isJSON {
      json.endArray()
      json.member("token", token.description)
      json.endObject()
      json.newLine()
      try writeOut()
    }
    try output.flush()
  }

  /// Writes a transaction of a list.
  mutating func write(_ transaction: HistoryTransaction, _ reader: borrowing ReadTransaction) throws {
    isJSON ? try writeJSON(transaction, reader) : try writeText(transaction, reader)
  }

  /// Formats a single transaction. The caller writes the result outside of the read transaction: a slow reader of
  /// stdout would keep it open, and its pages from being reused. Beyond 64 KiB, only the rest is returned.
  mutating func text(of transaction: HistoryTransaction, _ reader: borrowing ReadTransaction) throws -> [UInt8] {
    try write(transaction, reader)
    if isJSON {
      json.newLine()
      try writeOut()
    }
    return output.takeBuffered()
  }

  private mutating func writeOut() throws {
    try output.write(json.text)
    json.removeWritten()
  }

  private func writeText(_ transaction: HistoryTransaction, _ reader: borrowing ReadTransaction) throws {
    var text =
      "\(transaction.token) \(transaction.date.formatted(.iso8601)) +\(transaction.insertedCount) "
      + "M\(transaction.updatedCount) -\(transaction.deletedCount)"
    if !transaction.operation.isEmpty { text += " \(transaction.operation)" }
    if !transaction.author.isEmpty { text += " by \(transaction.author)" }
    try output.line(text)
    guard withObjects else { return }
    try reader.forEachChange(of: transaction) { change in
      switch change {
      case .inserted(let id): try output.line("+ \(try reader.nameOfAny(id))")
      case .updated(let id, let properties):
        try output.line("M \(try reader.nameOfAny(id)) \(properties.joined(separator: " "))")
      case .deleted(let id, let entity, _): try output.line("- \(entity)/\(id.serial)")
      }
      return true
    }
  }

  private mutating func writeJSON(_ transaction: HistoryTransaction, _ reader: borrowing ReadTransaction) throws {
    json.beginObject()
    json.transaction(transaction)
    if withObjects {
      json.key("changes")
      json.beginArray()
      try reader.forEachChange(of: transaction) { change in
        try writeJSON(change, reader)
        return true
      }
      json.endArray()
    }
    json.endObject()
    try writeOut()
  }

  private mutating func writeJSON(_ change: HistoryChange, _ reader: borrowing ReadTransaction) throws {
    json.beginObject()
    switch change {
    case .inserted(let id): json.member("inserted", try reader.nameOfAny(id))
    case .updated(let id, let properties):
      json.member("updated", try reader.nameOfAny(id))
      json.member("properties", properties)
    case .deleted(let id, let entity, let tombstone):
      json.member("deleted", "\(entity)/\(id.serial)")
      if !tombstone.isEmpty {
        json.key("attributes")
        AttributeJSON.write(.composite(tombstone), to: &json)
      }
    }
    json.endObject()
    try writeOut()
  }
}
