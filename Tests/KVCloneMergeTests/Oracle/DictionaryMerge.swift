/// A merge of whole states by the rules M1–M5, M7, M14 and M17, written without any regard for cost.
struct DictionaryMerge {
  struct Place: Hashable {
    let object: Int
    let property: String
  }

  let model: DictionaryModel
  let base: DictionaryState
  let ours: DictionaryState
  let theirs: DictionaryState
  let options: DictionaryOptions

  /// Every conflict with its answer; nil is open.
  var conflicts: [DictionaryConflict: DictionaryAnswer?] = [:]
  /// Violations of the model by the result, in words.
  var broken: [String] = []
  var result: DictionaryState
  /// Objects that the result has.
  var alive: Set<Int> = []
  /// The side that deleted an object that the other side has, and the result does not.
  var deleters: [Int: DictionarySide] = [:]
  /// Objects and places with open conflicts: no conflict follows from them.
  var openObjects: Set<Int> = []
  var openPlaces: Set<Place> = []
  /// The merged members of compared ends, including those of deleted objects.
  var links: [Place: [Int]] = [:]
  /// Dropped objects of unions, with those that replace them.
  var united: [Int: Int] = [:]

  init(
    base: DictionaryState, ours: DictionaryState, theirs: DictionaryState,
    options: DictionaryOptions = DictionaryOptions()
  ) {
    model = base.model
    self.base = base
    self.ours = ours
    self.theirs = theirs
    self.options = options
    result = DictionaryState(model: base.model)
    decideObjects()
    mergeValues()
    mergeLinks()
    takeAlong()
    setLinks()
    mergeOrders()
    unite()
    if !hasOpenConflicts { broken += result.brokenRules() }
  }

  var hasOpenConflicts: Bool { conflicts.values.contains { $0 == nil } }
  var all: Set<Int> { Set(base.objects.keys).union(ours.objects.keys).union(theirs.objects.keys) }

  func state(_ side: DictionarySide) -> DictionaryState { side == .ours ? ours : theirs }

  func entity(_ id: Int) -> String {
    (base.objects[id] ?? ours.objects[id] ?? theirs.objects[id])?.entity ?? ""
  }

  /// The only side that has the object now; nil if both have it.
  func onlySide(_ id: Int) -> DictionarySide? {
    if theirs.objects[id] == nil { return .ours }
    return ours.objects[id] == nil ? .theirs : nil
  }

  // MARK: Rules

  /// The rules of a property from the strongest to the weakest; without a property, those of whole objects.
  func rules(_ entity: String, _ path: String?, role: DictionaryRule? = nil) -> [DictionaryRule] {
    var found: [DictionaryRule] = []
    let lineage = model.lineage(entity).map(\.name)
    if let path {
      let parts = path.split(separator: ".").map(String.init)
      for name in lineage {
        for count in stride(from: parts.count, through: 1, by: -1) {
          if let rule = options.rules[([name] + parts.prefix(count)).joined(separator: ".")] { found.append(rule) }
        }
      }
    }
    found += lineage.compactMap { options.rules[$0] }
    if let policy = options.policy { found.append(policy == .ours ? .ours : .theirs) }
    if let role { found.append(role) }
    return found
  }

  func skips(_ id: Int, _ relationship: DictionaryRelationship) -> Bool {
    rules(entity(id), relationship.name, role: relationship.role).first == .skip
  }

  /// Records a conflict and returns its answer.
  mutating func ask(
    _ kind: DictionaryConflict.Kind, _ id: Int, _ property: String? = nil, other: Int? = nil, rules: [DictionaryRule]
  ) -> DictionaryAnswer? {
    let conflict = DictionaryConflict(kind: kind, object: id, property: property, other: other)
    let attribute = property.flatMap { model.attribute(at: $0, entity(id)) }
    var answer = options.answer(to: conflict, attribute) ?? rules.lazy.compactMap(\.side).first.map { .init($0) }
    if answer == .refuse { answer = nil }
    conflicts[conflict] = .some(answer)
    return answer
  }

  // MARK: Objects (M4)

  private mutating func decideObjects() {
    for id in all.sorted() {
      let isInBase = base.objects[id] != nil
      guard let side = onlySide(id) else {
        alive.insert(id)
        continue
      }
      if ours.objects[id] == nil && theirs.objects[id] == nil { continue }
      if !isInBase {
        alive.insert(id)
        continue
      }
      let deleter = side.other
      guard isChanged(id, by: side) else {
        deleters[id] = deleter
        continue
      }
      let kind: DictionaryConflict.Kind = deleter == .ours ? .deletedOurs : .deletedTheirs
      switch ask(kind, id, rules: rules(entity(id), nil)) {
      case DictionaryAnswer(side)?: alive.insert(id)
      case nil:
        openObjects.insert(id)
        if side == .ours { alive.insert(id) }
      default: deleters[id] = deleter
      }
    }
    bringBackNeeded()
  }

  /// Brings back what kept objects need by mandatory relationships, of the same deletion.
  private mutating func bringBackNeeded() {
    var waiting = alive.filter { base.objects[$0] != nil && onlySide($0) != nil && !openObjects.contains($0) }.sorted()
    while let id = waiting.popLast() {
      guard let side = onlySide(id) else { continue }
      for relationship in model.relationships(entity(id)) {
        let members = state(side).members(id, relationship.name)
        if members.filter(alive.contains).count >= relationship.needed { continue }
        for member in members where onlySide(member) == side && !openObjects.contains(member) {
          guard alive.insert(member).inserted else { continue }
          deleters[member] = nil
          waiting.append(member)
        }
      }
    }
  }

