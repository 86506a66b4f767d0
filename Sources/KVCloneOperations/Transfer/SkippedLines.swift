import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Rolls back the transaction of a batch, to load it again without the lines that are skipped.
struct LoadRestart: Error {}

/// The lines and links that a load leaves out with ``LoadOptions/skipsBroken``.
struct SkippedLines {
  private let limit: Int
  /// Numbers of the ids of skipped lines, of earlier batches, too.
  private let numbers = SerialSet()
  /// Why a line of this batch is skipped, by number, for the first ones that were found.
  private var errors: [UInt32: TransferError] = [:]
  /// The number of lines that were inserted before they turned out to be broken.
  private(set) var brokenCount = 0
  private var restartCount = 0
  /// Whether a failure that leaves a part of an object behind has to be expected.
  var needsSavepoints = false
  /// What the present transaction leaves out.
  private var found: [LoadSkipped] = []
  private var lineCount = 0
  private var linkCount = 0

  init(limit: Int) { self.limit = max(0, limit) }

  func contains(_ number: UInt32) -> Bool { numbers.contains(UInt64(number)) }

  /// Whether the present transaction has inserted such lines.
  var needsRestart: Bool { brokenCount > restartCount }

  /// Skips a line from now on.
  ///
  /// - Parameter isLoaded: whether the present transaction has inserted its object.
  mutating func insert(_ number: UInt32, _ error: @autoclosure () -> TransferError?, isLoaded: Bool) {
    guard numbers.insert(UInt64(number)) else { return }
    if isLoaded { brokenCount += 1 }
    if errors.count < limit, let error = error() { errors[number] = error }
  }

  /// Says why a line is skipped.
  mutating func explain(_ number: UInt32, _ error: TransferError) {
    if errors.count < limit { errors[number] = error }
  }

  /// Notes a line that was not inserted.
  mutating func noteLine(_ error: TransferError) {
    lineCount += 1
    note(error, isWholeObject: true)
  }

  /// Notes a line that was not inserted because it is known to be broken.
  mutating func noteLine(_ number: UInt32) {
    lineCount += 1
    if let error = errors[number] { note(error, isWholeObject: true) }
  }

  /// Notes a link that was left out of a line that was inserted.
  mutating func noteLink(_ error: @autoclosure () -> TransferError) {
    linkCount += 1
    if found.count < limit { note(error(), isWholeObject: false) }
  }

  private mutating func note(_ error: TransferError, isWholeObject: Bool) {
    if found.count < limit { found.append(LoadSkipped(error: error, isWholeObject: isWholeObject)) }
  }

  /// Forgets what the transaction left out, which was rolled back.
  mutating func restartBatch() {
    found = []
    lineCount = 0
    linkCount = 0
    restartCount = brokenCount
  }

  /// Adds what the transaction left out to the result.
  mutating func endBatch(_ result: inout LoadResult) {
    result.skippedLineCount += lineCount
    result.skippedLinkCount += linkCount
    let lines = found.enumerated().sorted {
      ($0.element.error.line ?? 0, $0.offset) < ($1.element.error.line ?? 0, $1.offset)
    }
    result.skipped += lines.prefix(limit - result.skipped.count).map(\.element)
    errors = [:]
    restartBatch()
  }
}

extension LoadSession {
  /// Throws the error of a line that was inserted. With ``LoadOptions/skipsBroken``, the batch is loaded again without
  /// the line.
  func refuse(_ number: UInt32, _ error: @autoclosure () -> TransferError) throws {
    guard options.skipsBroken else { throw error() }
    skipped.insert(number, error(), isLoaded: true)
  }

  /// Leaves out links to objects that no line has become.
  func dropDanglingLinks(hasMore: Bool) {
    if !mayHaveDanglingLinks, (Int(batchStart)..<labels.count).allSatisfy({ labels.isDefined(UInt32($0)) }) { return }
    mayHaveDanglingLinks = true
    for (pair, sides) in zip(schema.pairs, links) {
      for (side, statements) in zip(pair.sides, sides) {
        statements.removeTargets { target, owner, line in
          if labels.isDefined(target) { return false }
          let reason = skipped.contains(target) ? "its line was skipped" : missingLine(hasMore: hasMore)
          skipped.noteLink(danglingLink(target, owner, line, side, reason))
          return true
        }
      }
    }
  }

  private func danglingLink(
    _ target: UInt32, _ owner: UInt32, _ line: Int, _ side: LoadPair.Side, _ reason: String
  ) -> TransferError {
    let name = side.description.name
    return TransferError(
      .danglingID, "\(name): it refers to \(label(target)), but \(reason)", line: line,
      entity: schema.entities[Int(labels.entities[Int(owner)])].name, property: name, object: label(owner))
  }

  /// Finds the lines whose objects violate rules of the model, which the commit would find too.
  ///
  /// - Throws: ``LoadRestart`` if there are any.
  func skipBrokenObjects(_ transaction: inout WriteTransaction) throws {
    if skipped.needsRestart { throw LoadRestart() }
    let limit = options.skippedLimit
    let (found, reasons) = try transaction.change { (session: inout Session) throws in
      try BrokenObjectFinder.own(&session) { (finder) throws in
        finder.reasonLimit = limit
        try finder.find()
        return (finder.found, finder.reasons)
      }
    }
    if found.isEmpty {
      // Hooks may change objects before the commit.
      if transaction.session.lifecycle == nil { transaction.session.changes.keepsBrokenObjects = true }
      return
    }
    var numbers: [ObjectID: UInt32] = [:]
    let named = Set(reasons.flatMap { [$0.key, $0.value.other(of: $0.key)] })
    for number in labels.ids.indices where !labels.isStored(UInt32(number)) {
      let id = labels.ids[number]
      if named.contains(id) { numbers[id] = UInt32(number) }
      if found.contains(id) { skipped.insert(UInt32(number), nil, isLoaded: true) }
    }
    for (id, reason) in reasons {
      guard let number = numbers[id] else { continue }
      skipped.explain(number, brokenRule(id, reason, number, numbers))
    }
    guard skipped.needsRestart else { throw ValidationError(issues: reasons.values.map(\.issue)) }
    throw LoadRestart()
  }

  private func brokenRule(
    _ id: ObjectID, _ reason: BrokenObjectFinder.Reason, _ number: UInt32, _ numbers: [ObjectID: UInt32]
  ) -> TransferError {
    let issue = reason.issue
    var objects: [(name: String, number: UInt32)] = []
    if !reason.isOfOther { objects.append((issue.object, number)) }
    if let name = issue.other, let other = numbers[reason.other(of: id)] { objects.append((name, other)) }
    let message = labelled(issue.message, objects)
    return TransferError(
      .rejected, reason.isOfOther ? "its links make another object invalid: \(message)" : message,
      line: Int(labels.lines[Int(number)]), entity: reason.isOfOther ? nil : issue.entity,
      property: reason.isOfOther ? nil : issue.property, object: label(number), kindName: issue.kind.rawValue)
  }
}

extension BrokenObjectFinder.Reason {
  /// The object with the same values, or that same one.
  fileprivate func other(of id: ObjectID) -> ObjectID {
    guard let other = issue.other, let serial = LoadName(other[...])?.serial else { return id }
    return ObjectID(rootCode: id.rootCode, serial: serial)
  }
}
