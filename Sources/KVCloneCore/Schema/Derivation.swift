package import KVCloneModel

/// How one derived attribute is computed, compiled for a schema: property codes instead of names.
///
/// An attribute that a subentity declares again with another expression is another derivation.
package final class Derivation: Sendable {
  /// Its place in ``DerivationPlan/all``: what it is made of has lower ones.
  package let index: Int
  /// The derived attribute's property code and type.
  package let code: UInt16
  package let type: AttributeType
  package let function: DerivedExpression.Function
  /// The relationships that lead to the source: to-one ones, or an aggregate's to-many one.
  package let hops: [CompiledRelationship]
  /// The attribute at their end; nil for the time and for counts.
  package let source: CompiledAttribute?
  /// Whether a change of one member can be worked into the value, instead of looking at all members again.
  let isIncremental: Bool

  init(
    index: Int, attribute: CompiledAttribute, function: DerivedExpression.Function, hops: [CompiledRelationship],
    source: CompiledAttribute?, isInCircle: Bool
  ) {
    self.index = index
    code = attribute.code
    type = attribute.description.type
    self.function = function
    self.hops = hops
    self.source = source
    // A source that is itself derived may change while a link is half made. Only where no circle of objects can lead
    // back to that link is the change sure to find both of its ends in step.
    isIncremental =
      DerivedAggregate.isIncremental(function, source?.description.type, type)
      && !(isInCircle && source?.description.isDerived == true)
  }

  /// Whether an object belongs to at most one list that is aggregated, and knows whose.
  var hasSingleOwner: Bool { hops[0].hasInverse && !hops[0].inverseIsToMany }
}

/// What a change means to a derivation: the object that changed stands behind so many of its relationships.
struct DerivationDependency: Sendable {
  let derivation: Derivation
  let hop: Int
}

/// What changes of one concrete entity's objects mean to derived attributes, their own and others'.
package final class EntityDerivations: Sendable {
  /// The entity's own derived attributes, sources first.
  package let own: [(derivation: Derivation, attribute: CompiledAttribute)]
  /// Own attributes that every change of an object touches: `now()`.
  let touched: [Derivation]
  /// By attribute code.
  let attributes: [UInt16: [DerivationDependency]]
  /// By relationship code, sources last: a list's change has to count with the values before it.
  let relationships: [UInt16: [DerivationDependency]]

  init(
    own: [(derivation: Derivation, attribute: CompiledAttribute)], attributes: [UInt16: [DerivationDependency]],
    relationships: [UInt16: [DerivationDependency]]
  ) {
    self.own = own
    touched = own.map(\.derivation).filter { $0.function == .now }
    self.attributes = attributes
    self.relationships = relationships.mapValues { $0.sorted { $0.derivation.index > $1.derivation.index } }
  }

  /// The derivation of one of the entity's own attributes; nil where another expression, or none, gives its value.
  package func attribute(of derivation: Derivation) -> CompiledAttribute? {
    own.first { $0.derivation === derivation }?.attribute
  }
}
