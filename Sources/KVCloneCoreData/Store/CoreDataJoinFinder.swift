import KVCloneModel

/// Finds the table with the links of each many-to-many relationship.
///
/// Core Data names a table of links after one of the two relationships, and each of its two columns after the
/// relationship that leads to the objects with the column's keys, and their entity: `Z_3SHOWS (Z_3ARTWORKS1,
/// Z_11SHOWS)`. Column names are unique across all tables of links; a number is appended if one is taken, as here:
/// another table has `Z_3ARTWORKS`. A relationship may also be called `artworks1`. An exact name therefore takes
/// precedence over one with a number, and a table that belongs to one pair cannot belong to another. Pairs with two
/// interpretations of the same rank are rejected.
struct CoreDataJoinFinder {
  /// A to-many relationship with a table of links, and the entity that declares it.
  struct Pair {
    let entity: String
    let relationship: RelationshipDescription
    let inverse: (entityName: String, relationship: RelationshipDescription)?
    /// The entity that declares the inverse.
    let inverseEntity: String?

    var isOwnInverse: Bool { inverse?.relationship.name == relationship.name && inverseEntity == entity }
  }

  /// A possible table, and the keys in its columns.
  struct Reading {
    let table: Int
    let ownerColumn: Int
    let memberColumn: Int
    /// Lower is better.
    let rank: Int
  }

  /// The result for a pair.
  enum Outcome {
    case found(Reading)
    case none
    /// Several tables match, or the only one may belong to another pair.
    case ambiguous
  }

  /// The tables that have the form of tables of links.
  let tables: [SQLiteTable]
  private let model: ManagedObjectModel
  /// Z_ENT by name.
  private let numbers: [String: Int64]
  /// The root entity's number, by entity number.
  private let roots: [Int64: Int64]
  private let names: [Int64: String]
  private var exact: [Key: [Entry]] = [:]
  /// With the roots' numbers instead of the entities' own.
  private var related: [Key: [Entry]] = [:]

  /// A lookup key: the relationships' names in upper case and the numbers of their entities.
  private struct Key: Hashable {
    let member: String
    let memberNumber: Int64
    /// Nil if the owners' column may have any name, because there is no inverse to be named after.
    let owner: String?
    /// Nil for REFLEXIVE, which has none.
    let ownerNumber: Int64?
  }

  private struct Entry {
    let table: Int
    let ownerColumn: Int
    let memberColumn: Int
    let owner: JoinColumn
    let member: JoinColumn
    /// The number of names that were interpreted as having a number appended.
    let countedNames: Int
  }

