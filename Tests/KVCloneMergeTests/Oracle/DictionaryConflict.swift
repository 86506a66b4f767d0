struct DictionaryConflict: Hashable {
  enum Kind: String, Hashable {
    case bothChanged, order, inverseTaken, deletedOurs, deletedTheirs, takenAlong, notUnique
  }

  var kind: Kind
  var object: Int
  /// The property; nil for whole objects and for constraints.
  var property: String?
  /// The second object of `notUnique`.
  var other: Int?

  /// The conflict of the opposite direction (M17).
  var exchanged: DictionaryConflict {
    var conflict = self
    switch kind {
    case .deletedOurs: conflict.kind = .deletedTheirs
    case .deletedTheirs: conflict.kind = .deletedOurs
    case .notUnique:
      conflict.object = other ?? object
      conflict.other = object
    default: break
    }
    return conflict
  }
}

struct DictionaryOptions {
  var policy: DictionarySide?
  /// By entity, by `Entity.property`, or by `Entity.composite.element`.
  var rules: [String: DictionaryRule] = [:]
  /// The answers of the closure. A missing conflict is left to the rules.
  var answers: [DictionaryConflict: DictionaryAnswer] = [:]
}

enum DictionaryAnswer: Hashable {
  case ours, theirs, refuse

  var side: DictionarySide? { self == .refuse ? nil : self == .ours ? .ours : .theirs }
}
