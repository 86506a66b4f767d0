import KVCloneModel
import KVCloneRecords

/// What a stream carries from record to record.
struct CloneStream {
  /// Links to outside objects that wait to be published: 24 bytes each.
  static let outsideLimit = 1 << 18
  /// Blobs that wait to be counted.
  static let blobLimit = 1 << 18

  let context: CloneContext
  var tally: CloneTally
  var outside: [OutsideLink] = []
  /// Links into ordered lists: these wait for the end, because the order of the sources decides.
  var orderedOutside: [OrderedOutsideLink] = []
  var blobs: [UInt64] = []

  /// A clone that an outside object's inverse gains.
  struct OutsideLink: Comparable {
    let target: ObjectID
    let code: UInt16
    let clone: ObjectID

    static func < (left: OutsideLink, right: OutsideLink) -> Bool {
      if left.target != right.target { return left.target < right.target }
      return left.code != right.code ? left.code < right.code : left.clone < right.clone
    }
  }

  struct OrderedOutsideLink {
    let target: ObjectID
    let code: UInt16
    let source: ObjectID
    let clone: ObjectID
  }

  init(context: CloneContext) {
    self.context = context
    tally = CloneTally(entityCount: Int(context.schema.codes.lastEntity))
  }

  /// Notes that the clone links to `target`, which is no clone, so that its other side gains the clone.
  mutating func noteOutside(
    _ relationship: CompiledRelationship, _ target: ObjectID, source: ObjectID, clone: ObjectID, _ schema: Schema
  ) {
    if relationship.hasInverse { _ = tally.touched.insert(target) }
    if relationship.hasInverse, relationship.inverseIsOrdered {
      orderedOutside.append(
        OrderedOutsideLink(target: target, code: relationship.inverseCode, source: source, clone: clone))
    } else {
      outside.append(OutsideLink(target: target, code: relationship.inverseCode, clone: clone))
    }
  }
}

/// Records that were copied out of a table, so that it can be appended to while they are worked on.
struct CloneBatch {
  private static let byteLimit = 256 << 10
  private static let countLimit = 2048

  private(set) var ids: [ObjectID] = []
  private var ends: [Int] = []
  private var storage: [UInt8] = []

  var isFull: Bool { storage.count >= Self.byteLimit || ids.count >= Self.countLimit }

  mutating func removeAll() {
    ids.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
    storage.removeAll(keepingCapacity: true)
  }

  mutating func append(_ id: ObjectID, _ bytes: borrowing RawSpan) {
    ids.append(id)
    bytes.withUnsafeBytes { storage.append(contentsOf: $0) }
    ends.append(storage.count)
  }

  /// The bytes of a record.
  @_lifetime(borrow self)
  func bytes(at index: Int) -> RawSpan {
    let start = index == 0 ? 0 : ends[index - 1]
    return _overrideLifetime(storage.span.bytes.extracting(start..<ends[index]), borrowing: self)
  }
}
