import Foundation
import Synchronization
import Testing

@testable import KVCloneLMDB

/// Forced spills: flat memory, and the same contents as without them. They depend on the library's internal order, so
/// they are tested against a model, with aborts, and every page of the file is counted.
@Suite(.serialized) struct SpillTests {
  @Test(arguments: [(1, 50), (2, 700), (3, 5000), (4, 0)] as [(UInt64, Int)])
  func randomWritesMatchAModel(seed: UInt64, every: Int) throws {
    let store = try TemporaryStore()
    var environment = try store.create(["blob", "r"])
    var table = try environment.table(named: "blob")
    var generator = SeededGenerator(seed: seed)
    var model: [UInt64: [UInt8]] = [:]
    for round in 0..<6 {
      let before = model
      var writer = try environment.beginWrite()
      for _ in 0..<6000 {
        let number = generator.next() % 4000
        let key = Self.key(number)
        if generator.next() % 4 == 0 {
          let found = try writer.delete(table, key.span.bytes)
          #expect(found == (model.removeValue(forKey: number) != nil), "seed \(seed)")
        } else {
          let isLong = generator.next() % 20 == 0
          let length = 16 + Int(generator.next() % (isLong ? 60_000 : 300))
          let value = [UInt8](repeating: UInt8(truncatingIfNeeded: generator.next()), count: length)
          try writer.put(table, key.span.bytes, value.span.bytes)
          model[number] = value
        }
        if every > 0, generator.next() % UInt64(every) == 0 { try writer.spill() }
      }
      #expect(every == 0 || writer.spillCount > 0, "seed \(seed)")
      if round % 3 == 2 {
        model = before
        writer.abort()
      } else {
        try writer.commit()
      }
      try Self.compare(environment, table, model, seed)
      #expect(try environment.auditPages().isConsistent, "seed \(seed), round \(round)")
    }
    environment.close()
    environment = try store.open()
    table = try environment.openTables(["blob", "r"], create: false)[0]
    try Self.compare(environment, table, model, seed)
  }

