/// What differs between two versions of a model, and what each difference means for objects that are stored.
///
/// Entities and properties are matched by their renaming identifiers, then by their names. Properties are compared
/// where they are declared; one that moved in the hierarchy is compared where it is now.
public struct ModelDifference: Sendable, Hashable {
  /// One difference.
  public struct Change: Sendable, Hashable {
    /// What became of it.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
      /// Only the later version has it.
      case added
      /// Only the earlier version has it.
      case removed
      /// It has another name.
      case renamed
      /// Something else about it is different; see ``Change/aspect``.
      case changed
    }

    /// What happened.
    public let kind: Kind
    /// The entity: by its later name, or of a removed one by its earlier name.
    public let entity: String
    /// The property; nil where it is the entity itself. Named as the entity is.
    public let property: String?
    /// The earlier name of what was renamed.
    public let formerName: String?
    /// What of it changed, such as `type` or `optional`; nil unless the kind is ``Kind/changed``.
    public let aspect: String?
    /// How it was; nil where it was nothing.
    public let old: String?
    /// How it is; nil where it is nothing.
    public let new: String?
    /// What has to be done with stored objects.
    public let work: MigrationWork
  }

  /// All differences: by entity, in the order of the later version's entities, the removed ones last.
  public let changes: [Change]
  /// Renaming identifiers of the later version that match nothing in the earlier one.
  public let warnings: [ModelWarning]

  /// Compares two versions.
  ///
  /// - Parameters:
  ///   - source: the earlier version.
  ///   - destination: the later version.
  ///   - versions: other versions of the model, in any order, through which renaming identifiers are followed.
  public init(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, through versions: [ManagedObjectModel] = []
  ) {
    let matching = ModelMatching(from: source, to: destination, through: versions)
    var comparison = ModelComparison(matching)
    changes = comparison.compare()
    warnings = matching.renamingWarnings()
  }

  /// Whether nothing differs.
  public var isEmpty: Bool { changes.isEmpty }

  /// The differences that cannot be bridged without being told how.
  public var refusals: [Change] { changes.filter { $0.work.reason != nil } }
}

/// What a difference between two versions of a model asks of a store.
public enum MigrationWork: Sendable, Hashable {
  /// Nothing: it concerns how objects are used, not what is stored of them.
  case none
  /// The new model is written down; no object is touched.
  case metadata
  /// An index is made or dropped.
  case index
  /// Objects of the entity are rewritten.
  case objects
  /// Objects are deleted with their entity.
  case deletion
  /// Nobody can know what is meant: a mapping has to say it. The text tells why.
  case refused(String)

  /// Why it is refused; nil where it is not.
  public var reason: String? { if case .refused(let reason) = self { reason } else { nil } }

  /// The case's name.
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
  /// `Note.title: type String → Integer 64`.
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
