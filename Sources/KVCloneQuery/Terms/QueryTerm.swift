import KVCloneCore
import KVCloneModel

/// A compiled expression for one model: names are resolved to properties, constants are converted to the types that
/// they are compared with.
///
/// A class, so that evaluating it for a million objects copies nothing.
package final class QueryTerm: Sendable {
  let node: Node
  let kind: QueryKind

  init(_ node: Node, _ kind: QueryKind) {
    self.node = node
    self.kind = kind
  }

  enum Node: Sendable {
    case constant(QueryValue)
    /// The tested object.
    case current
    /// The member of the subquery at this depth.
    case element(Int)
    case attribute(of: QueryTerm, QueryColumn)
    case relationship(of: QueryTerm, QueryLink)
    /// The number of members in one object's relationship, without reading them.
    case memberCount(of: QueryTerm, QueryLink)
    case collection(QueryCollectionOperator, QueryTerm)
    case function(QueryFunction, [QueryTerm])
    case conditional(QueryCondition, QueryTerm, QueryTerm)
    case list([QueryTerm])
    case subquery(QueryTerm, depth: Int, QueryCondition)
    case cast(QueryTerm, AttributeType)
    case combination(QueryTerm, QuerySetOperator, QueryTerm)
    case item(QueryTerm, QueryPosition)
    /// The value of a group's place: see ``QueryGrouping``.
    case place(Int)
  }

  /// Whether it has any number of values, which need ANY, ALL or a collection operator.
  var isList: Bool { kind.isList }

  /// The constant value, if it is one.
  var constant: QueryValue? {
    if case .constant(let value) = node { return value }
    return nil
  }
}

/// The position of an element in a list.
enum QueryPosition: Sendable {
  case first
  case last
  case size
  case at(QueryTerm)
}

/// A stored attribute, by its code, which is the same in every layout of the declaring entity and its subentities.
final class QueryColumn: Sendable {
  let name: String
  let code: UInt16
  let type: AttributeType
  /// The value of objects that are older than the attribute.
  let defaultValue: QueryValue
  /// The name of a whole composite attribute; nil for stored attributes.
  let composite: String?
  /// Whether blobs are read. The record alone shows whether the value is nil.
  let readsLargeValues: Bool

  init(_ attribute: CompiledAttribute) {
    readsLargeValues = attribute.description.type == .binary || attribute.description.type == .transformable
    name = attribute.path
    code = attribute.code
    type = attribute.description.type
    defaultValue = QueryValue(attribute.fill)
    composite = nil
  }

  /// The same for a comparison with nil.
  init(withoutLargeValues other: QueryColumn) {
    name = other.name
    code = other.code
    type = other.type
    defaultValue = other.defaultValue
    composite = other.composite
    readsLargeValues = false
  }

  init(composite: String) {
    readsLargeValues = false
    name = composite
    code = 0
    type = .composite
    defaultValue = .null
    self.composite = composite
  }
}

/// A relationship, by its code.
final class QueryLink: Sendable {
  let name: String
  let code: UInt16
  let isToMany: Bool

  init(_ relationship: CompiledRelationship) {
    name = relationship.name
    code = relationship.code
    isToMany = relationship.isToMany
  }
}

/// The kind of a term's values, as far as the model determines it.
indirect enum QueryKind: Sendable {
  /// Unknown before evaluation, or nil.
  case unknown
  case number
  case text
  case date
  case uuid
  case bytes
  case object(CompiledEntity)
  /// Values that support only equality.
  case opaque
  case list(QueryKind)

  init(_ type: AttributeType) {
    switch type {
    case .integer16, .integer32, .integer64, .decimal, .double, .float, .boolean: self = .number
    case .string, .uri: self = .text
    case .date: self = .date
    case .uuid: self = .uuid
    case .binary: self = .bytes
    case .transformable, .composite: self = .opaque
    case .undefined: self = .unknown
    }
  }

  init(_ value: QueryValue) {
    switch value {
    case .null: self = .unknown
    case .boolean, .integer, .double, .decimal: self = .number
    case .string: self = .text
    case .date: self = .date
    case .uuid: self = .uuid
    case .binary: self = .bytes
    case .object, .other: self = .unknown
    case .list(let values): self = .list(values.first.map { QueryKind($0) } ?? .unknown)
    }
  }

  var isList: Bool {
    if case .list = self { return true }
    return false
  }

  /// The kind of a list's elements; a single value's own kind.
  var element: QueryKind {
    if case .list(let kind) = self { return kind }
    return self
  }

  /// The name in an error's message.
  var name: String {
    switch self {
    case .unknown: "a value"
    case .number: "a number"
    case .text: "a string"
    case .date: "a date"
    case .uuid: "a UUID"
    case .bytes: "bytes"
    case .object(let entity): "an object (\(entity.name))"
    case .opaque: "a composite or archived value"
    case .list(let kind): "a list, each element \(kind.name)"
    }
  }

  /// Whether two values of these kinds can be compared at all.
  func fits(_ other: QueryKind) -> Bool {
    switch (self, other) {
    case (.unknown, _), (_, .unknown): true
    case (.number, .number), (.text, .text), (.date, .date), (.uuid, .uuid), (.bytes, .bytes), (.opaque, .opaque): true
    case (.object(let a), .object(let b)): a.rootCode == b.rootCode
    case (.list(let a), .list(let b)): a.fits(b)
    default: false
    }
  }
}

/// A compiled condition for one model.
package indirect enum QueryCondition: Sendable {
  case constant(Bool)
  case all([QueryCondition])
  case any([QueryCondition])
  case not(QueryCondition)
  case comparison(QueryTest)
}

/// One comparison.
package final class QueryTest: Sendable {
  let left: QueryTerm
  let right: QueryTerm
  let `operator`: QueryComparison.Operator
  let modifier: QueryComparison.Modifier
  let options: QueryComparison.Options
  /// The pattern of LIKE, where it is a constant.
  let like: LikePattern?
  /// The same test on a record's bytes, if that suffices.
  let onRecord: RecordTest?

  init(
    _ left: QueryTerm, _ operator: QueryComparison.Operator, _ right: QueryTerm, _ modifier: QueryComparison.Modifier,
    _ options: QueryComparison.Options
  ) {
    self.left = left
    self.right = right
    self.operator = `operator`
    self.modifier = modifier
    self.options = options
    if `operator` == .like, case .string(let pattern)? = right.constant {
      like = LikePattern(QueryText.folded(pattern, options))
    } else {
      like = nil
    }
    onRecord = modifier == .direct && options.isEmpty ? RecordTest(left, `operator`, right) : nil
  }
}
