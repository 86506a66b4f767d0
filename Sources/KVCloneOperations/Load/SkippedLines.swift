import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Rolls back the transaction of a batch, to load it again without the skipped lines.
struct LoadRestart: Error {}

/// The lines and links that a load skips with ``LoadOptions/skipsBroken``.
struct SkippedLines {
  private let limit: Int
  /// Numbers of the ids of skipped lines, including those of earlier batches.
  private let numbers = SerialSet()
  /// The reasons for skipping lines of this batch, by number, for the first ones found.
  private var errors: [UInt32: TransferError] = [:]
  /// The number of lines that were inserted before they were found to be broken.
  private var brokenCount = 0
  private var restartCount = 0
  /// Whether a failure may leave a part of an object behind.
  var needsSavepoints = false
  /// The lines and links that the current transaction skips.
  private var found: [LoadSkipped] = []
  private var lineCount = 0
  private var linkCount = 0

  init(limit: Int) { self.limit = max(0, limit) }

  func contains(_ number: UInt32) -> Bool { numbers.contains(UInt64(number)) }

  /// Whether the current transaction has inserted skipped lines.
  var needsRestart: Bool { brokenCount > restartCount }

  /// Skips a line from now on.
  ///
  /// - Parameter isLoaded: whether the current transaction has inserted its object.
  mutating func insert(_ number: UInt32, _ error: @autoclosure () -> TransferError?, isLoaded: Bool) {
    guard numbers.insert(UInt64(number)) else { return }
    if isLoaded { brokenCount += 1 }
    if errors.count < limit, let error = error() { errors[number] = error }
  }

  /// Records the reason for skipping a line.
  mutating func explain(_ number: UInt32, _ error: TransferError) {
    if errors.count < limit { errors[number] = error }
  }

  /// Records a line that was not inserted.
  mutating func noteLine(_ error: TransferError) {
    lineCount += 1
    note(error, isWholeObject: true)
  }

  /// Records a line that was not inserted because it is known to be broken.
  mutating func noteLine(_ number: UInt32) {
    lineCount += 1
    if let error = errors[number] { note(error, isWholeObject: true) }
  }

  /// Records a skipped link of an inserted line.
  mutating func noteLink(_ error: @autoclosure () -> TransferError) {
    linkCount += 1
    if found.count < limit { note(error(), isWholeObject: false) }
  }

  /// Records further skipped links, beyond the limit of errors.
  mutating func noteLinks(_ count: Int) { linkCount += count }

  private mutating func note(_ error: TransferError, isWholeObject: Bool) {
    if found.count < limit { found.append(LoadSkipped(error: error, isWholeObject: isWholeObject)) }
  }

  /// Discards what the rolled-back transaction skipped.
  mutating func restartBatch() {
    found = []
    lineCount = 0
    linkCount = 0
    restartCount = brokenCount
  }

  /// Adds what the transaction skipped to the result.
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
  /// Throws the error of an inserted line. With ``LoadOptions/skipsBroken``, the batch is loaded again without the
  /// line.
  func refuse(_ number: UInt32, _ error: @autoclosure () -> TransferError) throws {
    guard options.skipsBroken else { throw error() }
    skipped.insert(number, error(), isLoaded: true)
  }

  /// Skips links to objects that no line has created, or that were deleted after an earlier batch.
  func dropDanglingLinks(hasMore: Bool, _ transaction: borrowing WriteTransaction) throws {
    let isFirst = batchFirstLine == 1
    if isFirst, !mayHaveDanglingLinks, (0..<labels.count).allSatisfy({ labels.isDefined(UInt32($0)) }) { return }
    mayHaveDanglingLinks = true
    for (pair, sides) in zip(schema.pairs, links) {
      for (side, statements) in zip(pair.sides, sides) {
        try statements.removeTargets { target, owner, line in
          let reason: String
          if !labels.isDefined(target) {
            reason = skipped.contains(target) ? "its line was skipped" : missingLine(hasMore: hasMore)
          } else if try wasDeleted(target, transaction) {
            reason = "the object of that line was deleted after its batch"
          } else {
            return false
          }
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

  /// Finds the lines of objects that violate rules of the model, which the commit would also detect.
  ///
  /// - Throws: ``LoadRestart`` if there are any.
  func skipBrokenObjects(_ transaction: inout WriteTransaction) throws {
    if skipped.needsRestart { throw LoadRestart() }
    // Without a place in the result, no reason is needed.
    let limit = result.skipped.count < options.skippedLimit ? options.skippedLimit : 0
    let (found, reasons) = try transaction.change { (session: inout Session) throws in
      try BrokenObjectFinder.own(&session) { (finder) throws in
        finder.reasonLimit = limit
        try finder.find()
        return (finder.found, finder.reasons)
      }
    }
    if found.isEmpty {
      // Hooks may change objects before the commit.
      if transaction.session.lifecycle == nil { transaction.session.state.keepsBrokenObjects = true }
      return
    }
    var named = Set(reasons.flatMap { [$0.key, $0.value.other(of: $0.key)] })
    var numbers: [ObjectID: UInt32] = [:]
    labels.forEachDefined { number in
      let id = labels.ids[Int(number)]
      if named.remove(id) != nil { numbers[id] = number }
      if found.contains(id) { skipped.insert(number, nil, isLoaded: true) }
    }
    // The rest are equal objects of the store, or of earlier batches: a search, for listed lines only.
    if batchFirstLine > 1, !named.isEmpty {
      numbers.merge(self.numbers(of: named)) { number, _ in number }
    }
    for (id, reason) in reasons {
      guard let number = numbers[id], let error = brokenRule(id, reason, numbers) else { continue }
      skipped.explain(number, error)
    }
    guard skipped.needsRestart else { throw ValidationError(issues: reasons.values.map(\.issue)) }
    throw LoadRestart()
  }
}
