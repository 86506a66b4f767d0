/// Why an SQLite database cannot be read. Contains no values.
package struct SQLiteError: Error, Hashable, Sendable {
  /// The kind of the error.
  package enum Kind: String, Sendable, Hashable {
    /// The file has another format, or is encrypted.
    case notADatabase
    /// The file uses an unsupported feature.
    case unsupportedDatabase
    /// The file is inconsistent, or truncated.
    case corruptedDatabase = "damagedDatabase"
    /// A writer was killed in the middle of a transaction, which SQLite has to roll back first.
    case hotJournal
    /// The operating system failed to read.
    case unreadableDatabase
    /// The database was written while it was read.
    case changedDatabase
    /// The caller cancelled.
    case cancelled
  }

  /// The kind of the error.
  package let kind: Kind
  /// The problem, and how to fix it.
  package let message: String
  /// The affected page, from 1.
  package let page: Int?

  package init(_ kind: Kind, _ message: String, page: Int? = nil) {
    self.kind = kind
    self.message = page.map { "page \($0): \(message)" } ?? message
    self.page = page
  }

  /// The file is inconsistent.
  static func corrupted(_ what: String, page: Int? = nil) -> SQLiteError {
    SQLiteError(
      .corruptedDatabase,
      "\(what); the database is corrupted: run sqlite3's .recover on a copy, and read the recovered database",
      page: page)
  }
}
