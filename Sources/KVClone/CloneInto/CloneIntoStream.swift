import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// What a stream into another store carries from record to record.
struct CloneIntoStream {
  let context: CloneIntoContext
  let matcher: OutsideMatcher
  var tally: CloneTally
  /// Clones that objects of the destination gain, and that wait to be published.
  let outside = WaitingLinks()
  /// Ordered lists of the destination that gain clones at the end, each once, in the order in which they were met.
  var ordered: [OrderedGain] = []
  private var knownOrdered: Set<OrderedGain> = []
  /// References to large values that wait to be counted, by the destination's serials.
  var blobs: [UInt64] = []
  /// The destination's serial of the first large value.
  let firstBlob: UInt64
  /// What decides about links whose rules differ from object to object; any copy's does.
  var attributes: CloneContext?
  private let blobRanks: SerialRanks
  /// A list's chunk that gains clones.
  let chunk = ChunkBuffer()

  /// A list of the destination that gains the clones whose sources are in a list of the source (R12).
  struct OrderedGain: Hashable {
    let target: ObjectID
    let code: UInt16
    let sourceTarget: ObjectID
    let sourceCode: UInt16

    var list: List { List(target: target, code: code) }
  }

  /// A list of the destination.
  struct List: Hashable {
    let target: ObjectID
    let code: UInt16
  }

  init(context: CloneIntoContext, firstBlob: UInt64) {
    self.context = context
    self.firstBlob = firstBlob
    matcher = OutsideMatcher(context: context)
    blobRanks = SerialRanks(context.blobs)
    tally = CloneTally(entityCount: Int(context.bridge.source.codes.lastEntity))
  }

  /// Notes that the clone links to an object of before, so that its other side gains the clone.
  mutating func noteOutside(
    _ step: CloneRuleBook.RelationshipPlan, _ relationship: CompiledRelationship, source: ObjectID, target: ObjectID,
    clone: ObjectID
  ) {
    if relationship.hasInverse { _ = tally.touched.insert(target) }
    guard relationship.hasInverse, relationship.inverseIsOrdered else {
      return outside.append(target, relationship.inverseCode, clone)
    }
    let gain = OrderedGain(
      target: target, code: relationship.inverseCode, sourceTarget: source, sourceCode: step.relationship.inverseCode)
    if knownOrdered.insert(gain).inserted { ordered.append(gain) }
  }

  /// The destination's serial of a source's large value.
  func blobSerial(of serial: UInt64) -> UInt64? {
    blobRanks.rank(of: serial).map { firstBlob + $0 }
  }
}