  /// Whether a stored attribute differs from the base, or a link was gained from whichever end.
  private func isChanged(_ id: Int, by side: DictionarySide) -> Bool {
    let now = state(side)
    for attribute in model.attributes(entity(id)) {
      let old = base.objects[id]?.values[attribute.name]
      let new = now.objects[id]?.values[attribute.name]
      if old == new { continue }
      if side == .ours { return true }
      if attribute.type == .composite {
        for element in attribute.elements where old.element(element.name) != new.element(element.name) {
          let path = "\(attribute.name).\(element.name)"
          if rules(entity(id), path, role: attribute.role).first != .skip { return true }
        }
      } else if rules(entity(id), attribute.name, role: attribute.role).first != .skip {
        return true
      }
    }
    for (holder, object) in now.objects {
      for relationship in model.relationships(object.entity) where model.isCompared(relationship) {
        let old = base.members(holder, relationship.name)
        for member in now.members(holder, relationship.name) where !old.contains(member) {
          guard holder == id || member == id else { continue }
          let isInserted = base.objects[holder] == nil
          if side == .theirs, !isInserted, skips(holder, relationship) { continue }
          return true
        }
      }
    }
    return false
  }

  // MARK: Values (M1, M5, M7)

  private mutating func mergeValues() {
    for id in all.sorted() {
      if ours.objects[id] == nil && theirs.objects[id] == nil { continue }
      var object = DictionaryObject(entity: entity(id))
      if let side = onlySide(id) {
        object.values = state(side).objects[id]?.values ?? [:]
      } else {
        for attribute in model.attributes(object.entity) { object.values[attribute.name] = merged(id, attribute) }
      }
      if alive.contains(id) { result.objects[id] = object }
    }
  }

  private mutating func merged(_ id: Int, _ attribute: DictionaryAttribute) -> DictionaryValue? {
    let three = [base, ours, theirs].map { $0.objects[id]?.values[attribute.name] }
    guard attribute.type == .composite else {
      return merged(id, attribute.name, attribute.type, three, role: attribute.role)
    }
    var elements: [String: DictionaryValue] = [:]
    for element in attribute.elements {
      let path = "\(attribute.name).\(element.name)"
      let values = three.map { $0.element(element.name) }
      elements[element.name] = merged(id, path, element.type, values, role: attribute.role)
    }
    return elements.isEmpty ? nil : .composite(elements)
  }

  private mutating func merged(
    _ id: Int, _ path: String, _ type: DictionaryType, _ three: [DictionaryValue?], role: DictionaryRule?
  ) -> DictionaryValue? {
    let rules = rules(entity(id), path, role: role)
    let (base, ours, theirs) = (three[0], three[1], three[2])
    if theirs == base || rules.first == .skip { return ours }
    // Differences of both sides are added even if both are equal.
    let isSum = rules.first == .sum && type.isNumber && ours != base
    if isSum, let sum = type.sum(base, ours, theirs) { return sum }
    if ours == base || (ours == theirs && !isSum) { return theirs }
    if rules.first == .max, let greatest = type.greatest(ours, theirs) { return greatest }
    switch ask(.bothChanged, id, path, rules: rules) {
    case .theirs: return theirs
    case .value(let value): return value
    case nil: openPlaces.insert(Place(object: id, property: path))
    default: break
    }
    return ours
  }
}

extension DictionaryValue? {
  func element(_ name: String) -> DictionaryValue? {
    if case .composite(let elements) = self { return elements[name] }
    return nil
  }
}

extension DictionaryType {
  var isNumber: Bool { isInteger || self == .double || self == .float || self == .decimal }
  private var isInteger: Bool { self == .integer16 || self == .integer32 || self == .integer64 }

  private func holds(_ value: Int64) -> Bool {
    switch self {
    case .integer16: Int16(exactly: value) != nil
    case .integer32: Int32(exactly: value) != nil
    default: true
    }
  }

  /// The base with both differences, or nil if a value is missing or the type cannot hold the result.
  func sum(_ base: DictionaryValue?, _ ours: DictionaryValue?, _ theirs: DictionaryValue?) -> DictionaryValue? {
    switch (base, ours, theirs) {
    case (.integer(let base), .integer(let ours), .integer(let theirs)):
      let exact = Int128(ours) + Int128(theirs) - Int128(base)
      guard let value = Int64(exactly: exact), holds(value) else { return nil }
      return .integer(value)
    case (.double(let base), .double(let ours), .double(let theirs)):
      let value = base + ((ours - base) + (theirs - base))
      return value.isFinite ? .double(value) : nil
    case (.float(let base), .float(let ours), .float(let theirs)):
      let value = base + ((ours - base) + (theirs - base))
      return value.isFinite ? .float(value) : nil
    case (.decimal(let base), .decimal(let ours), .decimal(let theirs)): return .decimal(ours + theirs - base)
    default: return nil
    }
  }

  func greatest(_ ours: DictionaryValue?, _ theirs: DictionaryValue?) -> DictionaryValue? {
    switch (ours, theirs) {
    case (.integer(let ours), .integer(let theirs)): .integer(Swift.max(ours, theirs))
    case (.double(let ours), .double(let theirs)): .double(Swift.max(ours, theirs))
    case (.float(let ours), .float(let theirs)): .float(Swift.max(ours, theirs))
    case (.decimal(let ours), .decimal(let theirs)): .decimal(Swift.max(ours, theirs))
    case (.date(let ours), .date(let theirs)): .date(Swift.max(ours, theirs))
    default: nil
    }
  }
}
