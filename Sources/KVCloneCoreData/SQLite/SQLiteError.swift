/// Why an SQLite database cannot be read. Values never appear in it.
package struct SQLiteError: Error, Hashable, Sendable {
  /// What is wrong.
  package enum Kind: String, Sendable, Hashable {
    /// The file is something else, or encrypted.
    case notADatabase
    /// The file uses something that this reader does not know.
    case unsupportedDatabase
    /// The file contradicts itself, or ends too early.
    case corruptedDatabase = "damagedDatabase"
    /// A writer died in the middle of a transaction, which has to be rolled back by SQLite first.
    case hotJournal
    /// The operating system refused to read.
    case unreadableDatabase
    /// The database was written while it was read.
    case changedDatabase
    /// Whoever wanted it read does not any more.
    case cancelled
  }

  /// What is wrong.
  package let kind: Kind
  /// What is wrong and what to do.
  package let message: String
  /// The page concerned, from 1.
  package let page: Int?

  package init(_ kind: Kind, _ message: String, page: Int? = nil) {
    self.kind = kind
    self.message = page.map { "page \($0): \(message)" } ?? message
    self.page = page
  }

  /// The file contradicts itself.
  static func corrupted(_ what: String, page: Int? = nil) -> SQLiteError {
    SQLiteError(
      .corruptedDatabase,
      "\(what); the database is corrupted: run sqlite3's .recover on a copy, and read the recovered database",
      page: page)
  }
}
