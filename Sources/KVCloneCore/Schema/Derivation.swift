package import KVCloneModel

/// The compiled derivation of an attribute: property codes instead of names.
///
/// An attribute that a subentity redeclares with another expression has a separate derivation.
package final class Derivation: Sendable {
  /// Its index in ``DerivationPlan/all``: its sources have lower ones.
  package let index: Int
  /// The derived attribute's property code and type.
  package let code: UInt16
  package let type: AttributeType
  package let function: DerivedExpression.Function
  /// The relationships on the path to the source: to-one ones, or an aggregate's to-many one.
  package let hops: [CompiledRelationship]
  /// The source attribute; nil for the time and for counts.
  package let source: CompiledAttribute?
  /// Whether the value can be updated with the change of one member, without reading all members again.
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
    // A source that is itself derived may change while a link is only partly set. Both of its ends are certainly
    // consistent only if no cycle of objects can lead back to that link.
    isIncremental =
      DerivedAggregate.isIncremental(function, source?.description.type, type)
      && !(isInCircle && source?.description.isDerived == true)
  }

  /// Whether an object belongs to at most one aggregated list, and references its owner.
  var hasSingleOwner: Bool { hops[0].hasInverse && !hops[0].inverseIsToMany }
}

/// The effect of a change on a derivation: the changed object is behind this many of its relationships.
struct DerivationDependency: Sendable {
  let derivation: Derivation
  let hop: Int
}

/// The effects of one concrete entity's changes on derived attributes, its own and others'.
package final class EntityDerivations: Sendable {
  /// The entity's own derived attributes, sources first.
  package let own: [(derivation: Derivation, attribute: CompiledAttribute)]
  /// Own attributes that depend on every change of an object: `now()`.
  let touched: [Derivation]
  /// By attribute code.
  let attributes: [UInt16: [DerivationDependency]]
  /// By relationship code, sources last: a list's change has to be applied with the values before it.
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

  /// The derivation of one of the entity's own attributes; nil if another expression, or none, defines its value.
  package func attribute(of derivation: Derivation) -> CompiledAttribute? {
    own.first { $0.derivation === derivation }?.attribute
  }
}
