/// How much a model may hold. The largest of a thousand public models has 88 entities and 713 attributes.
package enum ModelLimits {
  /// Entities: a store numbers root entities with 15 bits.
  package static let entities = 0x7FFF
  /// Entities above an entity.
  package static let inheritanceDepth = 128
  /// Properties of one entity, inherited ones included: a store numbers them with 16 bits.
  package static let properties = 0x7FFF
  /// Properties of all entities together, counted again in every entity that inherits them; keeps what a small hostile
  /// file can make a reader allocate within bounds.
  package static let resolvedProperties = 1_000_000
  /// Elements of one composite attribute, counted through all levels.
  package static let compositeElements = 4_096
  /// Levels of composites inside composites.
  package static let compositeDepth = 16
  /// The length of a name in UTF-8.
  package static let nameBytes = 255

  static var summary: String {
    "\(entities) entities, \(inheritanceDepth) levels of inheritance, \(properties) properties of an entity,"
      + " \(resolvedProperties) in all, or \(compositeElements) elements or \(compositeDepth) levels of a composite"
  }
}
