/// A mapping from the objects of one model version to those of another, like Core Data's mapping model. It is loaded
/// from an Xcode file or written in Swift:
///
/// ```swift
/// let mapping = MappingModel([
///   // Properties of the same name are mapped automatically.
///   EntityMapping(from: "Author", to: "Author"),
///   // A rename, a constant, a key path, and a relationship through an entity mapping.
///   EntityMapping(
///     from: "Book", to: "Volume",
///     attributes: [
///       PropertyMapping("heading", .source("title")),
///       PropertyMapping("state", .constant("new")),
///       PropertyMapping("authorName", .source("author.name")),
///       try PropertyMapping("cents", format: "$source.price * 100"),
///     ],
///     relationships: [
///       PropertyMapping("writer", .destinationInstances(mapping: "AuthorToAuthor", of: .source("author")))
///     ]),
///   // An entity that is split, and one that is dropped.
///   EntityMapping(
///     from: "Note", to: "Task", name: "Tasks", where: .matching(try QueryPredicate(format: "isTask == YES"))),
///   EntityMapping(
///     from: "Note", to: "Memo", name: "Memos", where: .matching(try QueryPredicate(format: "isTask == NO"))),
///   EntityMapping(from: "Draft", to: nil),
/// ])
/// ```
public struct MappingModel: Hashable, Sendable {
  /// The entity mappings; objects are created in this order.
  public var entityMappings: [EntityMapping]
  /// The mapping's name, which is its file name; nil if there is no file.
  public var name: String?
  /// The path of the source version as stored in the file, usually relative to the Xcode project's folder.
  public var sourceModelPath: String?
  /// The path of the destination version as stored in the file.
  public var destinationModelPath: String?

  /// Creates a mapping model.
  public init(
    _ entityMappings: [EntityMapping], name: String? = nil, sourceModelPath: String? = nil,
    destinationModelPath: String? = nil
  ) {
    self.entityMappings = entityMappings
    self.name = name
    self.sourceModelPath = sourceModelPath
    self.destinationModelPath = destinationModelPath
  }

  /// The source version's name, such as `Model 2`; nil if the file does not contain it.
  public var sourceVersionName: String? { Self.versionName(sourceModelPath) }

  /// The destination version's name; nil if the file does not contain it.
  public var destinationVersionName: String? { Self.versionName(destinationModelPath) }

  /// Returns the entity mapping with the given name, or nil.
  public func entityMapping(named name: String) -> EntityMapping? { entityMappings.first { $0.name == name } }

  /// Returns the source model's entities that no mapping reads, except abstract ones. Their stored objects would be
  /// lost.
  public func unmappedEntities(of source: ManagedObjectModel) -> [String] {
    let mapped = Set(entityMappings.compactMap(\.sourceEntityName))
    return source.entities.filter { !$0.isAbstract && !mapped.contains($0.name) }.map(\.name)
  }

  private static func versionName(_ path: String?) -> String? {
    guard let last = path?.split(separator: "/").last else { return nil }
    return last.hasSuffix(".xcdatamodel") ? String(last.dropLast(".xcdatamodel".count)) : String(last)
  }
}
