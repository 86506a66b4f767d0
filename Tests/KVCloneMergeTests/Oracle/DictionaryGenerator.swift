import Foundation

/// A seeded generator (SplitMix64) that gives the same numbers everywhere.
struct DictionaryRandom {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }

  mutating func below(_ limit: Int) -> Int { limit < 2 ? 0 : Int(next() % UInt64(limit)) }

  mutating func isTrue(_ percent: Int) -> Bool { below(100) < percent }

  mutating func pick<Element>(_ elements: [Element]) -> Element? {
    elements.isEmpty ? nil : elements[below(elements.count)]
  }

  mutating func shuffled<Element>(_ elements: [Element]) -> [Element] {
    var rest = elements
    var result: [Element] = []
    while !rest.isEmpty { result.append(rest.remove(at: below(rest.count))) }
    return result
  }
}

/// Random small models with every kind of property.
struct DictionaryGenerator {
  var random: DictionaryRandom
  private var relationshipCount = 0

  init(seed: UInt64) { random = DictionaryRandom(seed: seed) }

  mutating func model() -> DictionaryModel {
    var entities = [
      DictionaryEntity(name: "Base", parent: nil, isAbstract: random.isTrue(30)),
      DictionaryEntity(name: "Left", parent: "Base"), DictionaryEntity(name: "Other", parent: nil),
    ]
    if random.isTrue(40) { entities.append(DictionaryEntity(name: "Deep", parent: "Left")) }
    for index in entities.indices { entities[index].attributes = attributes(prefix: entities[index].name.lowercased()) }
    if random.isTrue(60) {
      entities[0].attributes.append(DictionaryAttribute(name: "code", type: .string, isOptional: random.isTrue(30)))
      entities[0].constraints = [["code"]]
    }
    for _ in 0..<(2 + random.below(4)) { addRelationship(&entities) }
    for index in entities.indices where random.isTrue(15) { addConstraint(&entities[index]) }
    var rank = 0
    for index in entities.indices {
      for position in entities[index].relationships.indices {
        entities[index].relationships[position].rank = rank
        rank += 1
      }
    }
    return DictionaryModel(entities: entities)
  }

  /// Adds a constraint of one or two properties that have few values, a to-one relationship among them.
  private mutating func addConstraint(_ entity: inout DictionaryEntity) {
    let attributes = entity.attributes.filter { $0.type == .string || $0.type == .date || $0.type == .integer32 }
    let targets = entity.relationships.filter { !$0.isToMany }
    let names = random.shuffled(attributes.map(\.name) + targets.map(\.name)).prefix(2)
    guard let first = names.first, names.contains(where: { name in attributes.contains { $0.name == name } }) else {
      return
    }
    entity.constraints.append(names.count == 2 && random.isTrue(60) ? Array(names) : [first])
  }

  private mutating func attributes(prefix: String) -> [DictionaryAttribute] {
    let types: [DictionaryType] = [
      .integer16, .integer32, .integer64, .double, .float, .decimal, .string, .date, .boolean, .binary, .composite,
    ]
    return random.shuffled(types).prefix(2 + random.below(3)).enumerated().map { index, type in
      var attribute = DictionaryAttribute(name: "\(prefix)\(index)", type: type)
      if type == .composite {
        attribute.elements = [
          DictionaryAttribute(name: "x", type: .integer64), DictionaryAttribute(name: "y", type: .string),
        ]
      } else {
        attribute.isOptional = random.isTrue(70)
      }
      return attribute
    }
  }

  /// A model with random rules of merging in its `userInfo`.
  mutating func annotated(_ model: DictionaryModel) -> DictionaryModel {
    var model = model
    for index in model.entities.indices {
      for place in model.entities[index].attributes.indices where random.isTrue(20) {
        let type = model.entities[index].attributes[place].type
        let values: [DictionaryRule] = type.isNumber ? [.sum, .sum, .max, .skip] : [.ours, .theirs, .skip]
        model.entities[index].attributes[place].role = type == .date ? .max : random.pick(values)
      }
      for place in model.entities[index].relationships.indices where random.isTrue(8) {
        model.entities[index].relationships[place].role = random.pick([.ours, .theirs, .skip])
      }
    }
    return model
  }

