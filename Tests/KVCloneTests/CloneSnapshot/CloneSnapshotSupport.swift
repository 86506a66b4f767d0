import Foundation
import KVClone
import KVCloneTestSupport
import Testing

extension CloneStore {
  /// Creates a snapshot of the current state.
  @discardableResult
  func snapshot(_ name: String = "before") throws -> Snapshot { try store.createSnapshot(named: name) }

  func delete(_ ids: [ObjectID]) throws { _ = try store.write { try $0.delete(ids) } }

  /// Clones from a snapshot in one commit, expects exactly the planned changes, and checks the store.
  @discardableResult
  func clone(
    _ roots: [ObjectID], from snapshot: Snapshot, _ options: CloneOptions = CloneOptions(),
    _ location: SourceLocation = #_sourceLocation
  ) throws -> CloneResult {
    let commit = try self.commit
    let plan = try store.planClone(roots, from: snapshot, options: options)
    #expect(plan.errors.isEmpty, "\(plan.errors.first?.message ?? "")", sourceLocation: location)
    #expect(try self.commit == commit, sourceLocation: location)
    let result = try store.clone(roots, from: snapshot, options: options)
    #expect(try self.commit == commit + 1, sourceLocation: location)
    expectSame(plan, result, "", location)
    try expectClean(location)
    return result
  }

  func expectSame(
    _ plan: ClonePlan, _ result: CloneResult, _ what: String, _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(plan.objectCount == result.objectCount && plan.counts == result.counts, "\(what)", sourceLocation: location)
    #expect(plan.affectedObjectIDs == result.affectedObjectIDs, "\(what)", sourceLocation: location)
    #expect(plan.affectedObjectCount == result.affectedObjectCount, "\(what)", sourceLocation: location)
    #expect(plan.blobsShared == result.blobsShared, "\(what)", sourceLocation: location)
    #expect(plan.bytesShared == result.bytesShared, "\(what)", sourceLocation: location)
    #expect(plan.bytesCopied == result.bytesCopied, "\(what)", sourceLocation: location)
    #expect(plan.bytesWritten == result.bytesWritten, "\(what)", sourceLocation: location)
  }

  /// Expects that a clone from a snapshot is rejected with this kind: alone, in a caller's transaction, and by the
  /// plan, without changes (R1).
  func expectRefusal(
    _ kind: CloneError.Kind, _ roots: [ObjectID], from snapshot: Snapshot, _ options: CloneOptions = CloneOptions(),
    entity: String? = nil, property: String? = nil, object: String? = nil, isPlanned: Bool = true,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let (before, commit) = (try lines(), try self.commit)
    func expectReason(_ error: CloneError?, _ when: Comment) {
      #expect(error?.kind == kind, "\(when): \(error?.message ?? "")", sourceLocation: location)
      if let entity { #expect(error?.entity == entity, when, sourceLocation: location) }
      if let property { #expect(error?.property == property, when, sourceLocation: location) }
      if let object { #expect(error?.object == object, when, sourceLocation: location) }
    }
    expectReason(
      #expect(throws: CloneError.self, "alone", sourceLocation: location) {
        try store.clone(roots, from: snapshot, options: options)
      }, "alone")
    var inside: CloneError?
    let aborted = #expect(throws: StoreError.self, "abort-only", sourceLocation: location) {
      try store.write { tx in
        do {
          _ = try tx.clone(roots, from: snapshot, options: options)
        } catch let error as CloneError {
          inside = error
        }
      }
    }
    #expect(aborted?.kind == .transactionAborted, "abort-only", sourceLocation: location)
    expectReason(inside, "inside")
    if isPlanned {
      let errors = try store.planClone(roots, from: snapshot, options: options).errors
      expectReason(errors.first, "plan")
    }
    #expect(try lines() == before && self.commit == commit, sourceLocation: location)
    try expectClean(location)
  }
}
