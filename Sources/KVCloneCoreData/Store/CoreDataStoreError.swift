/// Why a database is not a readable Core Data store, or why the model does not match its tables.
package struct CoreDataStoreError: Error, Hashable, Sendable {
  /// The kind of the error.
  package enum Kind: String, Sendable, Hashable {
    /// The database has no tables of Core Data.
    case notACoreDataStore
    /// The store does not contain its model, and none was passed.
    case modelMissing
    /// The model in the store cannot be decoded.
    case unreadableModel
    /// The model and the tables do not match.
    case modelMismatch
  }

  package let kind: Kind
  package let message: String
  package let entity: String?
  package let property: String?

  init(_ kind: Kind, _ message: String, entity: String? = nil, property: String? = nil) {
    self.kind = kind
    self.message = message
    self.entity = entity
    self.property = property
  }
}
