import KVCloneCore
import KVCloneModel

extension MappingModel {
  /// Requires the policies that entity mappings name.
  ///
  /// - Throws: `invalidMapping`, with all missing ones.
  func requirePolicies(_ policies: [String: any EntityMigrationPolicy]) throws(StoreError) {
    let lacking = entityMappings.filter { mapping in
      mapping.entityMigrationPolicyClassName.map { policies.policy(named: $0) == nil } ?? false
    }
    guard let first = lacking.first else { return }
    let names = lacking.map { "\($0.entityMigrationPolicyClassName ?? "") (entity mapping \($0.name))" }
    throw StoreError(
      .invalidMapping,
      "the mapping model\(name.map { " \($0)" } ?? "") needs policies that are not registered: \(names.joined(separator: ", ")); policies "
        + "are code: write them in Swift and register them in MigrationOptions.policies, which the command line cannot do",
      entity: first.destinationEntityName ?? first.sourceEntityName)
  }

  /// Requires that all expressions that objects need are supported.
  ///
  /// - Parameter hasObjects: whether there are objects of a source entity.
  /// - Throws: `invalidMapping`, with all unsupported expressions.
  func requireComputable(_ hasObjects: (String) -> Bool) throws(StoreError) {
    var problems: [(entity: String?, property: String?, text: String)] = []
    for mapping in entityMappings {
      guard let source = mapping.sourceEntityName, hasObjects(source) else { continue }
      if case .unsupported(let text) = mapping.sourceObjects {
        problems.append((source, nil, "\(mapping.name) fetches its objects with \(text)"))
      }
      // A policy need not use the expressions.
      guard mapping.entityMigrationPolicyClassName == nil, mapping.destinationEntityName != nil else { continue }
      for property in mapping.attributeMappings + mapping.relationshipMappings {
        guard let text = property.valueExpression?.unsupportedPart else { continue }
        problems.append((mapping.destinationEntityName, property.name, "\(mapping.name).\(property.name) is \(text)"))
      }
    }
    guard let first = problems.first else { return }
    let shown = problems.prefix(20).map(\.text).joined(separator: "; ")
    let more = problems.count > 20 ? "; and \(problems.count - 20) more" : ""
    throw StoreError(
      .invalidMapping,
      "the mapping model\(name.map { " \($0)" } ?? "") has unsupported expressions: \(shown)\(more); use other "
        + "expressions, or a policy", entity: first.entity, property: first.property)
  }
}

extension MappingExpression {
  /// The unsupported part; nil if all parts are supported.
  fileprivate var unsupportedPart: String? {
    switch self {
    case .automatic, .value: nil
    case .destinationInstances(_, let inner), .destinationInstancesForRelationship(_, let inner): inner.unsupportedPart
    case .policy(_, let arguments): arguments.lazy.compactMap(\.unsupportedPart).first
    case .unsupported(let text): text
    }
  }
}

extension [String: any EntityMigrationPolicy] {
  /// The policy for a class name. Names of Swift classes contain their module, and may move between modules.
  func policy(named name: String) -> (any EntityMigrationPolicy)? {
    self[name] ?? self[name.split(separator: ".").last.map(String.init) ?? name]
  }
}
