#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// One clone into another store between its mark and its commit (R35): who is cloned, under which ids there, with which
/// values. The source is read in one transaction from begin to end, so it stays what it was.
final class CloneIntoContext: CloneNames {
  let bridge: CloneBridge
  let book: CloneRuleBook
  let mark: CloneMark
  let cancellation: CloneMonitor
  /// Large binary values that clones refer to, by the source's serials: the check finds them.
  var blobs = SerialSet()
  /// About how many bytes the clone will write.
  var byteCount: UInt64 = 0
  /// By the source's root code.
  private let ranks: [SerialRanks?]
  /// By the source's root code: where its clones' serials begin.
  private var places: [Place?] = []
  /// By the destination's root code: the serials that clones get.
  private(set) var serials: [UInt16: SerialRange] = [:]
  private let now = Date()
  var sourceSchema: Schema { bridge.source }

  struct Place {
    let rootCode: UInt16
    /// The serial of the first clone of the first copy.
    let first: UInt64
    /// From one copy to the next.
    let stride: UInt64
  }

  struct SerialRange {
    var first: UInt64
    var count: UInt64
  }

  init(
    bridge: CloneBridge, book: CloneRuleBook, mark: CloneMark, cancellation: CloneMonitor
  ) {
    self.bridge = bridge
    self.book = book
    self.mark = mark
    self.cancellation = cancellation
    ranks = mark.set.sets.map { $0.map { SerialRanks($0) } }
  }

  /// Works out the ids that clones get in the destination as it is now.
  ///
  /// Copy after copy, and in each the source's root entities in their order: several of them may be subentities of one
  /// root entity in the destination, and share its serials.
  func place(in destination: borrowing Session) throws(StoreError) {
    var totals: [UInt16: UInt64] = [:]
    var offsets: [(source: Int, root: UInt16, offset: UInt64)] = []
    for (root, set) in mark.set.sets.enumerated() {
      // A name that the destination lacks is refused where the entity is looked at.
      guard let set, let code = bridge.rootCode(of: UInt16(root)) else { continue }
      offsets.append((root, code, totals[code, default: 0]))
      totals[code, default: 0] += UInt64(set.count)
    }
    serials = [:]
    for (code, total) in totals {
      let (count, overflow) = total.multipliedReportingOverflow(by: UInt64(copies))
      let first = try destination.nextSerial(rootCode: code, count: overflow ? .max : count)
      serials[code] = SerialRange(first: first, count: count)
    }
    places = Array(repeating: nil, count: mark.set.sets.count)
    for (source, code, offset) in offsets {
      guard let range = serials[code], let total = totals[code] else { continue }
      places[source] = Place(rootCode: code, first: range.first + offset, stride: total)
    }
  }

  /// Whether the ids that were worked out are still the next ones of this transaction.
  func hasFreeSerials(_ destination: borrowing Session) throws(StoreError) -> Bool {
    for (code, range) in serials where try destination.nextSerial(rootCode: code) != range.first { return false }
    return true
  }

  /// The id of a source's clone in the destination; nil for objects that are not cloned.
  @inline(__always)
  func cloneID(of id: ObjectID, copy: Int) -> ObjectID? {
    let root = Int(id.rootCode)
    guard root < ranks.count, root < places.count, let place = places[root], let rank = ranks[root]?.rank(of: id.serial)
    else { return nil }
    return ObjectID(rootCode: place.rootCode, serial: place.first + UInt64(copy) * place.stride + rank)
  }

  /// Whether this clone makes the destination's object: it has one of the highest serials of its root entity.
  func isClone(_ id: ObjectID) -> Bool {
    serials[id.rootCode].map { id.serial >= $0.first } ?? false
  }

  /// What computes the attributes of one copy, with rebuilt UUIDs of its own and the operation's one `now` (R16).
  ///
  /// Its ids stand for clones in no store; they only tell one clone from another.
  func attributes(_ source: borrowing Session) throws -> CloneContext {
    var bases: [UInt16: UInt64] = [:]
    for (root, set) in mark.set.sets.enumerated() where set != nil { bases[UInt16(root)] = 1 }
    let context = CloneContext(
      schema: bridge.source, book: book, mark: mark, bases: bases, now: now, cancellation: cancellation,
      bridge: bridge)
    return context
  }

  /// Where one link of the clone of `id` goes.
  func link(
    _ step: CloneRuleBook.RelationshipPlan, _ id: ObjectID, _ target: ObjectID, _ attributes: CloneContext,
    _ source: borrowing Session
  ) throws(StoreError) -> Link {
    var mode = step.mode
    if mode == .dynamic { mode = try attributes.mode(step, id, target, source) }
    switch mode {
    case .drop: return .none
    // The original is of another store, whether it is cloned too or not.
    case .keep: return .outside
    case .follow, .stop, .dynamic:
      if mark.set.contains(target) { return .clone }
      guard mode != .follow else { throw bridge.source.notFound(target) }
      return .outside
    }
  }

  /// Where one link of a clone goes.
  enum Link {
    /// To the target's clone of the same copy.
    case clone
    /// To what stands for the target in the destination, if anything does.
    case outside
    case none
  }
}

extension Session {
  /// Finds what is to be cloned into another store, by this store's rules. Nothing of the other store is looked at.
  ///
  /// - Throws: `CloneError`, `StoreError`.
  borrowing func prepareCloneInto(
    _ destination: Schema, _ roots: [ObjectID], _ book: CloneRuleBook, _ cancellation: CloneMonitor
  ) throws -> CloneIntoContext {
    try prepareClone(across: CloneBridge(source: schema, destination: destination), roots, book, cancellation)
  }

  /// Finds what is to be cloned into another store, or from a snapshot.
  borrowing func prepareClone(
    across bridge: CloneBridge, _ roots: [ObjectID], _ book: CloneRuleBook, _ cancellation: CloneMonitor
  ) throws -> CloneIntoContext {
    let mark = try CloneMarker.mark(roots, book, cancellation, in: self)
    let (total, overflow) = mark.count.multipliedReportingOverflow(by: book.options.count)
    if let most = book.options.maxObjects, overflow || total > most {
      throw CloneError(
        .limitExceeded,
        "\(book.options.count) clones of \(mark.count) objects would exceed the limit of \(most) objects (R29); raise "
          + "the limit or exclude relationships")
    }
    for (root, set) in mark.set.sets.enumerated() {
      // A link's bytes may name anything, and an object without edges to follow has not been looked at yet.
      guard let set, schema.objectTable(rootCode: UInt16(root)) == nil else { continue }
      throw schema.notFound(ObjectID(rootCode: UInt16(root), serial: set.next(from: 0) ?? 0))
    }
    return CloneIntoContext(
      bridge: bridge, book: book, mark: mark, cancellation: cancellation)
  }

  /// The next members of a relationship from a position on, so few that memory stays flat, and where to go on; nil at
  /// the end. Positions begin at 0.
  borrowing func memberBatch(
    _ id: ObjectID, _ relationship: CompiledRelationship, in view: borrowing RecordView, _ entity: CompiledEntity,
    from position: UInt64
  ) throws(StoreError) -> (members: [ObjectID], next: UInt64?)? {
    guard let field = entity.field(relationship.field, code: relationship.code, in: view) else { return nil }
    guard relationship.isToMany else { return (view.toOne(field).map { [$0] } ?? [], nil) }
    guard view.head(field).isChunked else { return (view.inlineIDs(field).array, nil) }
    return try storage.memberBatch(address(id, relationship.code), from: position)
  }
}
