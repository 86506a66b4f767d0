public import KVCloneModel

/// Changes of both sides of a merge that exclude each other.
///
/// A conflict is a value without any transaction: it can be shown, stored, and answered later (M12).
public struct ObjectConflict: Sendable, Hashable {
  /// The kinds of conflicts. The texts are stable.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// Both sides changed an attribute or a to-one relationship differently.
    case bothChanged
    /// Both sides changed the order of a list differently.
    case order
    /// Both sides gave an object different partners in a one-to-one relationship.
    case inverseTaken
    /// Ours deleted an object that theirs changed.
    case deletedOurs
    /// Theirs deleted an object that ours changed.
    case deletedTheirs
    /// A delete rule would delete an object that the side with the deletion had not deleted.
    case takenAlong
    /// Both sides have an object with the same values under a uniqueness constraint, and one of them is new.
    case notUnique
  }

  /// One of the three values of a conflict.
  public enum Value: Sendable, Hashable {
    /// The value of an attribute, or nil.
    case attribute(AttributeValue?)
    /// The target of a to-one relationship, or nil.
    case object(ObjectID?)
    /// The members of a list in their order.
    case members([ObjectID])
  }

  /// The kind.
  public let kind: Kind
  /// The id of the object. Of two objects with the same unique values, that of ours.
  public let id: ObjectID
  /// The object's concrete entity.
  public let entity: String
  /// The attribute, element (`composite.element`), relationship or constraint; nil for conflicts of whole objects.
  public let property: String?
  /// The second object: theirs with the same unique values, or the deleted object with the delete rule that would
  /// delete this one.
  public let other: ObjectID?
  /// The side with the deletion, for `deletedOurs`, `deletedTheirs` and `takenAlong`; nil for other kinds.
  public let side: MergeSide?
  /// The value in the base; nil for conflicts of whole objects.
  public let base: Value?
  /// The present value of ours.
  public let ours: Value?
  /// The present value of theirs.
  public let theirs: Value?
  /// The last change of the object by ours, if the history has it.
  public let oursChange: ObjectChange?
  /// The last change of the object by theirs, if the history has it.
  public let theirsChange: ObjectChange?
  /// A hash of everything that an answer depends on: base, ours and theirs. Values of blobs count by length and digest.
  public let fingerprint: UInt64

  /// The object's name, such as `Note/7`.
  public var object: String { "\(entity)/\(id.serial)" }

  /// The conflict in a few words, without values.
  package var summary: String {
    let place = property.map { "\(object).\($0)" } ?? object
    return switch kind {
    case .bothChanged: "both sides changed \(place)"
    case .order: "both sides changed the order of \(place)"
    case .inverseTaken: "both sides gave \(object) another partner in \(property ?? "a relationship")"
    case .deletedOurs: "ours deleted \(object), and theirs changed it"
    case .deletedTheirs: "theirs deleted \(object), and ours changed it"
    case .takenAlong: "the deletion of another object would also delete \(object) by a delete rule"
    case .notUnique: "both sides have an object with the values of \(object) under \(property ?? "a constraint")"
    }
  }
}

extension ObjectConflict {
  /// Creates the part of a conflict that an answer is bound to, from its stored form.
  package init(
    _ kind: Kind, _ id: ObjectID, entity: String, property: String?, other: ObjectID?, fingerprint: UInt64
  ) {
    self.init(
      kind: kind, id: id, entity: entity, property: property, other: other, side: nil, base: nil, ours: nil,
      theirs: nil, oursChange: nil, theirsChange: nil, fingerprint: fingerprint)
  }
}

extension ObjectConflict {
  /// The identity of a conflict in all plans of the same two sides.
  struct Place: Hashable, Comparable {
    let id: ObjectID
    let kind: Kind
    let property: String?
    let other: ObjectID?

    static func < (left: Self, right: Self) -> Bool {
      (left.id, left.kind.rank, left.property ?? "", left.other?.rawValue ?? 0)
        < (right.id, right.kind.rank, right.property ?? "", right.other?.rawValue ?? 0)
    }
  }

  var place: Place {
    // The deleted object may change without any change of the question.
    Place(id: id, kind: kind, property: property, other: kind == .takenAlong ? nil : other)
  }
}

extension ObjectConflict {
  /// The same conflict in the opposite direction (M17). The fingerprint is unchanged.
  var exchanged: ObjectConflict {
    let isPair = kind == .notUnique
    return ObjectConflict(
      kind: kind.exchanged, id: isPair ? other ?? id : id, entity: entity, property: property,
      other: isPair ? id : other, side: side?.other, base: base, ours: theirs, theirs: ours,
      oursChange: theirsChange, theirsChange: oursChange, fingerprint: fingerprint)
  }
}

extension ObjectConflict.Kind {
  fileprivate var exchanged: Self {
    switch self {
    case .deletedOurs: .deletedTheirs
    case .deletedTheirs: .deletedOurs
    default: self
    }
  }

  var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