  /// 256 MiB in one transaction; without spills the process would hold all of it.
  ///
  /// In a process of its own: memory of concurrent tests would be counted. A sanitizer keeps freed memory.
  @Test func memoryStaysFlat() throws {
    let store = try TemporaryStore()
    try store.create().close()
    let peer = try Peer(store.path, ["open", "large=256"])
    let said = peer.lines(2).last ?? ""
    let numbers = said.split(separator: " ").compactMap { Int($0) }
    try #require(numbers.count == 2, "it said \(said)")
    if ProcessInfo.processInfo.environment["KVCLONE_SANITIZER"] == nil { #expect(numbers[0] < 64) }
    #expect(numbers[1] >= 14)
    let environment = try store.open()
    let table = try environment.openTables(["a"], create: false)[0]
    let reader = try environment.beginRead()
    var count: UInt64 = 0
    try reader.scan(table) { _, value in
      #expect(value.byteCount == 1 << 20)
      #expect(value.withUnsafeBytes { $0.load(fromByteOffset: 1 << 19, as: UInt64.self) } == count)
      count += 1
      return true
    }
    #expect(count == 256)
    #expect(try environment.auditPages().isConsistent)
  }

  /// Two tables, long values, and reopening after each round.
  @Test(arguments: [11, 12] as [UInt64]) func randomWritesInTwoTablesMatchAModel(seed: UInt64) throws {
    let store = try TemporaryStore()
    var options = LMDBOptions()
    options.spillBudget = 1 << 20
    try store.create(["a", "b"], options).close()
    var generator = SeededGenerator(seed: seed)
    var models: [[UInt64: [UInt8]]] = [[:], [:]]
    for round in 0..<4 {
      let environment = try store.open(options)
      let tables = try environment.openTables(["a", "b"], create: false)
      let before = models
      var writer = try environment.beginWrite()
      for _ in 0..<1500 {
        let which = Int(generator.next() % 2)
        let number = generator.next() % 1000
        let key = Self.key(number)
        if generator.next() % 3 == 0 {
          let found = try writer.delete(tables[which], key.span.bytes)
          #expect(found == (models[which].removeValue(forKey: number) != nil), "seed \(seed)")
        } else {
          let length = Int(generator.next() % (generator.next() % 8 == 0 ? 100_000 : 5000))
          let value = [UInt8](repeating: UInt8(truncatingIfNeeded: generator.next()), count: length)
          try writer.put(tables[which], key.span.bytes, value.span.bytes)
          models[which][number] = value
        }
      }
      #expect(writer.spillCount > 3, "seed \(seed)")
      if round == 1 {
        models = before
        writer.abort()
      } else {
        try writer.commit()
      }
      for which in 0..<2 { try Self.compare(environment, tables[which], models[which], seed) }
      #expect(try environment.auditPages().isConsistent, "seed \(seed), round \(round)")
      environment.close()
    }
  }

  @Test func aWriterKilledAfterSpillsLeavesTheOldState() throws {
    let store = try TemporaryStore()
    try store.prepare()
    for round in 0..<4 {
      let peer = try Peer(store.path, ["budget=1048576", "open", "spill-forever"])
      #expect(peer.lines(3).last == "spilling")
      usleep(UInt32(round) * 20_000)
      peer.kill()
      let environment = try store.open()
      let table = try environment.openTables(["a"], create: false)[0]
      #expect(try environment.beginRead().keys(table).count == 1 + round)
      #expect(try environment.auditPages().isConsistent)
      // The pages that the killed writer wrote are overwritten.
      var writer = try environment.beginWrite()
      try writer.put(table, "own \(round)", String(repeating: "x", count: 100_000))
      try writer.commit()
      #expect(try environment.auditPages().isConsistent)
      environment.close()
    }
  }

  /// LMDB 0.9.24 leaks a mebibyte with each: the processes that verified stores for the fault campaign finally used all
  /// memory.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["KVCLONE_SANITIZER"] == nil, "sanitizers count no bytes"))
  func aTransactionThatSpilledLeavesNothingInMemory() throws {
    let store = try TemporaryStore()
    try store.prepare()
    let peer = try Peer(store.path, ["open", "spills=100"])
    let said = peer.lines(2).last ?? ""
    let grown = try #require(Int(said.split(separator: " ").dropFirst(2).first ?? ""), "it said \(said)")
    #expect(grown < 20)
  }

  /// Allocations of other threads hide the result of a trial: the trial is repeated later, and all leaks are freed.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["KVCLONE_SANITIZER"] == nil, "sanitizers count no bytes"))
  func leaksHiddenByOtherAllocationsAreFreedLater() throws {
    let store = try TemporaryStore()
    try store.prepare()
    let peer = try Peer(store.path, ["open", "memory", "noise", "spills=20", "quiet", "spills=100", "memory"])
    let said = peer.lines(7)
    let allocated = said.filter { $0.hasPrefix("allocated ") }.compactMap { Int($0.dropFirst(10)) }
    try #require(allocated.count == 2, "it said \(said)")
    #expect(allocated[1] - allocated[0] < 8, "it said \(said)")
  }

  /// LMDB 0.9.25 to 0.9.33 free the list of spilled pages after they have released the write lock (ITS#9564), which
  /// another thread of the process would hold by then: it may not begin before the call has returned.
  @Test func threadsThatSpillTakeTurns() throws {
    let store = try TemporaryStore()
    let environment = try store.create()
    let table = try environment.table(named: "a")
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for round in 0..<25 {
        do {
          var writer = try environment.beginWrite()
          for index in 0..<8 {
            let value = [UInt8](repeating: UInt8(round), count: 100_000)
            try writer.put(table, [UInt8(thread), UInt8(index)].span.bytes, value.span.bytes)
          }
          try writer.spill()
          if round % 3 == 2 { writer.abort() } else { try writer.commit() }
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }
    }
    #expect(failures.withLock { $0 } == [])
    let reader = try environment.beginRead()
    for thread in UInt8(0)..<4 {
      for index in UInt8(0)..<8 {
        // Round 24 is the last one that commits.
        let key = [thread, index]
        guard let value = try reader.bytes(table, key) else {
          Issue.record("nothing of \(key)")
          continue
        }
        #expect(value.count == 100_000 && value.allSatisfy { $0 == 24 })
      }
    }
    #expect(try environment.auditPages().isConsistent)
  }

  // MARK: The probe

  @Test func thisLibraryIsFoundToSpill() throws {
    #expect(SpillProbe.findsSupport(with: SpillProbe.force))
    #expect(try TemporaryStore().create().isSpillSupported)
  }

  /// Libraries of another internal order: one that rejects before it makes room, one that takes the value, one that
  /// checks its length first, and one that loses pages.
  @Test func otherLibrariesAreFoundNotTo() {
    #expect(!SpillProbe.findsSupport { _, _ in -30784 })
    #expect(!SpillProbe.findsSupport { _, _ in 0 })
    #expect(!SpillProbe.findsSupport { _, _ in -30781 })
    #expect(
      !SpillProbe.findsSupport { transaction, table in
        let code = SpillProbe.force(transaction, table)
        let key: [UInt8] = [3, 4]
        _ = key.withUnsafeBytes { rawDelete(transaction, 2, $0) }
        return code
      })
  }