  /// - Parameter check: called for every table, and may cancel the search.
  init(
    _ all: [String: SQLiteTable], _ model: ManagedObjectModel, _ numbers: [String: Int64],
    _ check: () throws(SQLiteError) -> Void
  ) throws(SQLiteError) {
    self.model = model
    self.numbers = numbers
    var roots: [Int64: Int64] = [:]
    for (name, number) in numbers { roots[number] = model.rootEntity(of: name).flatMap { numbers[$0] } ?? number }
    self.roots = roots
    names = Dictionary(numbers.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
    tables = all.filter { $0.key.hasPrefix("Z_") && $0.key.dropFirst(2).first?.isNumber ?? false }
      .sorted { $0.key < $1.key }.map(\.value)
    for place in tables.indices {
      try check()
      add(place)
    }
  }

  private mutating func add(_ place: Int) {
    let columns = tables[place].columns
    let links = columns.indices.filter { !columns[$0].name.uppercased().hasPrefix("Z_FOK_") }
    guard links.count == 2 else { return }
    for (ownerColumn, memberColumn) in [(links[0], links[1]), (links[1], links[0])] {
      guard let member = JoinColumn(columns[memberColumn].name), let memberNumber = member.number,
        let owner = JoinColumn(columns[ownerColumn].name)
      else { continue }
      var ownerNames: [(name: String?, isCounted: Bool)] = [(name: nil, isCounted: false)]
      for reading in owner.readings { ownerNames.append((name: reading.name, isCounted: reading.isCounted)) }
      for (memberName, isMemberCounted) in member.readings {
        for (ownerName, isOwnerCounted) in ownerNames {
          let entry = Entry(
            table: place, ownerColumn: ownerColumn, memberColumn: memberColumn, owner: owner, member: member,
            countedNames: (isMemberCounted ? 1 : 0) + (isOwnerCounted ? 1 : 0))
          let key = Key(
            member: memberName, memberNumber: memberNumber, owner: ownerName, ownerNumber: owner.number)
          exact[key, default: []].append(entry)
          let above = Key(
            member: memberName, memberNumber: roots[memberNumber] ?? memberNumber, owner: ownerName,
            ownerNumber: owner.number.map { roots[$0] ?? $0 })
          related[above, default: []].append(entry)
        }
      }
    }
  }

  // MARK: Interpretations of one pair

  private func readings(of pair: Pair) -> [Reading] {
    // A column has the number of the entity that declares a relationship, or of its destination.
    let owners = Self.distinct([pair.entity, pair.inverse?.relationship.destinationEntityName])
    let members = Self.distinct([pair.relationship.destinationEntityName, pair.inverse?.entityName])
    let ownerNumbers = owners.compactMap { numbers[$0] }
    let memberNumbers = members.compactMap { numbers[$0] }
    var result: [Reading] = []
    var seen: Set<[Int]> = []
    func take(_ entries: [Entry], isExact: Bool) {
      for entry in entries {
        // For a relationship that is its own inverse, both interpretations are equivalent.
        let place = pair.isOwnInverse ? [entry.table] : [entry.table, entry.ownerColumn]
        guard seen.insert(place).inserted else { continue }
        let rank = 8 * entry.countedNames + (isExact ? 0 : 2) + (isNamed(tables[entry.table], pair) ? 0 : 1)
        result.append(
          Reading(
            table: entry.table, ownerColumn: entry.ownerColumn, memberColumn: entry.memberColumn, rank: rank))
      }
    }
    take(lookUp(exact, pair, ownerNumbers, memberNumbers), isExact: true)
    let above = lookUp(
      related, pair, Self.distinct(ownerNumbers.map { roots[$0] }), Self.distinct(memberNumbers.map { roots[$0] }))
    take(
      above.filter { isRelated($0.member.number, to: members) && isRelated($0.owner.number, to: owners) },
      isExact: false)
    return result
  }

  private func lookUp(
    _ index: [Key: [Entry]], _ pair: Pair, _ owners: [Int64], _ members: [Int64]
  ) -> [Entry] {
    let member = pair.relationship.name.uppercased()
    let owner = pair.inverse?.relationship.name.uppercased()
    var result: [Entry] = []
    for number in members {
      for ownerNumber in owners {
        result += index[Key(member: member, memberNumber: number, owner: owner, ownerNumber: ownerNumber)] ?? []
      }
      if pair.isOwnInverse || pair.inverse == nil {
        result +=
          index[Key(member: member, memberNumber: number, owner: JoinColumn.reflexive, ownerNumber: nil)] ?? []
      }
    }
    // Exact names before those with a number.
    return result.sorted { $0.countedNames < $1.countedNames }
  }

  private static func distinct<Item: Hashable>(_ items: [Item?]) -> [Item] {
    var seen: Set<Item> = []
    return items.compactMap { $0 }.filter { seen.insert($0).inserted }
  }

  /// Whether it is the number of one of these entities, or of an ancestor or descendant; REFLEXIVE always matches.
  private func isRelated(_ number: Int64?, to entities: [String]) -> Bool {
    guard let number else { return true }
    guard let name = names[number] else { return false }
    return entities.contains { model.entity(name, isKindOf: $0) || model.entity($0, isKindOf: name) }
  }

  private func isNamed(_ table: SQLiteTable, _ pair: Pair) -> Bool {
    guard let name = JoinColumn(table.name)?.name else { return false }
    return name == pair.relationship.name.uppercased() || name == pair.inverse?.relationship.name.uppercased()
  }

  // MARK: All pairs

  /// Finds the table of each pair, from the unambiguous ones to those that follow from them.
  ///
  /// - Parameter check: called for every pair, and may cancel the search.
  func outcomes(of pairs: [Pair], _ check: () throws(SQLiteError) -> Void) throws(SQLiteError) -> [Outcome] {
    var readings: [[Reading]] = []
    for pair in pairs {
      try check()
      readings.append(self.readings(of: pair))
    }
    var outcomes: [Outcome?] = Array(repeating: nil, count: pairs.count)
    var isTaken = [Bool](repeating: false, count: tables.count)
    for rank in Set(readings.joined().map(\.rank)).sorted() {
      try check()
      assign(rank, readings, &outcomes, &isTaken)
    }
    return outcomes.map { $0 ?? .none }
  }

  /// Assigns the remaining tables to the remaining pairs, by interpretations of one rank.
  private func assign(
    _ rank: Int, _ readings: [[Reading]], _ outcomes: inout [Outcome?], _ isTaken: inout [Bool]
  ) {
    var choices: [Int: [Reading]] = [:]
    /// The possible pairs of each table, once for each interpretation.
    var claims: [Int: [Int]] = [:]
    var left: [Int: Int] = [:]
    for pair in readings.indices where outcomes[pair] == nil {
      let fitting = readings[pair].filter { $0.rank == rank && !isTaken[$0.table] }
      if fitting.isEmpty { continue }
      choices[pair] = fitting
      left[pair] = fitting.count
      for reading in fitting { claims[reading.table, default: []].append(pair) }
    }
    var certain = left.filter { $0.value == 1 }.map(\.key).sorted(by: >)
    while let pair = certain.popLast() {
      guard outcomes[pair] == nil, let reading = choices[pair]?.first(where: { !isTaken[$0.table] }) else { continue }
      isTaken[reading.table] = true
      let others = (claims[reading.table] ?? []).filter { $0 != pair }
      outcomes[pair] = .found(reading)
      for other in others where outcomes[other] == nil {
        left[other, default: 0] -= 1
        if left[other] == 1 { certain.append(other) }
        if left[other] == 0 {
          // It has an equal claim to the table, so both are ambiguous.
          outcomes[other] = .ambiguous
          outcomes[pair] = .ambiguous
        }
      }
    }
    for pair in choices.keys where outcomes[pair] == nil { outcomes[pair] = .ambiguous }
  }
}

/// `Z_3ARTWORKS1`: an entity's number, a relationship's name, and optionally an appended number.
struct JoinColumn {
  /// Core Data's name of the second column of a relationship that is its own inverse.
  static let reflexive = "REFLEXIVE"
  /// The maximum number of digits: there are no more columns than that.
  private static let countDigits = 5

  /// Nil for REFLEXIVE.
  let number: Int64?
  /// In upper case, with the appended number, if any.
  let name: String

  init?(_ text: String) {
    let upper = text.uppercased()
    if upper == Self.reflexive {
      number = nil
      name = upper
      return
    }
    guard upper.hasPrefix("Z_") else { return nil }
    let digits = upper.dropFirst(2).prefix { $0.isASCII && $0.isNumber }
    guard let number = Int64(digits) else { return nil }
    self.number = number
    name = String(upper.dropFirst(2 + digits.count))
  }

  /// The possible names of the relationship, in upper case: exact, and without a possible number.
  var readings: [(name: String, isCounted: Bool)] {
    var result: [(name: String, isCounted: Bool)] = [(name: name, isCounted: false)]
    if number == nil { return result }
    var rest = name[...]
    while result.count <= Self.countDigits, let last = rest.last, last.isASCII, last.isNumber {
      rest = rest.dropLast()
      // Appended numbers do not start with 0.
      if last != "0", !rest.isEmpty { result.append((name: String(rest), isCounted: true)) }
    }
    return result
  }
}
