extension ManagedObjectModel {
  /// The request that a template of the model describes, with its variables filled in; nil where the model has no template
  /// of this name. Core Data's call of the same name.
  ///
  /// - Parameters:
  ///   - name: The template's name.
  ///   - substitutionVariables: The values of `$NAME`, by name without the `$`. Those that are not given stay, and a fetch with
  ///     them is an error.
  /// - Throws: `QueryFormatError` where the template's predicate cannot be read.
  public func fetchRequestFromTemplate(
    withName name: String, substitutionVariables: [String: QueryArgument] = [:]
  ) throws(QueryFormatError) -> FetchRequest? {
    guard let template = fetchRequestTemplates.first(where: { $0.name == name }) else { return nil }
    return try FetchRequest(template, substitutionVariables: substitutionVariables)
  }
}

extension FetchRequest {
  /// The request that a template describes; see ``ManagedObjectModel/fetchRequestFromTemplate(withName:substitutionVariables:)``.
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
