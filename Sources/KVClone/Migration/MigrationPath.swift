import KVCloneCore
import KVCloneModel

/// The versions of a model that a migration passes through.
///
/// A path starts at the store's version and visits no version twice. Stages and mapping models define its steps; the
/// remainder is one inferred step. See <doc:Migration#Paths>.
struct MigrationPath {
  /// The step from one version to the next.
  struct Leg {
    /// The version of the store afterwards.
    let model: ManagedObjectModel
    /// The stage with handlers before and after the step; nil for a plain step.
    var stage: CustomMigrationStage?
    /// The stage that requires the step to be inferred.
    var lightweight: LightweightMigrationStage?
    /// The mapping model of the step, resolved; nil for an inferred step.
    var mapping: MappingModel?
  }

  /// In order; empty if the store has the wanted version.
  private(set) var legs: [Leg] = []
  /// Stages and mapping models that are not on the path.
  private(set) var unused: [MigrationPlan.Unused] = []

  init(from source: ManagedObjectModel, to destination: ManagedObjectModel, _ options: MigrationOptions)
    throws(StoreError)
  {
    for model in [destination] + options.versions {
      do {
        _ = try model.validate()
      } catch {
        throw StoreError(.invalidModel, "\(error)")
      }
    }
    let versions = MigrationVersions(from: source, to: destination, options.versions)
    let pool = try MigrationPool(versions, options)
    let taken = options.requiresAllMappings ? try pool.requiredPath() : source == destination ? [] : pool.path()
    var edges: [MigrationPool.Edge] = []
    var position = versions.start
    for edge in taken {
      // On the path that uses all mapping models, the inferred step may come before one of them.
      if edge.from != position { edges.append(MigrationPool.Edge(from: position, to: edge.from)) }
      edges.append(edge)
      position = edge.to
    }
    if source != destination, position != versions.end || edges.isEmpty {
      edges.append(MigrationPool.Edge(from: position, to: versions.end))
    }
    var used: Set<Int> = []
    for edge in edges {
      var mapping = edge.mapping
      if mapping == nil, edge.lightweight == nil, !options.requiresAllMappings {
        mapping = pool.openMapping(from: edge.from, to: edge.to, isOnly: edges.count == 1)
      }
      if let mapping { used.insert(mapping) }
      let model = edge.to == versions.end ? destination : versions.models[edge.to]
      legs.append(
        Leg(
          model: model, stage: edge.custom.flatMap { options.stages[$0] as? CustomMigrationStage },
          lightweight: edge.lightweight.flatMap { options.stages[$0] as? LightweightMigrationStage },
          mapping: try Self.resolved(
            mapping.map { options.mappings[$0] }, from: versions.model(edge.from), to: model)))
    }
    let names = [source.versionIdentifier] + legs.map(\.model.versionIdentifier)
    unused = pool.unused(taken, mappings: used, path: names)
    for mapping in legs.compactMap(\.mapping) { try mapping.requirePolicies(options.policies) }
  }

  /// Resolves a mapping model against its two versions.
  private static func resolved(
    _ mapping: MappingModel?, from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) throws(StoreError) -> MappingModel? {
    guard let mapping else { return nil }
    do throws(MappingModelError) {
      return try mapping.resolved(from: source, to: destination)
    } catch {
      throw StoreError(
        .invalidMapping,
        "the mapping model\(mapping.name.map { " \($0)" } ?? "") does not match its versions: \(error)",
        entity: error.entity, property: error.property)
    }
  }
}

extension MigrationPlan {
  /// A stage or mapping model that the migration does not use.
  public struct Unused: Sendable, Hashable, CustomStringConvertible {
    /// The type of an unused item.
    public enum Kind: String, Sendable, Hashable {
      /// A custom or lightweight stage.
      case stage
      /// A mapping model.
      case mapping
    }

    /// The type of the item.
    public let kind: Kind
    /// The label of the stage, or the name of the mapping model; empty for a mapping model without a name.
    public let label: String
    /// The name of the first version; nil if the item does not name one.
    public let from: String?
    /// The name of the last version; nil if the item does not name one.
    public let to: String?
    /// The reason why the item is not used.
    public let reason: String

    /// A line such as `mapping Shop2to3 ('Shop 2' → 'Shop 3') is not needed: …`.
    public var description: String {
      let ends = [from, to].compactMap { $0.map { "'\($0)'" } }.joined(separator: " → ")
      let name = [label, ends.isEmpty ? "" : "(\(ends))"].filter { !$0.isEmpty }.joined(separator: " ")
      return "\(kind.rawValue)\(name.isEmpty ? "" : " \(name)") is not needed: \(reason)"
    }
  }
}
