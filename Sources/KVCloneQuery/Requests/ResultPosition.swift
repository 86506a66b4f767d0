package import KVCloneCore
package import KVCloneModel

/// A place between the results of a request: that of a result, by the values of its sort keys and its id.
///
/// It stays valid if the object changes or is deleted.
package struct ResultPosition: Sendable {
  /// The values of the sort keys in the form in which results are compared, such as without case.
  package var keys: [QueryValue]
  package var id: ObjectID

  package init(keys: [QueryValue], id: ObjectID) {
    self.keys = keys
    self.id = id
  }
}
