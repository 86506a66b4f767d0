/// An expression of a predicate: a constant, a key path, a function or a subquery.
public indirect enum QueryExpression: Hashable, Sendable {
  /// A constant value.
  case constant(QueryConstant)
  /// `{a, b}`: a list of computed values.
  case aggregate([QueryExpression])
  /// `SELF`: the object that the predicate is evaluated on.
  case `self`
  /// `$name`: a variable that is substituted later, or that a subquery binds. The name does not contain the `$`.
  case variable(String)
  /// `a.b`: property names, followed from a base expression. The base defaults to ``self``.
  case keyPath(QueryExpression, [String])
  /// `tags.@count`, `items.@sum.price`: an operator on all values of the base expression, and the property names after
  /// it.
  case collection(QueryExpression, QueryCollectionOperator, [String])
  /// A function call; `a + b` is also one.
  case function(QueryFunction, [QueryExpression])
  /// `TERNARY(p, a, b)`: `a` if the predicate is true, otherwise `b`.
  case conditional(QueryPredicate, QueryExpression, QueryExpression)
  /// `CAST(a, 'NSDate')`: the value converted to another type.
  case cast(QueryExpression, AttributeType)
  /// `SUBQUERY(tags, $tag, p)`: the members of a collection that match a predicate. The variable names the member.
  case subquery(QueryExpression, variable: String, QueryPredicate)
  /// `a UNION b`: a set operation on two collections.
  case setOperation(QueryExpression, QuerySetOperator, QueryExpression)
  /// `a[0]`: a member of a list.
  case index(QueryExpression, QueryIndex)
}

/// A constant in a predicate.
public enum QueryConstant: Hashable, Sendable {
  /// No value (nil).
  case null
  /// An attribute value.
  case value(AttributeValue)
  /// An object of a store.
  case object(ObjectID)
  /// A list of constants.
  case list([QueryConstant])
}

/// An operator that combines all values of a key path.
public enum QueryCollectionOperator: String, Hashable, Sendable, CaseIterable {
  /// The number of values.
  case count
  /// The sum of the values.
  case sum
  /// The average of the values.
  case avg
  /// The minimum of the values.
  case min
  /// The maximum of the values.
  case max
  /// All distinct values.
  case distinctUnionOfObjects
  /// All values, including duplicates.
  case unionOfObjects

  /// Finds an operator by its case-insensitive name, without the `@`.
  init?(anyCase name: String) {
    guard let found = Self.allCases.first(where: { $0.rawValue.lowercased() == name.lowercased() }) else { return nil }
    self = found
  }
}

/// A set operation on two collections.
public enum QuerySetOperator: String, Hashable, Sendable, CaseIterable {
  /// The members of either collection.
  case union = "UNION"
  /// The members of both collections.
  case intersect = "INTERSECT"
  /// The members of the first collection that are not in the second.
  case minus = "MINUS"
}

/// The index of a list member.
public enum QueryIndex: Hashable, Sendable {
  /// The member at a position, counted from 0; for a dictionary, the value of a key.
  case expression(QueryExpression)
  /// The first member.
  case first
  /// The last member.
  case last
  /// The number of members instead of a member.
  case size
}
