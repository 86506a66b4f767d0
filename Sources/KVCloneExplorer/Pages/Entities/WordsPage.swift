import KVClone
import KVCloneCore

/// Words that complete a predicate.
enum Words {
  private static let operators = [
    "AND", "OR", "NOT", "==", "!=", "<", "<=", ">", ">=", "BETWEEN {", "IN {", "BEGINSWITH[cd]", "CONTAINS[cd]",
    "ENDSWITH[cd]", "LIKE[cd]", "MATCHES", "ANY", "ALL", "NONE", "SUBQUERY(", "nil", "TRUE", "FALSE", "SELF",
    "CAST(", "now()",
  ]

  /// The properties of an entity, the attributes of its to-one targets and the counts of its to-many relationships;
  /// then the operators.
  static func all(of entity: String, in model: ManagedObjectModel) -> [String] {
    properties(of: entity, in: model).map(\.word) + operators
  }

  struct Property: Sendable {
    var word: String
    var type: String
  }

  static func properties(of entity: String, in model: ManagedObjectModel) -> [Property] {
    var found: [Property] = []
    for attribute in model.attributes(of: entity) where attribute.isStored {
      found.append(Property(word: attribute.name, type: attribute.type.rawValue))
    }
    for relationship in model.relationships(of: entity) where !relationship.isTransient {
      let name = relationship.name
      found.append(Property(word: name, type: relationship.destinationEntityName))
      if relationship.isToMany {
        found.append(Property(word: "\(name).@count", type: AttributeType.integer64.rawValue))
      } else {
        for attribute in model.attributes(of: relationship.destinationEntityName).prefix(maximumTargetCount)
        where attribute.isStored {
          found.append(Property(word: "\(name).\(attribute.name)", type: attribute.type.rawValue))
        }
      }
    }
    return found
  }

  /// The number of attributes of a to-one target.
  private static let maximumTargetCount = 20

  static var allOperators: [String] { operators }
}

/// The words that complete a predicate of an entity, for scripts.
struct WordsPage: Page {
  let entity: String
  let properties: [Words.Property]

  init(_ context: PageContext) throws {
    entity = try GridQuery(context).entity.name
    properties = Words.properties(of: entity, in: context.model)
  }

  var title: String { "Completions for predicates of \(entity)" }
  var section: PageSection { .entities }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    [("Entities", context.link([])), (entity, context.link(["entities", entity]))]
  }

  func html(_ context: PageContext) -> HTML {
    let rows: [[HTML]] = properties.map { [Components.code($0.word), "\($0.type)"] }
    return Components.table("Properties", columns: [.init("Word"), .init("Type")], rows: rows)
      + Components.section("Operators", Components.code(Words.allOperators.joined(separator: "  ")))
  }

  func write(to json: inout JSONWriter) {
    json.member("entity", entity)
    json.list("properties", properties) { json, property in
      json.member("word", property.word)
      json.member("type", property.type)
    }
    json.member("operators", Words.allOperators)
  }

  var table: PageTable {
    PageTable(
      columns: ["word", "type"],
      rows: properties.map { [$0.word, $0.type] } + Words.allOperators.map { [$0, "operator"] })
  }
}
