import KVCloneCore
import KVCloneModel

extension LoadSession {
  /// Creates the links of the batch.
  ///
  /// With ``LoadOptions/skipsBroken``, sides that do not match are found in all relationships before two links to a
  /// to-one side are: a line that is skipped for the former competes with no other line.
  func link(in transaction: inout WriteTransaction) throws {
    let pairs = schema.pairs.indices
    if options.skipsBroken { return try link(pairs, in: &transaction) }
    for pair in pairs { try link(pair..<pair + 1, in: &transaction) }
  }

  /// Creates the links of some relationships and their inverses.
  private func link(_ pairs: Range<Int>, in transaction: inout WriteTransaction) throws {
    var agreed: [ScratchArray<UInt64>?] = []
    for pair in pairs { agreed.append(try matchingLinks(schema.pairs[pair], links[pair])) }
    for (pair, agreed) in zip(pairs, agreed) {
      guard let agreed else { continue }
      try checkToOne(schema.pairs[pair], agreed, links[pair], transaction)
    }
    agreed = []
    // The batch is loaded again without broken lines, so its links are not final.
    if skipped.needsRestart { return }
    for pair in pairs { try write(schema.pairs[pair], links[pair], &transaction) }
  }

  /// Rejects repetitions and sides that do not match.
  ///
  /// - Returns: the links, if a to-one side must be checked.
  private func matchingLinks(_ pair: LoadPair, _ statements: [LoadLinks]) throws -> ScratchArray<UInt64>? {
    if statements.allSatisfy(\.isEmpty) || pair.sides.count == 1 && !pair.isOwnInverse { return nil }
    let result =
      pair.sides.count == 1
      ? try mutualLinks(pair.sides[0], statements[0]) : try agreedLinks(pair, statements)
    return pair.sides.allSatisfy(\.description.isToMany) ? nil : result
  }

  private func checkToOne(
    _ pair: LoadPair, _ agreed: ScratchArray<UInt64>, _ statements: [LoadLinks],
    _ transaction: borrowing WriteTransaction
  ) throws {
    if pair.sides.count == 1 { return try checkOwnToOne(pair.sides[0], agreed, statements[0]) }
    for (side, isSwapped) in [(0, false), (1, true)] where !pair.sides[side].description.isToMany {
      try checkToOne(pair, side, isSwapped ? try agreed.swapped(in: space) : agreed, statements, transaction)
    }
  }

  private func write(_ pair: LoadPair, _ statements: [LoadLinks], _ transaction: inout WriteTransaction) throws {
    let primary = pair.sides.count == 1 ? 0 : primarySide(pair)
    if statements.contains(where: \.hasWritten) {
      // All statements of a side in the order of the lines, which is the order of ordered lists that no line states.
      for side in pair.sides.indices {
        try completeLinks(pair, side == 0 ? primary : 1 - primary, statements, &transaction)
      }
      return
    }
    try setMembers(pair.sides[primary], statements[primary], &transaction)
    if pair.sides.count == 1 { return }
    try linkOthers(pair, statements, primary: primary, &transaction)
    if pair.sides.allSatisfy(\.description.isOrdered) {
      try setMembers(pair.sides[1 - primary], statements[1 - primary], &transaction)
    }
  }

  /// The side that links are written from: an ordered one, because it defines the order, else the to-many one, because
  /// a whole list is written at once.
  private func primarySide(_ pair: LoadPair) -> Int {
    if pair.sides[0].description.isOrdered != pair.sides[1].description.isOrdered {
      return pair.sides[0].description.isOrdered ? 0 : 1
    }
    return !pair.sides[0].description.isToMany && pair.sides[1].description.isToMany ? 1 : 0
  }

  /// Creates the links of one side: all of a statement, or, if its own side was written with its owner, the other side.
  private func completeLinks(
    _ pair: LoadPair, _ side: Int, _ statements: [LoadLinks], _ transaction: inout WriteTransaction
  ) throws {
    let own = statements[side]
    let other = pair.isOwnInverse ? own : pair.sides.count == 1 ? nil : statements[1 - side]
    var start = 0
    while start < own.owners.count {
      if !own.isWritten(start) {
        try setMembers(pair.sides[side], own, start, &transaction)
        start += 1
        continue
      }
      let end = own.owners.indices[start...].first { !own.isWritten($0) } ?? own.owners.count
      try linkBack(pair.sides[side], own, start..<end, unlessGivenIn: other, &transaction)
      start = end
    }
  }

