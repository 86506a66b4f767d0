extension ManagedObjectModel {
  /// Returns the request that a template of the model describes, with its variables substituted; nil if the model has
  /// no template with this name. Core Data has a method with the same name.
  ///
  /// - Parameters:
  ///   - name: The template's name.
  ///   - substitutionVariables: The values of `$NAME`, by name without the `$`. Variables without a value remain in the
  ///     request, and fetching with them is an error.
  /// - Throws: `QueryFormatError` if the template's predicate cannot be parsed.
  public func fetchRequestFromTemplate(
    withName name: String, substitutionVariables: [String: QueryArgument] = [:]
  ) throws(QueryFormatError) -> FetchRequest? {
    guard let template = fetchRequestTemplates.first(where: { $0.name == name }) else { return nil }
    return try FetchRequest(template, substitutionVariables: substitutionVariables)
  }
}

extension FetchRequest {
  /// Creates the request that a template describes; see
  /// ``ManagedObjectModel/fetchRequestFromTemplate(withName:substitutionVariables:)``.
  public init(
    _ template: FetchRequestTemplate, substitutionVariables: [String: QueryArgument] = [:]
  ) throws(QueryFormatError) {
    var predicate: QueryPredicate?
    if let format = template.predicateString {
      predicate = try QueryPredicate(format: format).substituting(substitutionVariables)
    }
    self.init(
      template.entityName, predicate: predicate, fetchLimit: max(0, template.fetchLimit),
      includesSubentities: template.includesSubentities)
    resultType = FetchRequestResultType(rawValue: template.resultType) ?? .managedObject
    fetchBatchSize = max(0, template.fetchBatchSize)
    returnsDistinctResults = template.returnsDistinctResults
  }
}
