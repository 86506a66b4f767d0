import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The objects that a clone copies, and its rules: what the state of the sources alone determines.
struct CloneScope {
  private let schema: Schema
  private let book: CloneRuleBook
  private let mark: CloneMark
  private let bridge: CloneBridge?
  private let cancellation: CloneMonitor

  /// Finds the objects.
  ///
  /// - Parameter bridge: the mapping of sources to clones; nil within a store.
  /// - Throws: `CloneError`: the errors of ``CloneMarker``.
  init(
    _ roots: [ObjectID], _ book: CloneRuleBook, _ bridge: CloneBridge?, _ cancellation: CloneMonitor,
    in source: borrowing Session
  ) throws {
    schema = source.schema
    self.book = book
    self.bridge = bridge
    self.cancellation = cancellation
    mark = try CloneMarker.mark(roots, book, cancellation, smallLimit: book.options.smallLimit, in: source)
  }

  /// The clone with its new ids in a state of the destination.
  func context(in destination: borrowing Session) throws -> CloneContext {
    CloneContext(
      book: book, mark: mark, bridge: bridge,
      places: try ClonePlaces(mark, bridge, copies: book.options.count, schema, in: destination),
      cancellation: cancellation)
  }

  /// Assigns ids and checks everything before a clone may write (R1). Within a store, both sessions are the same.
  ///
  /// - Throws: the first `CloneError` of the plan.
  func prepare(_ source: borrowing Session, _ destination: borrowing Session) throws -> CloneContext {
    let context = try context(in: destination)
    if let error = try StoreLimits.error(addingClones: context.objectCount, in: destination) { throw error }
    guard isPlannerNeeded(context, destination) else { return context }
    var planner = ClonePlanner(context: context)
    try planner.check(source, destination)
    if let error = planner.errors.first { throw error }
    context.blobs = planner.blobs
    // A lower bound: without the overhead of keys and pages.
    context.byteCount = planner.tally.bytesWritten.saturatingAdd(planner.tally.bytesCopied)
    return context
  }

  /// Whether each object has to be checked. Within a store, there may be nothing to find.
  private func isPlannerNeeded(_ context: CloneContext, _ destination: borrowing Session) -> Bool {
    bridge != nil || book.options.maxBytes != nil || destination.limits?.fileBytes != nil
      || ClonePlanner.isNeeded(book, mark) || StoreRoom(of: destination)?.isTight(for: context) ?? false
  }
}
