/// The maximum sizes of a model. The largest of a thousand public models has 88 entities and 713 attributes.
package enum ModelLimits {
  /// The number of entities: a store numbers root entities with 15 bits.
  package static let entities = 0x7FFF
  /// The number of ancestors of an entity.
  package static let inheritanceDepth = 128
  /// The number of properties of one entity, including inherited ones: a store numbers them with 16 bits.
  package static let properties = 0x7FFF
  /// The number of properties of all entities, counted again in every entity that inherits them; bounds the memory that
  /// a small malicious file can allocate.
  package static let resolvedProperties = 1_000_000
  /// The number of elements of one composite attribute, counted through all levels.
  package static let compositeElements = 4_096
  /// The number of nested composites.
  package static let compositeDepth = 16
  /// The length of a name in UTF-8.
  package static let nameBytes = 255

  static var summary: String {
    "\(entities) entities, \(inheritanceDepth) levels of inheritance, \(properties) properties of an entity,"
      + " \(resolvedProperties) in all, or \(compositeElements) elements or \(compositeDepth) levels of a composite"
  }
}
