/// How the objects of one version of a model become objects of another one: Core Data's mapping model, as Xcode's files
/// hold it, or written in Swift:
///
/// ```swift
/// let mapping = MappingModel([
///   // Same names are mapped without a word.
///   EntityMapping(from: "Author", to: "Author"),
///   // A rename, a constant, a key path, and a relationship through a mapping.
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
///   // An entity that is split, and one that is left behind.
///   EntityMapping(
///     from: "Note", to: "Task", name: "Tasks", where: .matching(try QueryPredicate(format: "isTask == YES"))),
///   EntityMapping(
///     from: "Note", to: "Memo", name: "Memos", where: .matching(try QueryPredicate(format: "isTask == NO"))),
///   EntityMapping(from: "Draft", to: nil),
/// ])
/// ```
public struct MappingModel: Hashable, Sendable {
  /// What becomes of the entities; objects are made in this order.
  public var entityMappings: [EntityMapping]
  /// The mapping's name, as its file is called; nil where there is no file.
  public var name: String?
  /// Where the source version lies, as the file says it, which is mostly relative to the Xcode project's folder.
  public var sourceModelPath: String?
  /// Where the destination version lies, as the file says it.
  public var destinationModelPath: String?

  /// Makes a mapping model.
  public init(
    _ entityMappings: [EntityMapping], name: String? = nil, sourceModelPath: String? = nil,
    destinationModelPath: String? = nil
  ) {
    self.entityMappings = entityMappings
    self.name = name
    self.sourceModelPath = sourceModelPath
    self.destinationModelPath = destinationModelPath
  }

  /// The source version's name, such as `Model 2`; nil where the file does not say.
  public var sourceVersionName: String? { Self.versionName(sourceModelPath) }

  /// The destination version's name; nil where the file does not say.
  public var destinationVersionName: String? { Self.versionName(destinationModelPath) }

  /// The mapping of that name; nil where there is none.
  public func entityMapping(named name: String) -> EntityMapping? { entityMappings.first { $0.name == name } }

  /// The source model's entities, abstract ones left out, whose objects no mapping reads: what is stored of them will be
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
