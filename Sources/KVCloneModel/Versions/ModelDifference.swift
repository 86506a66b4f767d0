/// The differences between two versions of a model, and the effect of each difference on stored objects.
///
/// Entities and properties are matched by renaming identifier, then by name. Properties are compared where they are
/// declared. A property that moved in the hierarchy is compared at its new position.
public struct ModelDifference: Sendable, Hashable {
  /// A difference.
  public struct Change: Sendable, Hashable {
    /// The kind of a difference.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
      /// Only the later version has the entity or property.
      case added
      /// Only the earlier version has the entity or property.
      case removed
      /// The name differs.
      case renamed
      /// Another aspect differs; see ``Change/aspect``.
      case changed
    }

    /// The kind of the difference.
    public let kind: Kind
    /// The entity's later name, or the earlier name of a removed entity.
    public let entity: String
    /// The property's later name, or the earlier name of a removed property; nil if the entity itself differs.
    public let property: String?
    /// The earlier name of a renamed entity or property.
    public let formerName: String?
    /// The changed aspect, such as `type` or `optional`; nil unless the kind is ``Kind/changed``.
    public let aspect: String?
    /// The earlier value, or nil.
    public let old: String?
    /// The later value, or nil.
    public let new: String?
    /// The migration work for stored objects.
    public let work: MigrationWork
  }

  /// All differences by entity, in the order of the later version's entities, removed ones last.
  public let changes: [Change]
  /// Renaming identifiers of the later version that match nothing in the earlier version.
  public let warnings: [ModelWarning]

  /// Compares two versions.
  ///
  /// - Parameters:
  ///   - source: The earlier version.
  ///   - destination: The later version.
  ///   - versions: Other versions of the model, in any order, used to resolve renaming identifiers.
  public init(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, through versions: [ManagedObjectModel] = []
  ) {
    let matching = ModelMatching(from: source, to: destination, through: versions)
    var comparison = ModelComparison(matching)
    changes = comparison.compare()
    warnings = matching.renamingWarnings()
  }

  /// Whether there are no differences.
  public var isEmpty: Bool { changes.isEmpty }

  /// The differences that require a mapping model.
  public var refusals: [Change] { changes.filter { $0.work.reason != nil } }
}

/// The work that a difference between two model versions requires in a store.
public enum MigrationWork: Sendable, Hashable {
  /// None: the change concerns the use of objects, not their stored form.
  case none
  /// The new model is stored; no object is rewritten.
  case metadata
  /// An index is created or dropped.
  case index
  /// Objects of the entity are rewritten.
  case objects
  /// Objects are deleted together with their entity.
  case deletion
  /// The change is ambiguous and requires a mapping model. The associated text states the reason.
  case refused(String)

  /// The reason for a refusal; nil for other cases.
  public var reason: String? { if case .refused(let reason) = self { reason } else { nil } }

  /// The name of the case.
  public var name: String {
    switch self {
    case .none: "none"
    case .metadata: "metadata"
    case .index: "index"
    case .objects: "objects"
    case .deletion: "deletion"
    case .refused: "refused"
    }
  }
}

extension ModelDifference.Change: CustomStringConvertible {
  /// The difference as text, such as `Note.title: type String → Integer 64`.
  public var description: String {
    let place = property.map { "\(entity).\($0)" } ?? entity
    switch kind {
    case .added: return "\(place): added\(new.map { ", \($0)" } ?? "")"
    case .removed: return "\(place): removed"
    case .renamed: return "\(place): renamed, was \(formerName ?? "")"
    case .changed: return "\(place): \(aspect ?? "") \(old ?? "none") → \(new ?? "none")"
    }
  }
}
