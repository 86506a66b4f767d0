#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneModel
import KVCloneRecords

extension Session {
  /// The concrete entities of the roots.
  borrowing func rootEntities(_ roots: [ObjectID]) throws -> [CompiledEntity] {
    guard !roots.isEmpty else {
      throw CloneError(.objectNotFound, "no objects to clone; pass at least one object id")
    }
    var entities: [CompiledEntity] = []
    for root in roots {
      guard let view = try record(root) else {
        throw CloneError(
          .objectNotFound, "the object \(schema.rootName(of: root)) to clone does not exist",
          entity: schema.entity(code: root.rootCode)?.name, object: schema.rootName(of: root))
      }
      entities.append(try schema.entity(of: view, id: root))
    }
    return entities
  }

  /// Everything that has to be known and right before a clone may write: rules, clone set, new ids, checks (R1).
  ///
  /// - Throws: the first `CloneError` that stands in the way.
  borrowing func prepareClone(
    _ roots: [ObjectID], _ options: CloneOptions, _ cancellation: CloneMonitor
  ) throws -> CloneContext {
    let book = schema.cloneRules.book(schema, options, rootEntities: try rootEntities(roots))
    if let error = book.errors.first { throw error }
    let context = try cloneContext(roots, book, cancellation)
    if let error = try limitError(addingClones: context.objectCount) { throw error }
    if try options.maxBytes != nil || limits?.fileBytes != nil || ClonePlanner.isNeeded(book, context.mark)
      || isRoomTight(for: context)
    {
      var planner = ClonePlanner(context: context)
      try planner.check(self)
      if let error = planner.errors.first { throw error }
      // At least that much: keys' and pages' own bytes come on top.
      context.byteCount = planner.tally.bytesWritten.saturatingAdd(planner.tally.bytesCopied)
    }
    return context
  }

  private borrowing func cloneContext(
    _ roots: [ObjectID], _ book: CloneRuleBook, _ cancellation: CloneMonitor
  ) throws -> CloneContext {
    let mark = try CloneMarker.mark(
      roots, book, cancellation, smallLimit: book.options.smallLimit, in: self)
    var bases: [UInt16: UInt64] = [:]
    for set in mark.set.roots {
      let code = set.rootCode
      // A link's bytes may name anything, and an object without edges to follow has not been looked at yet.
      guard schema.objectTable(rootCode: code) != nil else {
        throw schema.notFound(ObjectID(rootCode: code, serial: set.next(from: 0) ?? 0))
      }
      let (count, overflows) = set.count.multipliedReportingOverflow(by: book.options.count)
      guard !overflows else {
        throw CloneError(
          .limitExceeded, "\(book.options.count) copies exceed the range of object ids; request fewer copies",
          entity: schema.entity(code: code)?.name)
      }
      bases[code] = try nextSerial(rootCode: code, count: UInt64(count))
    }
    let context = CloneContext(
      schema: schema, book: book, mark: mark, bases: bases, now: Date(), cancellation: cancellation)
    return context
  }

  /// Finds what a clone would do, and everything that stands in its way (R36).
  borrowing func survey(_ roots: [ObjectID], _ options: CloneOptions) throws -> CloneSurvey {
    let book = schema.cloneRules.book(schema, options, rootEntities: try rootEntities(roots))
    var survey = CloneSurvey(book)
    try survey.find { survey in
      let context = try cloneContext(roots, book, CloneMonitor(progress: options.progress))
      var planner = ClonePlanner(context: context, isExhaustive: true)
      try planner.check(self)
      survey.take(planner.tally, planner.errors, planner.errorCount)
      try survey.checkRoom(self)
    }
    return survey
  }

  /// Whether the ids that the plan gave out are still the next ones of this transaction, which begins with the commit that
  /// was planned on: so the stored counters are the plan's, and only a writer who gave up may have used serials since.
  borrowing func hasFreeSerials(for context: CloneContext) -> Bool {
    context.mark.set.roots.allSatisfy {
      serialFloor.next(rootCode: $0.rootCode) <= context.base(rootCode: $0.rootCode)
    }
  }

  /// Takes the ids that the plan gave out, and streams.
  mutating func runClone(_ context: CloneContext) throws -> CloneTally {
    if let byteCount = context.byteCount { try makeRoom(for: byteCount) }
    for set in context.mark.set.roots {
      let count = UInt64(set.count * context.book.options.count)
      let first = context.base(rootCode: set.rootCode)
      guard takeSerials(rootCode: set.rootCode, from: first, count: count) else {
        throw StoreError(.busy, "another transaction allocated ids while the clone was planned; retry the clone")
      }
      changes.history?.noteInserts(from: ObjectID(rootCode: set.rootCode, serial: first), count: count)
    }
    changes.isEmpty = false
    let tally = try stream(context)
    // A clone that has its parent's `now()` has the one of the commit.
    if context.futures.tellTheTime, changes.now == nil { changes.now = context.now }
    return tally
  }
}