  /// Creates the other side of links that were written with their owners, unless a line states it.
  ///
  /// No line can make this fail: the targets are checked, and every record has space for them.
  private func linkBack(
    _ side: LoadPair.Side, _ own: LoadLinks, _ statements: Range<Int>, unlessGivenIn other: LoadLinks?,
    _ transaction: inout WriteTransaction
  ) throws {
    try transaction.changeObjects(settles: false) { (session) throws(StoreError) in
      let relationship = try session.schema.entity(side.entity).relationship(side.description.name)
      for statement in statements {
        let targets = own.places(of: statement).lazy.map { own.targets[$0] }.filter { other?.isGiven($0) != true }
        if targets.isEmpty { continue }
        try session.attachBack(
          labels.ids[Int(own.owners[statement])], relationship, targets.map { labels.ids[Int($0)] })
      }
    }
  }

  private func setMembers(
    _ side: LoadPair.Side, _ statements: LoadLinks, _ transaction: inout WriteTransaction
  ) throws {
    for statement in statements.owners.indices { try setMembers(side, statements, statement, &transaction) }
  }

  private func setMembers(
    _ side: LoadPair.Side, _ statements: LoadLinks, _ statement: Int, _ transaction: inout WriteTransaction
  ) throws {
    let places = statements.places(of: statement)
    if places.isEmpty { return }
    let owner = statements.owners[statement]
    do {
      try transaction.setMembers(
        labels.ids[Int(owner)], side.description.name, places.map { labels.ids[Int(statements.targets[$0])] })
    } catch {
      throw refusal(error, owner, side, line: Int(statements.lines[statement]))
    }
  }

  /// Links that only the other side states.
  private func linkOthers(
    _ pair: LoadPair, _ statements: [LoadLinks], primary: Int, _ transaction: inout WriteTransaction
  ) throws {
    let other = statements[1 - primary]
    // In the order of the lines: owner on the primary side, then position.
    let places = ScratchArray<UInt64>(in: space)
    for statement in other.owners.indices {
      for place in other.places(of: statement) {
        let owner = other.targets[place]
        if !statements[primary].isGiven(owner) { try places.append(UInt64(owner) << 32 | UInt64(statement)) }
      }
    }
    try places.sort()
    try places.forEachFirst { owner, range in
      let statements = range.map { Int(UInt32(truncatingIfNeeded: places[$0])) }
      let members = statements.map { labels.ids[Int(other.owners[$0])] }
      do {
        try transaction.link(labels.ids[Int(owner)], pair.sides[primary].description.name, members)
      } catch {
        throw refusal(error, owner, pair.sides[primary], line: Int(other.lines[statements[0]]))
      }
    }
  }

  private func refusal(_ error: any Error, _ owner: UInt32, _ side: LoadPair.Side, line: Int) -> any Error {
    guard let error = error as? any KVCloneError else { return error }
    // The entity is that of the property, not that of a missing object.
    return TransferError(
      .rejected, error.message, line: line, entity: error.property == nil ? side.entity : error.entity ?? side.entity,
      property: error.property ?? side.description.name, object: label(owner), kindName: error.kindName)
  }
}

// MARK: - Consistency of both sides

extension LoadSession {
  /// All links as `side 0 << 32 | side 1`, sorted.
  private func agreedLinks(_ pair: LoadPair, _ statements: [LoadLinks]) throws -> ScratchArray<UInt64> {
    let first = try statements[0].sortedLinks(isSwapped: false)
    let second = try statements[1].sortedLinks(isSwapped: true)
    try refuseRepeats(first, pair.sides[0], statements[0], isSwapped: false)
    try refuseRepeats(second, pair.sides[1], statements[1], isSwapped: true)
    if first.isEqual(to: second) { return first }
    let union = ScratchArray<UInt64>(in: space)
    try union.reserve(max(first.count, second.count))
    try ScratchArray.merge(first, second) { link, isFirst, isSecond in
      let (one, other) = (UInt32(link >> 32), UInt32(truncatingIfNeeded: link))
      if !isSecond, statements[1].isGiven(other) {
        try refuse(one, disagreement(owner: one, other, pair, 0, statements))
      }
      if !isFirst, statements[0].isGiven(one) {
        try refuse(other, disagreement(owner: other, one, pair, 1, statements))
      }
      try union.append(link)
    }
    return union
  }

  private func disagreement(
    owner: UInt32, _ target: UInt32, _ pair: LoadPair, _ side: Int, _ statements: [LoadLinks]
  ) -> TransferError {
    let name = pair.sides[side].description.name
    let inverse = pair.sides[pair.sides.count - 1 - (pair.sides.count == 2 ? side : 0)].description.name
    return TransferError(
      .inverseMismatch,
      "\(name) contains \(label(target)), but \(inverse) of \(label(target)) does not contain \(label(owner)); make "
        + "both sides match",
      line: line(of: owner, statements[side]), entity: pair.sides[side].entity, property: name, object: label(owner))
  }

  /// The line of this batch that states an owner's relationship.
  private func line(of owner: UInt32, _ statements: LoadLinks) -> Int? {
    isOfBatch(owner) && statements.isGiven(owner) ? Int(labels.lines[Int(owner)]) : nil
  }

