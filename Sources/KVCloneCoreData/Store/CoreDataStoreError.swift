/// Why a database is no store of Core Data's that can be read, or why the model does not fit its tables.
package struct CoreDataStoreError: Error, Hashable, Sendable {
  /// What is wrong.
  package enum Kind: String, Sendable, Hashable {
    /// The database has no tables of Core Data.
    case notACoreDataStore
    /// The store does not hold its model, and none was given.
    case modelMissing
    /// The model that the store holds cannot be read.
    case unreadableModel
    /// The model has something that the tables have not, or the other way round.
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
