public import KVCloneCore
public import KVCloneModel

/// Prepares requests, and follows their results.
extension ObjectStore {
  /// Compiles a request for repeated use. Its predicate may contain variables, such as `code == $code`.
  ///
  /// - Throws: `unknownEntity`, `unknownProperty`, `wrongType`, `invalidPredicate`, if the error does not depend on the
  ///   values of variables.
  public func prepare(_ request: FetchRequest) throws(StoreError) -> PreparedRequest {
    try PreparedRequest(request, schema, storeUUID: uuid)
  }

  /// Compiles a fetch request template of the model; its variables get their values later, like those of Core Data's
  /// `fetchRequestFromTemplate(withName:substitutionVariables:)`.
  ///
  /// - Returns: the prepared request, or nil if the model has no template with the name.
  /// - Throws: `invalidPredicate` if the predicate of the template cannot be parsed; the errors of ``prepare(_:)``.
  public func prepareTemplate(withName name: String) throws(StoreError) -> PreparedRequest? {
    try PreparedRequest.template(named: name, of: self)
  }

  /// Returns the results of a request as an asynchronous sequence that follows every commit, of this process and
  /// others. See <doc:Changes>.
  ///
  /// With the history on, commits that cannot affect the results only cost a look at their changes. With the history
  /// off, the request runs again after each commit.
  public func liveResults(for request: FetchRequest) -> LiveResults { LiveResults(self, request) }
}
