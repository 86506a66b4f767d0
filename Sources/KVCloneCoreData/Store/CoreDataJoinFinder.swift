import KVCloneModel

/// Finds out which table has the links of which to-many relationship and its inverse.
///
/// Core Data names a table of links after one of the two relationships, and each of its two columns after the relationship that leads
/// to the objects whose keys it has, and their entity: `Z_3SHOWS (Z_3ARTWORKS1, Z_11SHOWS)`. Names of columns are unique in all
/// tables of links; where one is taken, a count stands behind it, as here: another table has `Z_3ARTWORKS`. A relationship may be called
/// `artworks1` itself. So a name that is spelled as it is counts before one with a count, and a table that belongs to one pair is
/// no other's. What is left with two readings of the same rank is refused.
struct CoreDataJoinFinder {
  /// A to-many relationship whose links are in a table of their own, with the entity that declares it.
  struct Pair {
    let entity: String
    let relationship: RelationshipDescription
    let inverse: (entityName: String, relationship: RelationshipDescription)?
    /// The entity that declares the inverse.
    let inverseEntity: String?

    var isOwnInverse: Bool { inverse?.relationship.name == relationship.name && inverseEntity == entity }
  }

  /// A table and which of its columns has whose keys.
  struct Reading {
    let table: Int
    let ownerColumn: Int
    let memberColumn: Int
    /// Less is better.
    let rank: Int
  }

  /// What became of a pair.
  enum Outcome {
    case found(Reading)
    case none
    /// Several tables could be meant, or the only one could be another pair's.
    case ambiguous
  }

  /// Those that look like tables of links.
  let tables: [SQLiteTable]
  private let model: ManagedObjectModel
  /// Z_ENT by name.
  private let numbers: [String: Int64]
  /// By entity's number: that of the root above it.
  private let roots: [Int64: Int64]
  private let names: [Int64: String]
  private var exact: [Key: [Entry]] = [:]
  /// With the roots' numbers instead of the entities' own.
  private var related: [Key: [Entry]] = [:]

  /// What is asked for: the relationships' names in capitals and the numbers of their entities.
  private struct Key: Hashable {
    let member: String
    let memberNumber: Int64
    /// Nil where the owners' column may have any name, because there is no inverse that it could have the name of.
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
    /// How many of the two names were read as one with a count.
    let countedNames: Int
  }

  /// - Parameter check: is called for every table, and may end the search.
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

  // MARK: Readings of one pair

  private func readings(of pair: Pair) -> [Reading] {
    // A column has the number of the entity that declares a relationship, or of the one where it leads.
    let owners = Self.distinct([pair.entity, pair.inverse?.relationship.destinationEntityName])
    let members = Self.distinct([pair.relationship.destinationEntityName, pair.inverse?.entityName])
    let ownerNumbers = owners.compactMap { numbers[$0] }
    let memberNumbers = members.compactMap { numbers[$0] }
    var result: [Reading] = []
    var seen: Set<[Int]> = []
    func take(_ entries: [Entry], isExact: Bool) {
      for entry in entries {
        // Of a relationship that is its own inverse, one reading says as much as the other.
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
    // Spelled as it is before read with a count.
    return result.sorted { $0.countedNames < $1.countedNames }
  }

  private static func distinct<Item: Hashable>(_ items: [Item?]) -> [Item] {
    var seen: Set<Item> = []
    return items.compactMap { $0 }.filter { seen.insert($0).inserted }
  }

  /// Whether it is the number of one of these entities, or of one above or below it; REFLEXIVE is always right.
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

  /// What has the links of each pair, from the readings that are certain to those that follow from them.
  ///
  /// - Parameter check: is called for every pair, and may end the search.
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

  /// Gives the tables that are left to the pairs that are left, by readings of one rank.
  private func assign(
    _ rank: Int, _ readings: [[Reading]], _ outcomes: inout [Outcome?], _ isTaken: inout [Bool]
  ) {
    var choices: [Int: [Reading]] = [:]
    /// By table: the pairs that it may be of, once for each reading.
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
          // It had the same right to the table, so nobody has.
          outcomes[other] = .ambiguous
          outcomes[pair] = .ambiguous
        }
      }
    }
    for pair in choices.keys where outcomes[pair] == nil { outcomes[pair] = .ambiguous }
  }
}

/// `Z_3ARTWORKS1`: an entity's number, a relationship's name, and perhaps a count.
struct JoinColumn {
  /// What Core Data calls the second column of a relationship that is its own inverse.
  static let reflexive = "REFLEXIVE"
  /// Counts have at most so many digits: there are no more columns than that.
  private static let countDigits = 5

  /// Nil for REFLEXIVE.
  let number: Int64?
  /// In capitals, with the count where there is one.
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

  /// The relationship's names in capitals that it may stand for: as it is spelled, and without what may be a count.
  var readings: [(name: String, isCounted: Bool)] {
    var result: [(name: String, isCounted: Bool)] = [(name: name, isCounted: false)]
    if number == nil { return result }
    var rest = name[...]
    while result.count <= Self.countDigits, let last = rest.last, last.isASCII, last.isNumber {
      rest = rest.dropLast()
      // No count begins with 0.
      if last != "0", !rest.isEmpty { result.append((name: String(rest), isCounted: true)) }
    }
    return result
  }
}