  /// The concrete entities of a random one and of those that it is related to; of all entities in a small model.
  mutating func neighbors(in model: DictionaryModel) -> [String] {
    let concrete = model.entities.filter { !$0.isAbstract }.map(\.name)
    guard concrete.count > 4, let first = random.pick(concrete) else { return concrete }
    let related = model.relationships(first).flatMap { model.concrete(kindOf: $0.destination) }
    return [first] + random.shuffled(Set(related).subtracting([first]).sorted()).prefix(4)
  }

  private mutating func addRelationship(_ entities: inout [DictionaryEntity]) {
    let number = relationshipCount
    relationshipCount += 1
    let (from, to) = (random.below(entities.count), random.below(entities.count))
    let kind = random.below(9)
    var first = DictionaryRelationship(name: "r\(number)", owner: entities[from].name, destination: entities[to].name)
    if kind == 0 || kind == 1 {
      // Without inverse.
      first.isToMany = kind == 1
      first.isOrdered = kind == 1 && random.isTrue(50)
      first.deleteRule = random.pick([.cascade, .deny, .noAction, .nullify, .nullify, .nullify, .nullify])!
      entities[from].relationships.append(first)
      return
    }
    if kind == 2 {
      // Its own inverse.
      first.destination = first.owner
      first.inverse = first.name
      first.isToMany = random.isTrue(50)
      first.isOrdered = first.isToMany && random.isTrue(30)
      first.deleteRule = random.pick([.cascade, .deny, .nullify, .nullify, .nullify, .nullify])!
      entities[from].relationships.append(first)
      return
    }
    var second = DictionaryRelationship(name: "r\(number)i", owner: entities[to].name, destination: entities[from].name)
    first.inverse = second.name
    second.inverse = first.name
    first.isToMany = kind != 3
    second.isToMany = kind == 4
    first.isOrdered = first.isToMany && random.isTrue(60)
    second.isOrdered = second.isToMany && random.isTrue(40)
    let rule = random.below(10)
    first.deleteRule = rule < 4 ? .cascade : rule == 4 ? .deny : .nullify
    if !second.isToMany && from != to && random.isTrue(20) {
      second.isOptional = false
      if first.deleteRule == .nullify { first.deleteRule = .cascade }
    }
    if first.isToMany && random.isTrue(10) { first.maximum = 4 }
    if first.isToMany && first.isOptional && random.isTrue(8) {
      first.minimum = 1 + random.below(2)
      first.isOptional = random.isTrue(50)
    }
    if second.isOptional && first.deleteRule == .nullify && random.isTrue(10) { first.deleteRule = .noAction }
    let isLeaf = second.isOptional && first.deleteRule != .cascade
    if isLeaf && random.isTrue(15) { second.deleteRule = random.pick([.cascade, .deny])! }
    entities[from].relationships.append(first)
    entities[to].relationships.append(second)
  }

  mutating func value(_ attribute: DictionaryAttribute) -> DictionaryValue {
    switch attribute.type {
    case .integer16: .integer(Int64(random.pick([0, 1, 2, 5, 32_767, -32_768, 300])!))
    case .integer32: .integer(Int64(random.pick([0, 1, 2, 7, 2_147_483_647])!))
    case .integer64: .integer(random.pick([0, 1, -3, 11, Int64.max, Int64.min])!)
    case .double: .double(random.pick([0, 0.1, 0.2, 1.5, -7, 1e16])!)
    case .float: .float(random.pick([0, 0.1, 2.5, -3, 1e7])!)
    case .decimal: .decimal(Decimal(random.pick([0, 1, -12, 305])!) / 100)
    case .string: .string(random.pick(["a", "b", "c", "d", "e", "f", "g"])!)
    case .date: .date(Double(random.below(5)) * 1_000)
    case .boolean: .boolean(random.isTrue(50))
    case .binary: .binary(Array(repeating: UInt8(random.below(3)), count: random.isTrue(50) ? 5 : 40))
    case .composite:
      random.isTrue(30)
        ? .composite(["x": .integer(Int64(random.below(3)))])
        : .composite(["x": .integer(Int64(random.below(3))), "y": .string(random.pick(["p", "q"])!)])
    }
  }
}
