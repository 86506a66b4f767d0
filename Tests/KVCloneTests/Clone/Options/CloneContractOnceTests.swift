import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// R31: a key makes a call idempotent.
@Suite("Clone contract: once, and not twice")
struct CloneContractOnceTests {
  private struct GivenUp: Error {}

  private func keyed(
    _ key: String = "key", count: Int = 1, _ change: (inout CloneOptions) -> Void = { _ in }
  ) -> CloneOptions {
    .contract(count: count) {
      $0.idempotencyKey = key
      change(&$0)
    }
  }

  /// Expects that the second call returns the result of the first one.
  private func expectRepeated(
    _ second: CloneResult, _ first: CloneResult, deleted: [ObjectID] = [],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(second.isRepeated && !first.isRepeated, sourceLocation: sourceLocation)
    #expect(second.roots == first.roots && second.root == first.root, sourceLocation: sourceLocation)
    #expect(second.deletedRoots == deleted, sourceLocation: sourceLocation)
    #expect(second.objectCount == first.objectCount && second.counts == first.counts, sourceLocation: sourceLocation)
    #expect(second.affectedObjectCount == first.affectedObjectCount, sourceLocation: sourceLocation)
    #expect(second.affectedObjectIDs == first.affectedObjectIDs, sourceLocation: sourceLocation)
    #expect(second.blobsShared == first.blobsShared, sourceLocation: sourceLocation)
    #expect(second.bytesShared == first.bytesShared, sourceLocation: sourceLocation)
    #expect(second.bytesCopied == first.bytesCopied, sourceLocation: sourceLocation)
    #expect(second.bytesWritten == first.bytesWritten, sourceLocation: sourceLocation)
  }

  @Test("R31: the second call clones nothing and answers what the first did", .tags(.r31), arguments: [1, 200])
  func again(_ count: Int) throws {
    let test = try ContractStore(contractModel)
    let source = try ContractLibrary(test.store)
    let options = keyed(count: count)
    let first = try test.store.clone([source.doc], options: options)
    #expect(!first.isRepeated && first.deletedRoots.isEmpty && first.roots.count == count)
    // The dump of a thousand documents is too long, so their counts are compared.
    func state() throws -> String {
      try count > 3 ? "\(test.store.info().counts.sorted { $0.key < $1.key })" : test.dump()
    }
    let after = try state()
    expectRepeated(try test.store.clone([source.doc], options: options), first)
    try test.test.reopen()
    expectRepeated(try test.store.clone([source.doc], options: options), first)
    // The source is changed, then deleted: the result stays the same.
    #expect(try state() == after)
    try test.store.delete([source.notes[0]])
    expectRepeated(try test.store.clone([source.doc], options: options), first)
    try test.expectClean()
    try test.store.delete([source.doc])
    expectRepeated(try test.store.clone([source.doc], options: options), first)
    let gone = [first.root] + (count > 1 ? [first.roots[count - 1]] : [])
    try test.store.delete(gone)
    let last = try state()
    expectRepeated(try test.store.clone([source.doc], options: options), first, deleted: gone)
    try test.test.reopen()
    expectRepeated(try test.store.clone([source.doc], options: options), first, deleted: gone)
    #expect(try state() == last)
    try test.expectClean()
  }

  @Test("R31: the same key with other arguments is an error, and writes nothing", .tags(.r31))
  func otherArguments() throws {
    let test = try ContractStore(contractModel)
    let source = try ContractLibrary(test.store)
    let first = try test.store.clone([source.doc], options: keyed())
    let others: [(String, [ObjectID], CloneOptions)] = [
      ("roots", [source.pages[0]], keyed()),
      ("more roots", [source.doc, source.pages[0]], keyed()),
      ("count", [source.doc], keyed(count: 2)),
      ("exclusion", [source.doc], keyed { $0.excludedRelationshipNames = ["box"] }),
      ("passing", [source.doc], keyed { $0.passingExclusionList = true }),
      ("rule", [source.doc], keyed { $0.rules = ["Page.shelf": .skip] }),
      ("references", [source.doc], keyed { $0.references = .keepOriginal }),
      ("blobs", [source.doc], keyed { $0.blobs = .copy }),
      ("provenance", [source.doc], keyed { $0.recordsProvenance = true }),
      ("keys", [source.doc], keyed { $0.userInfoKeys = CloneUserInfoKeys(exclude: "leaveOut") }),
    ]
    for (name, roots, options) in others {
      let error = try test.expectNothingDone(name) { _ = try test.store.clone(roots, options: options) }
      #expect((error as? CloneError)?.kind == .idempotencyKeyReused, "\(name): \(String(describing: error))")
      try test.expectNothingDone("\(name), in a transaction") {
        try test.store.write { tx in
          try tx.insert("Box")
          _ = try? tx.clone(roots, options: options)
        }
      }
    }
    // The order of the roots counts, too, because the result lists the clones in that order.
    let pair = keyed("pair")
    _ = try test.store.clone([source.doc, source.stranger], options: pair)
    let error = try test.expectNothingDone { _ = try test.store.clone([source.stranger, source.doc], options: pair) }
    #expect((error as? CloneError)?.kind == .idempotencyKeyReused)
    // Closures are not compared.
    let hooks = keyed {
      $0.willClone = { edge, _ in edge.rule }
      $0.didClone = { _, _, _ in throw GivenUp() }
      $0.progress = { _ in }
    }
    expectRepeated(try test.store.clone([source.doc], options: hooks), first)
    // Another key is another call.
    #expect(try !test.store.clone([source.doc], options: keyed("other")).isRepeated)
    try test.expectClean()
  }

