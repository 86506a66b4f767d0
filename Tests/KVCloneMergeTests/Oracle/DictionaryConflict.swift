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

/// The resolution of a conflict.
enum DictionaryAnswer: Hashable {
  case ours, theirs, refuse
  /// A value for an attribute or an element.
  case value(DictionaryValue?)
  /// No target, or no partner.
  case nothing

  init(_ side: DictionarySide) { self = side == .ours ? .ours : .theirs }

  var exchanged: DictionaryAnswer { self == .ours ? .theirs : self == .theirs ? .ours : self }
}

/// The options of a merge.
struct DictionaryOptions {
  var policy: DictionarySide?
  /// By entity, by `Entity.property`, or by `Entity.composite.element`.
  var rules: [String: DictionaryRule] = [:]
  /// The seed of the answers of the closure; nil for a merge without one.
  var answerSeed: UInt64?
  /// Whether the closure refuses every conflict.
  var refusesAll = false
  private var isExchanged = false

  init(policy: DictionarySide? = nil, refusesAll: Bool = false) {
    self.policy = policy
    self.refusesAll = refusesAll
  }

  /// The same options for the opposite direction.
  var exchanged: DictionaryOptions {
    var options = self
    options.policy = policy?.other
    options.rules = rules.mapValues(\.exchanged)
    options.isExchanged.toggle()
    return options
  }

  /// Returns the answer of the closure, which depends on the conflict alone; nil leaves it to weaker rules.
  ///
  /// - Parameter attribute: the attribute or element of the conflict; nil for other conflicts.
  func answer(to conflict: DictionaryConflict, _ attribute: DictionaryAttribute?) -> DictionaryAnswer? {
    if refusesAll { return .refuse }
    guard let answerSeed else { return nil }
    let asked = isExchanged ? conflict.exchanged : conflict
    var random = DictionaryRandom(seed: answerSeed ^ asked.stableHash)
    let answer = Self.answer(to: asked, attribute, &random)
    return isExchanged ? answer?.exchanged : answer
  }

  private static func answer(
    to conflict: DictionaryConflict, _ attribute: DictionaryAttribute?, _ random: inout DictionaryRandom
  ) -> DictionaryAnswer? {
    switch random.below(100) {
    case ..<20: return nil
    case ..<22: return .refuse
    case ..<55: return .ours
    case ..<85: return .theirs
    default: break
    }
    if let attribute {
      var values = DictionaryGenerator(seed: random.next())
      return .value(attribute.isOptional && random.isTrue(20) ? nil : values.value(attribute))
    }
    return conflict.kind == .bothChanged || conflict.kind == .inverseTaken ? .nothing : .ours
  }
}

extension DictionaryConflict {
  /// A hash that is equal in all processes.
  fileprivate var stableHash: UInt64 {
    var hash: UInt64 = 14_695_981_039_346_656_037
    for byte in "\(kind.rawValue) \(object) \(property ?? "-") \(other ?? 0)".utf8 {
      hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211
    }
    return hash
  }
}
