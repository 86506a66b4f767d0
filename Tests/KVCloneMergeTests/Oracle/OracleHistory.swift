/// A random model, a base, and the transactions of both sides since.
struct OracleHistory {
  let seed: UInt64
  let model: DictionaryModel
  /// The entities of inserted objects.
  let entities: [String]
  var baseEdits: [[DictionaryEdit]] = []
  var oursEdits: [[DictionaryEdit]] = []
  var theirsEdits: [[DictionaryEdit]] = []
  var options = DictionaryOptions()
  /// The number of merges after the first one.
  var roundCount = 2
  /// Whether the store is in files.
  var isOnDisk: Bool { seed % 8 == 0 }

  init(seed: UInt64) {
    var models = DictionaryGenerator(seed: seed)
    self.init(seed: seed, model: models.model())
  }

  /// A history of a given model, such as one of the corpus: of an entity and those that it is related to.
  init(seed: UInt64, model: DictionaryModel) {
    var models = DictionaryGenerator(seed: seed)
    let annotated = models.annotated(model)
    self.seed = seed
    self.model = annotated
    entities = models.neighbors(in: annotated)
    var source = EditSource(model: annotated, entities: entities, seed: seed)
    var state = DictionaryState(model: model)
    source.nextID = 1
    baseEdits = source.transactions(3 + source.random.below(6), from: &state, inserts: 100)
    baseEdits += source.transactions(6 + source.random.below(14), from: &state, inserts: 0, deletes: false)
    var (ours, theirs) = (state, state)
    source.nextID = 10_001
    oursEdits = source.transactions(1 + source.random.below(8), from: &ours, inserts: 15)
    source.nextID = 20_001
    theirsEdits = source.transactions(1 + source.random.below(8), from: &theirs, inserts: 15)
    options = source.options()
  }

  var base: DictionaryState { Self.state(DictionaryState(model: model), baseEdits) }
  var ours: DictionaryState { Self.state(base, oursEdits) }
  var theirs: DictionaryState { Self.state(base, theirsEdits) }

  /// The state after transactions. Those that do not apply any more, as after shrinking, change nothing.
  static func state(_ start: DictionaryState, _ edits: [[DictionaryEdit]]) -> DictionaryState {
    edits.reduce(start) { $0.applying($1) ?? $0 }
  }

  /// The history without transactions that do not apply.
  var valid: OracleHistory {
    var history = self
    var state = DictionaryState(model: model)
    history.baseEdits = Self.applicable(baseEdits, &state)
    var (ours, theirs) = (state, state)
    history.oursEdits = Self.applicable(oursEdits, &ours)
    history.theirsEdits = Self.applicable(theirsEdits, &theirs)
    return history
  }

  private static func applicable(_ edits: [[DictionaryEdit]], _ state: inout DictionaryState) -> [[DictionaryEdit]] {
    edits.filter { transaction in
      guard let next = state.applying(transaction) else { return false }
      state = next
      return true
    }
  }

  /// Removes transactions, then single edits, as long as the history still fails.
  func shrunk(while fails: (OracleHistory) -> Bool) -> OracleHistory {
    var history = self
    let lists: [WritableKeyPath<OracleHistory, [[DictionaryEdit]]>] = [\.theirsEdits, \.oursEdits, \.baseEdits]
    var isSmaller = true
    func attempt(_ change: (inout OracleHistory) -> Void) {
      var next = history
      change(&next)
      next = next.valid
      if fails(next) {
        history = next
        isSmaller = true
      }
    }
    while isSmaller {
      isSmaller = false
      if history.roundCount > 0 { attempt { $0.roundCount -= 1 } }
      for list in lists {
        for index in history[keyPath: list].indices.reversed() where index < history[keyPath: list].count {
          attempt { $0[keyPath: list].remove(at: index) }
        }
        for index in history[keyPath: list].indices {
          guard index < history[keyPath: list].count, history[keyPath: list][index].count > 1 else { continue }
          for edit in history[keyPath: list][index].indices.reversed() {
            guard index < history[keyPath: list].count, edit < history[keyPath: list][index].count else { continue }
            attempt { $0[keyPath: list][index].remove(at: edit) }
          }
        }
      }
    }
    return history
  }
}

/// Makes valid random transactions over a state.
struct EditSource {
  let model: DictionaryModel
  /// The entities of inserted objects.
  let entities: [String]
  var random: DictionaryRandom
  var values: DictionaryGenerator
  var nextID = 1

  init(model: DictionaryModel, entities: [String], seed: UInt64) {
    self.model = model
    self.entities = entities
    random = DictionaryRandom(seed: seed ^ 0x5EED)
    values = DictionaryGenerator(seed: seed ^ 0xFACE)
  }

  /// At most `count` transactions that the state accepts; `inserts` is the percentage of insertions.
  mutating func transactions(_ count: Int, from state: inout DictionaryState, inserts: Int, deletes: Bool = true)
    -> [[DictionaryEdit]]
  {
    var result: [[DictionaryEdit]] = []
    for _ in 0..<count {
      for _ in 0..<6 {
        guard let edits = random.isTrue(inserts) ? insertion(state) : change(state, deletes) else { continue }
        guard let next = state.applying(edits) else { continue }
        state = next
        result.append(edits)
        break
      }
    }
    return result
  }