  private func refuseRepeats(
    _ sorted: ScratchArray<UInt64>, _ side: LoadPair.Side, _ statements: LoadLinks, isSwapped: Bool
  ) throws {
    for index in 1..<max(1, sorted.count) where sorted[index] == sorted[index - 1] {
      let link = sorted[index]
      let owner = isSwapped ? UInt32(truncatingIfNeeded: link) : UInt32(link >> 32)
      try refuse(
        owner,
        TransferError(
          .inverseMismatch, "\(side.description.name) contains the same object twice",
          line: line(of: owner, statements),
          entity: side.entity, property: side.description.name, object: label(owner)))
    }
  }

  /// Checks that a to-one side has at most one member, including those that earlier batches linked. Links of skipped
  /// lines do not count.
  private func checkToOne(
    _ pair: LoadPair, _ side: Int, _ links: ScratchArray<UInt64>, _ statements: [LoadLinks],
    _ transaction: borrowing WriteTransaction
  ) throws {
    let description = pair.sides[side].description
    var (last, kept): (UInt32?, UInt32?) = (nil, nil)
    for index in links.indices {
      let (owner, other) = (UInt32(links[index] >> 32), UInt32(truncatingIfNeeded: links[index]))
      if skipped.contains(owner) || skipped.contains(other) { continue }
      var isTaken = owner == last
      last = owner
      if !isTaken { kept = other }
      if !isTaken, !labels.isStored(owner), !isOfBatch(owner) {
        let current: ObjectID?
        do {
          current = try transaction.toOne(labels.ids[Int(owner)], description.name)
        } catch {
          // Another writer may have deleted it between two batches.
          throw refusal(error, other, pair.sides[1 - side], line: Int(labels.lines[Int(other)]))
        }
        isTaken = current != nil && current != labels.ids[Int(other)]
        if isTaken { kept = nil }
      }
      guard isTaken else { continue }
      let broken = later(of: kept, other)
      if broken == kept { kept = other }
      try refuse(
        isOfBatch(broken) ? broken : owner,
        TransferError(
          .inverseMismatch, "two objects link to \(label(owner)), but its \(description.name) is to-one",
          line: line(of: broken, statements[1 - side]) ?? line(of: owner, statements[side]),
          entity: pair.sides[side].entity, property: description.name, object: label(owner)))
    }
  }

  /// Returns which of two objects to skip if only one of them can be linked: the one on the later line. Without
  /// ``LoadOptions/skipsBroken``, the error names the second one.
  private func later(of first: UInt32?, _ second: UInt32) -> UInt32 {
    guard options.skipsBroken, let first, isOfBatch(first) else { return second }
    return labels.lines[Int(first)] > labels.lines[Int(second)] ? first : second
  }

  /// Checks a relationship that is its own inverse: if both objects state it, they refer to each other.
  ///
  /// - Returns: the links, the target first, sorted.
  private func mutualLinks(_ side: LoadPair.Side, _ statements: LoadLinks) throws -> ScratchArray<UInt64> {
    let stated = try statements.sortedLinks(isSwapped: false)
    try refuseRepeats(stated, side, statements, isSwapped: false)
    let turned = try stated.swapped(in: space)
    var index = 0
    for place in turned.indices {
      let link = turned[place]
      while index < stated.count, stated[index] < link { index += 1 }
      let isMutual = index < stated.count && stated[index] == link
      // Swapped: the target comes first.
      let (named, owner) = (UInt32(link >> 32), UInt32(truncatingIfNeeded: link))
      if !isMutual, statements.isGiven(named) {
        try refuse(
          owner,
          disagreement(owner: owner, named, LoadPair(sides: [side], isOwnInverse: true), 0, [statements]))
      }
    }
    return turned
  }

  /// Checks that a to-one relationship that is its own inverse has at most one member. Links of skipped lines do not
  /// count.
  private func checkOwnToOne(_ side: LoadPair.Side, _ turned: ScratchArray<UInt64>, _ statements: LoadLinks) throws {
    var (last, kept): (UInt32?, UInt32) = (nil, 0)
    for place in turned.indices {
      let (one, owner) = (UInt32(turned[place] >> 32), UInt32(truncatingIfNeeded: turned[place]))
      if skipped.contains(one) || skipped.contains(owner) { continue }
      guard one == last else {
        (last, kept) = (one, owner)
        continue
      }
      let broken = later(of: kept, owner)
      if broken == kept { kept = owner }
      try refuse(
        broken,
        TransferError(
          .inverseMismatch, "two objects link to \(label(one)), but its \(side.description.name) is to-one",
          line: options.skipsBroken
            ? Int(labels.lines[Int(broken)])
            : line(of: one, statements) ?? Int(labels.lines[Int(isOfBatch(one) ? one : broken)]),
          entity: side.entity, property: side.description.name, object: label(one)))
    }
  }
}
