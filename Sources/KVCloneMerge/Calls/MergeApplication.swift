import KVClone
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Carries out the operations of a planned merge on ours.
struct MergeApplication: ~Copyable, SessionOwner {
  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  consuming func finish() -> Session { session }

  /// Carries out all operations except the deletion, which calls hooks before.
  ///
  /// - Parameters:
  ///   - theirs: a session on theirs: it shows the inserted objects, and describes the blobs.
  ///   - base: a session that describes the blobs that theirs no longer has.
  ///   - monitor: checked every thousand operations.
  mutating func apply(
    _ plan: PlannedMerge, from theirs: borrowing Session, base: borrowing Session, _ monitor: borrowing MergeMonitor
  ) throws {
    // Counts a reference to each blob, so that its description exists, before any change releases one that another
    // refers to.
    try forEachBlob(of: plan) { (blob, session) throws(StoreError) in
      if try theirs.storage.blobInfo(session.blobTables, blob.id) != nil {
        try session.blobTables.addReference(to: blob, &session.storage, describedIn: theirs.storage)
      } else {
        try session.blobTables.addReference(to: blob, &session.storage, describedIn: base.storage)
      }
    }
    var windows = ReadWindows(session.storage)
    var count = 0
    try plan.forEachOperation { operation in
      windows.next()
      count += 1
      if count.isMultiple(of: 1024) { try monitor.check(.objects, count, of: plan.operations.count) }
      switch operation {
      case .insert(let id, _, let assignments): try insert(id, assignments, theirs)
      case .set(let id, _, let assignments): try set(id, assignments)
      case .setTarget(let id, let relationship, let target):
        try RelationshipLinks.setToOne(id, relationship, target, in: &session)
      case .changeMembers(let id, let relationship, let added, let removed):
        try RelationshipLinks.unlink(id, relationship.name, removed, in: &session)
        try RelationshipLinks.link(id, relationship.name, added, in: &session)
      case .setOrder(let id, let relationship, let members):
        try RelationshipLinks.setMembers(id, relationship.name, members, in: &session)
      case .delete: break
      }
    }
    try forEachBlob(of: plan) { (blob, session) throws(StoreError) in try session.releaseBlob(blob) }
    session.changes.isEmpty = false
  }

  /// Calls `body` with each blob that the plan sets.
  private mutating func forEachBlob(
    of plan: PlannedMerge, _ body: (BlobReference, inout Session) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard plan.operations.hasBlobs else { return }
    try plan.forEachOperation { (operation) throws(StoreError) in
      let assignments: [MergeOperation.Assignment]
      switch operation {
      case .insert(_, _, let values), .set(_, _, let values): assignments = values
      default: return
      }
      for case .blob(let blob)? in assignments.map(\.value) { try body(blob, &session) }
    }
  }

  private mutating func insert(
    _ id: ObjectID, _ assignments: [MergeOperation.Assignment], _ theirs: borrowing Session
  ) throws(StoreError) {
    try ObjectRecreation.recreate(id, from: theirs, in: &session)
    session.state.history?.noteInserts(from: id, count: 1)
    let entity = try session.load(id)
    var different: [(attribute: CompiledAttribute, value: AttributeValue?)] = []
    for assignment in assignments {
      let shown = try entity.value(of: assignment.attribute, in: session.scratch.view, id: id, schema: session.schema)
      if shown != assignment.value { different.append((assignment.attribute, assignment.value)) }
    }
    if !different.isEmpty { try session.write(different, to: id, entity) }
  }

  private mutating func set(_ id: ObjectID, _ assignments: [MergeOperation.Assignment]) throws(StoreError) {
    let entity = try session.load(id)
    try session.write(assignments.map { ($0.attribute, $0.value) }, to: id, entity)
  }
}