  @Test("R31: a key that has expired is unknown, whatever the arguments were", .tags(.r31))
  func expiry() throws {
    let test = try ContractStore(contractModel)
    let source = try ContractLibrary(test.store)
    let past = keyed { $0.idempotencyExpiresAt = Date(timeIntervalSinceNow: -1) }
    let first = try test.store.clone([source.doc], options: past)
    let second = try test.store.clone([source.doc], options: past)
    #expect(!second.isRepeated && second.roots != first.roots)
    // After its expiry, the key may be used for another call, which is recorded.
    let future = keyed(count: 2) { $0.idempotencyExpiresAt = Date(timeIntervalSinceNow: 3600) }
    let third = try test.store.clone([source.doc], options: future)
    #expect(!third.isRepeated && third.roots.count == 2)
    expectRepeated(try test.store.clone([source.doc], options: future), third)
    try test.test.reopen()
    expectRepeated(try test.store.clone([source.doc], options: future), third)
    try test.expectClean()
  }

  @Test("R31: purged keys are unknown, others are kept", .tags(.r31))
  func purge() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let box = try store.insert("Box")
    let expired = keyed("expired") { $0.idempotencyExpiresAt = Date(timeIntervalSinceNow: -1) }
    func known(_ key: String) throws -> Bool { try store.clone([box], options: keyed(key)).isRepeated }
    for key in ["a", "b", "c"] { _ = try store.clone([box], options: keyed(key)) }
    _ = try store.clone([box], options: expired)
    #expect(try store.purgeIdempotencyKeys(expiredOnly: true) == 1)
    #expect(try store.purgeIdempotencyKeys(expiredOnly: true) == 0)
    #expect(try store.purgeIdempotencyKeys(["a", "unknown"]) == 1)
    #expect(try !known("a") && known("b") && known("c") && known("a"))
    #expect(try store.purgeIdempotencyKeys(before: Date(timeIntervalSinceNow: -3600)) == 0)
    #expect(try known("b"))
    #expect(try store.purgeIdempotencyKeys(["b"], before: Date(timeIntervalSinceNow: 3600)) == 1)
    #expect(try store.purgeIdempotencyKeys([]) == 0, "no key is named")
    #expect(try store.purgeIdempotencyKeys() == 2)
    #expect(try !known("c"))
    try test.expectClean()
  }

  @Test("R31: inside a transaction a key lives and dies with it", .tags(.r31))
  func transactions() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    try test.expectNothingDone {
      try store.write { tx in
        let first = try tx.clone([source.doc], options: keyed())
        let second = try tx.clone([source.doc], options: keyed())
        expectRepeated(second, first)
        throw GivenUp()
      }
    }
    let first = try store.write { tx in
      let first = try tx.clone([source.doc], options: keyed())
      #expect(!first.isRepeated, "the first one was given up")
      expectRepeated(try tx.clone([source.doc], options: keyed()), first)
      return first
    }
    expectRepeated(try store.clone([source.doc], options: keyed()), first)
    // Deleted in the same transaction that repeats the call, and which is then rolled back.
    try test.expectNothingDone {
      try store.write { tx in
        try tx.delete([first.root])
        expectRepeated(try tx.clone([source.doc], options: keyed()), first, deleted: [first.root])
        throw GivenUp()
      }
    }
    expectRepeated(try store.clone([source.doc], options: keyed()), first)
    try test.expectClean()
  }

  @Test("R1, R31: a clone that fails leaves its key unused", .tags(.r1, .r31))
  func failures() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let failing: [CloneOptions] = [
      keyed { $0.maxObjects = 3 }, keyed { $0.excludedRelationshipNames = ["nothing"] },
      keyed { $0.didClone = { _, _, _ in throw GivenUp() } }, keyed { $0.willClone = { _, _ in throw GivenUp() } },
    ]
    for options in failing { try test.expectNothingDone { _ = try store.clone([source.doc], options: options) } }
    let commit = try test.commit()
    #expect(try store.planClone([source.doc], options: keyed()).objectCount == 7)
    #expect(try test.commit() == commit, "a plan uses no key")
    let result = try store.clone([source.doc], options: keyed())
    #expect(!result.isRepeated)
    expectRepeated(try store.clone([source.doc], options: keyed()), result)
  }

  @Test("R31: keys have 1 to 255 bytes of UTF-8, and are compared bytewise", .tags(.r31))
  func lengths() throws {
    let test = try ContractStore(contractModel)
    let box = try test.store.insert("Box")
    for key in ["", String(repeating: "k", count: 256), String(repeating: "é", count: 128)] {
      try test.expectRefusal(.invalidConfiguration, [box], keyed(key))
    }
    let keys = [
      "k", "K", " k", "k\0", "k\u{0}x", "\u{E9}", "e\u{301}", String(repeating: "k", count: 255),
      String(repeating: "k", count: 254), "é" + String(repeating: "k", count: 253),
    ]
    for key in keys { #expect(try !test.store.clone([box], options: keyed(key)).isRepeated, "\(key.debugDescription)") }
    for key in keys { #expect(try test.store.clone([box], options: keyed(key)).isRepeated, "\(key.debugDescription)") }
    #expect(try test.store.purgeIdempotencyKeys([keys[5]]) == 1)
    try test.expectClean()
  }

  @Test("R31: of several calls at once one clones", .tags(.r31))
  func concurrent() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let results = ContractBox<[Result<CloneResult, any Error>]>([])
    DispatchQueue.concurrentPerform(iterations: 6) { _ in
      let result = Result { try store.clone([source.doc], options: keyed(count: 3)) }
      results.change { $0.append(result) }
    }
    let all = try results.value.map { try $0.get() }
    #expect(all.count == 6 && all.count { !$0.isRepeated } == 1)
    #expect(Set(all.map(\.roots)).count == 1)
    #expect(try store.objects("Doc").count == 4)
    try test.expectClean()
  }

  // MARK: Provenance

  @Test("R33: every clone remembers its source and both commits, on request alone", .tags(.r33), arguments: [1, 3])
  func provenance(_ count: Int) throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    func provenance(_ id: ObjectID) throws -> CloneProvenance? { try store.read { try $0.provenance(of: id) } }
    let pairs = ContractBox<[ObjectID: ObjectID]>([:])
    let before = try test.commit()
    let options = CloneOptions.contract(count: count) {
      $0.recordsProvenance = true
      $0.didClone = { _, source, clone in pairs.change { $0[clone] = source } }
    }
    let result = try store.clone([source.doc], options: options)
    let after = try test.commit()
    #expect(pairs.value.count == 7 * count)
    for (clone, source) in pairs.value {
      let found = try #require(try provenance(clone))
      #expect(found.source == source && found.sourceStore == nil)
      #expect(found.sourceCommit == before && found.cloneCommit == after, "\(found), commits \(before) and \(after)")
    }
    for id in [source.doc] + source.pages + source.shelves { #expect(try provenance(id) == nil) }
    // A clone of a clone has the provenance that its own call requested.
    let silent = try store.clone([result.root])
    #expect(try provenance(silent.root) == nil)
    let second = try store.clone([result.root], options: options)
    #expect(try provenance(second.root)?.source == result.root)
    try test.expectClean()
    // It stays when the source is deleted, and is deleted with the clone.
    try store.delete([source.doc])
    #expect(try provenance(result.root)?.source == source.doc)
    try test.test.reopen()
    #expect(try test.store.read { try $0.provenance(of: result.root) }?.source == source.doc)
    let entry = try test.dump()
    try test.store.delete(result.roots)
    expectError(.objectNotFound) { _ = try test.store.read { try $0.provenance(of: result.root) } }
    #expect(entry.contains("provenance") == false)
    try test.expectClean()
  }

  @Test("R1, R33: an aborted clone leaves no provenance", .tags(.r1, .r33))
  func provenanceAborted() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let options = CloneOptions.contract(count: 3) { $0.recordsProvenance = true }
    try test.expectNothingDone {
      try store.write { tx in
        let result = try tx.clone([source.doc], options: options)
        #expect(try tx.provenance(of: result.root)?.source == source.doc)
        try tx.delete([result.root])
        throw GivenUp()
      }
    }
    let result = try store.write { tx in
      let result = try tx.clone([source.doc], options: options)
      try tx.delete([result.roots[1]])
      return result
    }
    let commit = try test.commit()
    #expect(try store.read { try $0.provenance(of: result.root) }?.cloneCommit == commit)
    try test.expectClean()
  }
}