  mutating func options() -> DictionaryOptions {
    var options = DictionaryOptions()
    options.policy = random.pick([nil, .ours, .theirs, nil]) ?? nil
    if random.isTrue(40) { options.answerSeed = random.next() }
    for entity in model.entities where random.isTrue(15) {
      if random.isTrue(40) {
        options.rules[entity.name] = random.pick([.ours, .theirs])
      } else if let attribute = random.pick(entity.attributes) {
        let rule: DictionaryRule? = random.pick(
          attribute.type.isNumber ? [.sum, .max, .skip, .ours] : [.theirs, .skip])
        options.rules["\(entity.name).\(attribute.name)"] = rule
      }
    }
    return options
  }

  private mutating func insertion(_ state: DictionaryState) -> [DictionaryEdit]? {
    guard let entity = random.pick(entities) else { return nil }
    let id = nextID
    nextID += 1
    var object: [String: DictionaryValue] = [:]
    for attribute in model.attributes(entity) where !attribute.isOptional || random.isTrue(70) {
      object[attribute.name] = values.value(attribute)
    }
    var edits = [DictionaryEdit.insert(id, entity: entity, values: object)]
    for relationship in model.relationships(entity) {
      let isNeeded = !relationship.isOptional || relationship.minimum > 0
      guard isNeeded || random.isTrue(50) else { continue }
      for _ in 0..<(relationship.isToMany ? max(1, relationship.minimum) : 1) {
        guard let target = random.pick(targets(relationship, state)) else { break }
        edits.append(
          relationship.isToMany
            ? .link(id, relationship: relationship.name, target: target, index: nil)
            : .setToOne(id, relationship: relationship.name, target: target))
      }
    }
    return edits
  }

  private func targets(_ relationship: DictionaryRelationship, _ state: DictionaryState) -> [Int] {
    state.objects.filter { model.isKind($0.value.entity, of: relationship.destination) }.keys.sorted()
  }

  private mutating func change(_ state: DictionaryState, _ deletes: Bool) -> [DictionaryEdit]? {
    // A few objects take most of the changes, so that the sides meet.
    let ids = state.objects.keys.sorted()
    guard let id = random.pick(random.isTrue(50) ? Array(ids.prefix(3)) : ids), let object = state.objects[id] else {
      return nil
    }
    if deletes, random.isTrue(12), let edits = shuffle(state) { return edits }
    switch random.below(100) {
    case ..<12:
      guard deletes else { return nil }
      let other = random.isTrue(25) ? random.pick(ids) : nil
      return [.delete([id] + [other].compactMap(\.self).filter { $0 != id })]
    case ..<18: return swap(id, object, state)
    case ..<45:
      guard let attribute = random.pick(model.attributes(object.entity)) else { return nil }
      let isNil = attribute.isOptional && random.isTrue(15)
      let first = DictionaryEdit.set(id, attribute: attribute.name, value: isNil ? nil : values.value(attribute))
      // Set and set back is no change.
      let back = DictionaryEdit.set(id, attribute: attribute.name, value: object.values[attribute.name])
      return random.isTrue(8) ? [first, back] : [first]
    default: return relink(id, object, state)
    }
  }

  /// Reorders a list with at least three members, which both sides can order differently.
  private mutating func shuffle(_ state: DictionaryState) -> [DictionaryEdit]? {
    let lists = state.objects.sorted { $0.key < $1.key }.flatMap { id, object in
      object.links.sorted { $0.key < $1.key }.filter { name, members in
        members.count > 2 && model.relationship(name, object.entity)?.isOrdered == true
      }.map { (id: id, name: $0.key, members: $0.value) }
    }
    guard let list = random.pick(lists) else { return nil }
    return [.reorder(list.id, relationship: list.name, members: random.shuffled(list.members))]
  }

  /// Exchanges the values of a constraint between two objects.
  private mutating func swap(_ id: Int, _ object: DictionaryObject, _ state: DictionaryState) -> [DictionaryEdit]? {
    guard let (owner, names) = model.constraints(object.entity).first else { return nil }
    let others = state.objects.keys.sorted().filter { other in
      other != id && state.objects[other].map { model.isKind($0.entity, of: owner) } ?? false
    }
    guard let other = random.pick(others) else { return nil }
    return names.filter { model.relationship($0, object.entity) == nil }.flatMap { name -> [DictionaryEdit] in
      [
        .set(id, attribute: name, value: state.objects[other]?.values[name]),
        .set(other, attribute: name, value: object.values[name]),
      ]
    }
  }

  private mutating func relink(_ id: Int, _ object: DictionaryObject, _ state: DictionaryState) -> [DictionaryEdit]? {
    guard let relationship = random.pick(model.relationships(object.entity)) else { return nil }
    let members = state.members(id, relationship.name)
    let target = random.pick(targets(relationship, state))
    guard relationship.isToMany else {
      return [.setToOne(id, relationship: relationship.name, target: random.isTrue(20) ? nil : target)]
    }
    if relationship.isOrdered, members.count > 1, random.isTrue(45) {
      return [.reorder(id, relationship: relationship.name, members: random.shuffled(members))]
    }
    if let member = random.pick(members), random.isTrue(30) {
      return [.unlink(id, relationship: relationship.name, target: member)]
    }
    if relationship.isOrdered, random.isTrue(40) {
      let added = random.shuffled(targets(relationship, state).filter { !members.contains($0) }).prefix(4)
      return added.map { .link(id, relationship: relationship.name, target: $0, index: nil) }
    }
    let isPlaced = relationship.isOrdered && random.isTrue(50)
    return target.map {
      [
        .link(
          id, relationship: relationship.name, target: $0, index: isPlaced ? random.below(members.count + 1) : nil)
      ]
    }
  }
}
