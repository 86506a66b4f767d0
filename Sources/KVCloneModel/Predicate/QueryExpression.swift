/// A value that a predicate computes, or finds by a key path.
public indirect enum QueryExpression: Hashable, Sendable {
  /// A value that is known.
  case constant(QueryConstant)
  /// `{a, b}`: a list of values that are computed.
  case aggregate([QueryExpression])
  /// `SELF`: the object that the predicate is asked about.
  case `self`
  /// `$name`: a value that is filled in later, or that a subquery binds; the name is without the `$`.
  case variable(String)
  /// `a.b`: the names of properties, followed from a base, which is ``self`` where none is written.
  case keyPath(QueryExpression, [String])
  /// `tags.@count`, `items.@sum.price`: an operator on all that the base leads to, and the names behind it.
  case collection(QueryExpression, QueryCollectionOperator, [String])
  /// A function of its arguments; `a + b` is one too.
  case function(QueryFunction, [QueryExpression])
  /// `TERNARY(p, a, b)`: `a` where the predicate is true, else `b`.
  case conditional(QueryPredicate, QueryExpression, QueryExpression)
  /// `CAST(a, 'NSDate')`: the value as one of another type.
  case cast(QueryExpression, AttributeType)
  /// `SUBQUERY(tags, $tag, p)`: the members of a collection for which a predicate is true, which calls each by a name.
  case subquery(QueryExpression, variable: String, QueryPredicate)
  /// `a UNION b`: a set made of two.
  case setOperation(QueryExpression, QuerySetOperator, QueryExpression)
  /// `a[0]`: one member of a list.
  case index(QueryExpression, QueryIndex)
}

/// A value that is known before a predicate is asked.
public enum QueryConstant: Hashable, Sendable {
  /// No value.
  case null
  /// The value of an attribute.
  case value(AttributeValue)
  /// An object of a store.
  case object(ObjectID)
  /// Several of them.
  case list([QueryConstant])
}

/// What is made of all values that a key path leads to.
public enum QueryCollectionOperator: String, Hashable, Sendable, CaseIterable {
  /// How many there are.
  case count
  /// Their sum.
  case sum
  /// Their average.
  case avg
  /// The least of them.
  case min
  /// The greatest of them.
  case max
  /// All of them, each once.
  case distinctUnionOfObjects
  /// All of them.
  case unionOfObjects

  /// Finds an operator by its name in any letter case, without the `@`.
  init?(anyCase name: String) {
    guard let found = Self.allCases.first(where: { $0.rawValue.lowercased() == name.lowercased() }) else { return nil }
    self = found
  }
}

/// How a set is made of two.
public enum QuerySetOperator: String, Hashable, Sendable, CaseIterable {
  /// What is in one of them.
  case union = "UNION"
  /// What is in both.
  case intersect = "INTERSECT"
  /// What is in the first and not in the second.
  case minus = "MINUS"
}

/// Which member of a list is meant.
public enum QueryIndex: Hashable, Sendable {
  /// The member at a place, from 0; or the one of a key, for a dictionary.
  case expression(QueryExpression)
  /// The first member.
  case first
  /// The last member.
  case last
  /// None of them: how many there are.
  case size
}
