import KVClone

/// A column of a grid: a property of the entity.
struct GridColumn: Sendable {
  enum Kind: Sendable {
    case attribute(AttributeDescription)
    case toOne
    case toMany
  }

  var name: String
  var kind: Kind

  /// The number of columns of a grid that chooses none.
  static let defaultCount = 12

  /// The columns of an entity: attributes before relationships, inherited ones first.
  static func all(of entity: String, in model: ManagedObjectModel) -> [GridColumn] {
    model.attributes(of: entity).filter(\.isStored).map { GridColumn(name: $0.name, kind: .attribute($0)) }
      + model.relationships(of: entity).filter { !$0.isTransient }.map {
        GridColumn(name: $0.name, kind: $0.isToMany ? .toMany : .toOne)
      }
  }

  /// Whether cells are aligned right.
  var isNumeric: Bool {
    switch kind {
    case .toMany: true
    case .toOne: false
    case .attribute(let attribute):
      switch attribute.type {
      case .integer16, .integer32, .integer64, .decimal, .double, .float, .binary, .transformable: true
      default: false
      }
    }
  }

  /// The sort key of the column; nil for values without an order.
  var sortKey: String? {
    switch kind {
    case .toMany: return "\(name).@count"
    case .toOne: return nil
    case .attribute(let attribute):
      switch attribute.type {
      case .binary, .transformable, .composite, .undefined: return nil
      default: return name
      }
    }
  }

  /// The name of the type in the head of the column.
  var typeName: String {
    switch kind {
    case .attribute(let attribute): attribute.type.rawValue
    case .toOne: "to-one"
    case .toMany: "to-many"
    }
  }
}