  @Test func theNextPageIsKeptWhereItIsLookedFor() {
    #expect(NextPageProbe.isSupported)
    // Pointers, the transaction's number and other fields are not mistaken for it.
    for offset in stride(from: 0, to: 64, by: 8) where offset != NextPageProbe.offset {
      #expect(!NextPageProbe.isNextPage(at: offset), "offset \(offset)")
    }
  }

  @Test func withoutSupportEverythingWorksInMoreMemory() throws {
    let store = try TemporaryStore()
    var options = LMDBOptions()
    options.spillBudget = 1 << 20
    let environment = try store.create(["a"], options)
    environment.disableSpill()
    #expect(!environment.isSpillSupported)
    let table = try environment.table(named: "a")
    let value = [UInt8](repeating: 1, count: 1 << 20)
    var writer = try environment.beginWrite()
    for number in 0..<8 { try writer.put(table, Self.key(UInt64(number)).span.bytes, value.span.bytes) }
    #expect(writer.spillCount == 0)
    try writer.commit()
    #expect(try environment.sizes(table).entries == 8)
    #expect(try environment.auditPages().isConsistent)
  }

  @Test func canBeSwitchedOff() throws {
    let store = try TemporaryStore()
    var options = LMDBOptions()
    options.spillBudget = 0
    let environment = try store.create(["a"], options)
    let table = try environment.table(named: "a")
    var writer = try environment.beginWrite()
    let value = [UInt8](repeating: 1, count: 1 << 20)
    for number in 0..<32 { try writer.put(table, Self.key(UInt64(number)).span.bytes, value.span.bytes) }
    #expect(writer.spillCount == 0)
    environment.disableSpill()
    try writer.spill()
    #expect(writer.spillCount == 0)
    try writer.commit()
  }

  static func key(_ number: UInt64) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  static func compare(
    _ environment: LMDBEnvironment, _ table: LMDBTable, _ model: [UInt64: [UInt8]], _ seed: UInt64
  ) throws {
    let reader = try environment.beginRead()
    var expected = model.sorted { $0.key < $1.key }.makeIterator()
    var differences = 0
    try reader.scan(table) { key, value in
      let next = expected.next()
      let isSame =
        key.withUnsafeBytes { Array($0) } == next.map { Self.key($0.key) }
        && value.withUnsafeBytes { Array($0) } == next?.value
      if !isSame { differences += 1 }
      return true
    }
    #expect(differences == 0 && expected.next() == nil, "seed \(seed)")
  }
}
