import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Writes beyond a limit are rejected without a trace, and limits never prevent a caller from making the store smaller.
@Suite("Store limits") struct StoreLimitTests {
  private static func limited(objects: Int? = nil, bytes: UInt64? = nil) -> StoreOptions {
    var options = StoreOptions()
    options.maximumObjectCount = objects
    options.maximumFileBytes = bytes
    return options
  }

  private func facts(_ store: ObjectStore) throws -> (commit: UInt64, objects: Int) {
    let info = try store.info()
    return (info.commit, info.objectCount)
  }

  @Test func objectsAreLimited() throws {
    let test = try TestStore(CheckFixture.model, options: Self.limited(objects: 5))
    let store = test.store
    let ids = try store.insert("Item", count: 5)
    let before = try facts(store)
    let error = expectError(.limitExceeded) { _ = try store.insert("Tag", ["name": .string("x")]) }
    #expect(error?.message.contains("6 objects") == true && error?.message.contains("maximumObjectCount") == true)
    #expect(try facts(store) == before)
    // A deleted object makes room for a new one, also in one transaction.
    try store.write { tx in
      try tx.delete([ids[0]])
      try tx.insert("Item")
    }
    try store.set(ids[1], "isDone", .boolean(true))
    #expect(try facts(store).objects == 5)
    expectError(.limitExceeded) {
      try store.write { tx in
        try tx.delete([ids[1]])
        try tx.insert("Item")
        try tx.insert("Item")
      }
    }
    #expect(try store.exists(ids[1]))
    try checked(store)
  }

  @Test func clonesAreLimited() throws {
    let test = try TestStore(CheckFixture.model, options: Self.limited(objects: 7))
    let store = test.store
    let folder = try store.insert("Folder", ["title": .string("f")])
    for _ in 0..<3 { try store.insert("Item", relationships: ["folder": [folder]]) }
    let before = try facts(store)
    // Four more would be eight.
    let plan = try store.planClone([folder])
    #expect(plan.errors.map(\.kind) == [.limitExceeded] && plan.objectCount == 4)
    do {
      _ = try store.clone([folder])
      Issue.record("nothing was thrown")
    } catch let error as CloneError {
      #expect(error.kind == .limitExceeded && error.message.contains("8 objects"))
    }
    #expect(try facts(store) == before)
    try test.reopen(options: Self.limited(objects: 8))
    #expect(try test.store.planClone([folder]).errors.isEmpty)
    #expect(try test.store.clone([folder]).objectCount == 4)
    #expect(try facts(test.store).objects == 8)
    try checked(test.store)
  }

  @Test func loadsAreLimited() throws {
    let test = try TestStore(CheckFixture.model, options: Self.limited(objects: 10))
    var isFirst = true
    var failure: (any Error)?
    do {
      _ = try test.store.load { buffer in
        if isFirst { for number in 1...11 { buffer += Array("{\"id\":\"Item/\(number)\"}\n".utf8) } }
        defer { isFirst = false }
        return isFirst
      }
    } catch { failure = error }
    #expect((failure as? any KVCloneError)?.kindName == "limitExceeded", "\(String(describing: failure))")
    #expect(try facts(test.store).objects == 0)
    try checked(test.store)
  }

  /// A caller that opens a store above its limit can make it smaller, and change it.
  @Test func aStoreAboveItsLimitContinues() throws {
    let test = try TestStore(CheckFixture.model)
    let ids = try test.store.insert("Item", count: 10)
    try test.reopen(options: Self.limited(objects: 3, bytes: 4096))
    let store = test.store
    expectError(.limitExceeded) { _ = try store.insert("Item") }
    for id in ids.prefix(6) { try store.delete([id]) }
    expectError(.limitExceeded) { _ = try store.insert("Item") }
    try store.delete(Array(ids[6..<8]))
    #expect(try facts(store).objects == 2)
    try checked(store)
  }

  @Test(.needsDataFile(.sizes), arguments: [false, true]) func bytesAreLimited(_ isKept: Bool) throws {
    let limit: UInt64 = 4 << 20
    var options = Self.limited(bytes: limit)
    options.tracksHistory = isKept
    let test = try TestStore(CheckFixture.model, options: options)
    let store = test.store
    if isKept { try store.createSnapshot(named: "all") }
    var ids: [ObjectID] = []
    var failure: StoreError?
    while failure == nil, ids.count < 100 {
      let data = Data(repeating: UInt8(ids.count), count: 100_000)
      do {
        ids.append(try store.insert("Item", ["number": .decimal(Decimal(ids.count)), "photo": .binary(data)]))
      } catch let error as StoreError { failure = error }
    }
    let error = try #require(failure)
    #expect(error.kind == .limitExceeded && error.message.contains("maximumFileBytes"), "\(error.message)")
    #expect(ids.count > 30 && ids.count < 42)
    let full = try store.info()
    #expect(full.objectCount == ids.count)
    #expect(try store.statistics().pageCount * 4096 <= Int(limit) && full.fileBytes <= limit)
    try checked(store)
    // A value larger than the whole limit is rejected before it is written.
    expectError(.limitExceeded) { try store.set(ids[0], "photo", .binary(Data(count: 8 << 20))) }
    // Deletes work however full the store is, and make room for values that are no larger.
    try store.delete(Array(ids.prefix(8)))
    if isKept {
      // The snapshot keeps its content.
      try store.deleteSnapshot(named: "all")
    }
    _ = try store.insert("Tag", ["name": .string("small")])
    for number in 0..<5 {
      _ = try store.insert(
        "Item", ["number": .decimal(Decimal(200 + number)), "photo": .binary(Data(repeating: 9, count: 100_000))])
    }
    #expect(try store.info().fileBytes <= limit + (1 << 16))
    try checked(store)
  }

  /// A transaction that is much larger than the limit ends before it has filled the disk.
  @Test(.needsDataFile(.sizes)) func aLargeTransactionEndsEarly() throws {
    var options = Self.limited(bytes: 4 << 20)
    options.spillBudget = 1 << 20
    let test = try TestStore(CheckFixture.model, options: options)
    let store = test.store
    var inserted = 0
    expectError(.limitExceeded) {
      try store.write { tx in
        for number in 0..<100_000 {
          try tx.insert(
            "Item", ["title": .string(String(repeating: "x", count: 900)), "number": .decimal(Decimal(number))])
          inserted = number
        }
      }
    }
    #expect(inserted > 2000 && inserted < 20_000, "\(inserted)")
    #expect(try facts(store).objects == 0)
    #expect(try store.info().fileBytes < 1 << 20)
    try checked(store)
    _ = try store.insert("Item", count: 10)
    try checked(store)
  }

  /// With a reader, no freed page can be reused: changes then end at the limit, and deletes do not.
  @Test(.needsDataFile(.sizes)) func aReaderLetsTheFileGrowToTheLimitOnly() throws {
    let test = try TestStore(CheckFixture.model, options: Self.limited(bytes: 1 << 20))
    let store = test.store
    let ids = try store.insert("Item", count: 200)
    let reader = try store.pinnedSnapshot()
    var count = 0
    var failure: StoreError?
    while failure == nil, count < 1000 {
      do {
        try store.set(ids[count % 200], "title", .string("\(count)"))
        count += 1
      } catch let error as StoreError { failure = error }
    }
    #expect(failure?.kind == .limitExceeded && count > 10)
    try store.delete([ids[0]])
    reader.close()
    // The pages that it pinned are available to all.
    try store.delete([ids[1]])
    try store.set(ids[2], "title", .string("again"))
    try checked(store)
  }
}
