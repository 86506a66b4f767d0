import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// What a stream carries from record to record.
struct CloneStream {
  /// Blobs that wait to be counted.
  static let blobLimit = 1 << 18

  let context: CloneContext
  var tally: CloneTally
  let outside: WaitingLinks
  /// Ordered lists of outside objects that gain clones: these wait for the end, because the order of the sources decides.
  var orderedOutside: [OrderedOutside: OrderedGain] = [:]
  var blobs: [UInt64] = []
  /// A list's chunk that is being cloned.
  let chunk = ChunkBuffer()
  /// Whether sources may be objects that this transaction inserted or changed.
  var mayBePending = false

  /// An ordered list of an outside object.
  struct OrderedOutside: Hashable {
    let target: ObjectID
    let code: UInt16
  }

  /// What such a list gains: with one clone, no order is to be found.
  struct OrderedGain {
    var count: Int
    let first: ObjectID
    /// The relationship of the clones that leads to the list's owner.
    let relationship: UInt16
  }

  init(context: CloneContext) {
    self.context = context
    // One or two links an object, up to where memory taken for nothing would cost more than to take it again.
    outside = WaitingLinks(capacity: min(max(8, 2 * context.mark.count), 2048))
    tally = CloneTally(entityCount: Int(context.schema.codes.lastEntity))
  }

  /// Notes that the clone links to `target`, which is no clone, so that its other side gains the clone.
  mutating func noteOutside(_ relationship: CompiledRelationship, _ target: ObjectID, clone: ObjectID) {
    if relationship.hasInverse, relationship.inverseIsOrdered {
      noteOrdered(relationship.code, relationship.inverseCode, target, clone: clone)
    } else {
      outside.append(target, relationship.inverseCode, clone)
    }
  }

  mutating func noteOrdered(_ relationship: UInt16, _ inverse: UInt16, _ target: ObjectID, clone: ObjectID) {
    orderedOutside[
      OrderedOutside(target: target, code: inverse),
      default: OrderedGain(count: 0, first: clone, relationship: relationship)
    ].count += 1
  }
}
