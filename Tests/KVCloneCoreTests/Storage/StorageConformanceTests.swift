import Foundation
import KVClone
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

/// The guarantees of the storage protocols, tested with every engine: the store relies on nothing else.
@Suite("The storage seam", .serialized)
struct StorageConformanceTests {
  static let keys: [[UInt8]] = [
    [0], [0, 0], [0, 0xFF], [1], [1, 0], [0x7F], [0x80], [0x80, 0, 0], [0xFE, 0xFF, 0xFF], [0xFF], [0xFF, 0],
    [0xFF, 0xFF], Array(repeating: 0xFF, count: FormatLimits.maximumKeyLength),
    // The key of the previous state of an entry with the longest key.
    Array(
      repeating: 0xFF, count: FormatLimits.maximumKeyLength + PreimageKey.prefixLength + PreimageKey.suffixLength),
  ]

  @Test("get, both seeks and scans from every key, present or not", arguments: StorageKind.allCases)
  func reads(kind: StorageKind) throws {
    let fixture = try StorageFixture(kind)
    let stored = Self.keys.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
    try fixture.write { tx in
      for key in stored.reversed() { try tx.put(fixture.table, key, [UInt8(key.count & 0xFF)] + key) }
    }
    func entry(_ key: [UInt8]) -> MemoryEntry { MemoryEntry(key: key, value: [UInt8(key.count & 0xFF)] + key) }
    let reader = try fixture.beginRead()
    for (index, key) in Self.keys.enumerated() {
      let isStored = index % 2 == 0
      let value = try reader.value(fixture.table, key)
      #expect(value == (isStored ? entry(key).value : nil))
      let after = stored.filter { !$0.lexicographicallyPrecedes(key) }
      let before = stored.filter { !key.lexicographicallyPrecedes($0) }
      let next = try reader.entry(fixture.table, key, .atOrAfter)
      #expect(next == after.first.map(entry))
      let previous = try reader.entry(fixture.table, key, .atOrBefore)
      #expect(previous == before.last.map(entry))
      let rest = try reader.entries(fixture.table, from: key)
      #expect(rest == after.map(entry))
      let two = try reader.entries(fixture.table, from: key, limit: 2)
      #expect(two == after.prefix(2).map(entry))
    }
    let all = try reader.entries(fixture.table)
    #expect(all.map(\.key) == stored)
    let first = try reader.entry(fixture.table, [], .atOrAfter)
    #expect(first?.key == stored.first)
    let none = try reader.entry(fixture.table, [], .atOrBefore)
    #expect(none == nil)
    let other = try reader.entries(fixture.tables[1])
    #expect(other.isEmpty)
  }

  @Test("what a scan's body throws arrives as it is", arguments: StorageKind.allCases)
  func throwingScan(kind: StorageKind) throws {
    let fixture = try StorageFixture(kind)
    try fixture.write { tx in for key in Self.keys { try tx.put(fixture.table, key, key) } }
    let reader = try fixture.beginRead()
    var seen = 0
    let kind = readFailure(reader) { (tx) throws(StoreError) in
      let start: [UInt8] = [1]
      try tx.scanToEnd(of: fixture.table, from: start.span.bytes) { (_, _) throws(StoreError) in
        seen += 1
        if seen == 3 { throw StoreError(.deleteDenied, "enough") }
        return true
      }
    }
    #expect(kind == .deleteDenied && seen == 3)
  }

  @Test("values of every length, empty and over pages", arguments: StorageKind.allCases)
  func values(kind: StorageKind) throws {
    let fixture = try StorageFixture(kind)
    let lengths = [0, 1, 2, 3, 7, 119, 2029, 2030, 2031, 4079, 4080, 4081, 4095, 4096, 4097, 12_345, (1 << 20) + 1]
    func value(_ length: Int) -> [UInt8] {
      var value = Array(repeating: UInt8(truncatingIfNeeded: length), count: length)
      for index in stride(from: 0, to: length, by: 509) { value[index] = UInt8(truncatingIfNeeded: index) }
      return value
    }
    try fixture.write { tx in
      for (index, length) in lengths.enumerated() {
        try tx.put(fixture.table, [UInt8(index)], value(length))
        let now = try tx.value(fixture.table, [UInt8(index)])
        #expect(now == value(length))
      }
    }
    try fixture.reopen()
    #expect(try fixture.entries().map(\.value) == lengths.map(value))
    // Replaced by values of other lengths, longer and shorter.
    try fixture.write { tx in
      for index in lengths.indices { try tx.put(fixture.table, [UInt8(index)], value(lengths.reversed()[index])) }
    }
    #expect(try fixture.entries().map(\.value) == lengths.reversed().map(value))
    try fixture.expectSoundPages()
  }

  @Test("delete returns whether the key existed", arguments: StorageKind.allCases)
  func deletes(kind: StorageKind) throws {
    let fixture = try StorageFixture(kind)
    try fixture.write { tx in
      for key in Self.keys { try tx.put(fixture.table, key, key) }
      for key in Self.keys {
        let first = try tx.delete(fixture.table, key)
        let second = try tx.delete(fixture.table, key)
        let value = try tx.value(fixture.table, key)
        #expect(first && !second && value == nil)
      }
    }
    #expect(try fixture.entries().isEmpty)
  }

  @Test("an append out of order is a typed error, and the transaction is lost", arguments: StorageKind.allCases)
  func appends(kind: StorageKind) throws {
    let fixture = try StorageFixture(kind)
    try fixture.write { tx in for key in Self.keys { try tx.append(fixture.table, key, key) } }
    #expect(try fixture.entries().map(\.key) == Self.keys)
    for key in [Self.keys[0], Self.keys[5], Self.keys[Self.keys.count - 1]] {
      var tx = try fixture.begin()
      let kind = failure(&tx) { (tx) throws(StoreError) in try tx.append(fixture.table, key, [1]) }
      #expect(kind == .limitExceeded)
      try expectLost(&tx, fixture.table)
      #expect(commitFailure(tx) == .transactionAborted)
    }
    #expect(try fixture.entries().map(\.value) == Self.keys)
  }

  @Test("keys that are empty or too long are typed errors", arguments: StorageKind.allCases)
  func keyLengths(kind: StorageKind) throws {
    let fixture = try StorageFixture(kind)
    for key in [[], Array(repeating: 7, count: 512), Array(repeating: 7, count: 5000)] as [[UInt8]] {
      for change in 0..<3 {
        var tx = try fixture.begin()
        let kind = failure(&tx) { (tx) throws(StoreError) in
          switch change {
          case 0: try tx.put(fixture.table, key, [1])
          case 1: try tx.append(fixture.table, key, [1])
          default: try tx.delete(fixture.table, key)
          }
        }
        #expect(kind == .limitExceeded)
        try expectLost(&tx, fixture.table)
      }
      let reader = try fixture.beginRead()
      let get = readFailure(reader) { (tx) throws(StoreError) in _ = try tx.value(fixture.table, key) }
      #expect(get == .limitExceeded)
      guard !key.isEmpty else { continue }
      let seek = readFailure(reader) { (tx) throws(StoreError) in _ = try tx.entry(fixture.table, key, .atOrAfter) }
      let scan = readFailure(reader) { (tx) throws(StoreError) in _ = try tx.entries(fixture.table, from: key) }
      #expect(seek == .limitExceeded && scan == .limitExceeded)
    }
    #expect(try fixture.entries().isEmpty)
  }

  /// Expects that after a failed change every further one is rejected.
  private func expectLost(_ tx: inout StorageTransaction, _ table: StorageTable) throws {
    let put = failure(&tx) { (tx) throws(StoreError) in try tx.put(table, [9], [9]) }
    let append = failure(&tx) { (tx) throws(StoreError) in try tx.append(table, [0xFF, 0xFF, 9], [9]) }
    let delete = failure(&tx) { (tx) throws(StoreError) in try tx.delete(table, [9]) }
    #expect(put == .transactionAborted && append == .transactionAborted && delete == .transactionAborted)
  }

  @Test("a read transaction changes nothing", arguments: StorageKind.allCases)
  func readOnly(kind: StorageKind) throws {
    let fixture = try StorageFixture(kind)
    var reader = try fixture.beginRead()
    let put = failure(&reader) { (tx) throws(StoreError) in try tx.put(fixture.table, [1], [1]) }
    let append = failure(&reader) { (tx) throws(StoreError) in try tx.append(fixture.table, [1], [1]) }
    let delete = failure(&reader) { (tx) throws(StoreError) in try tx.delete(fixture.table, [1]) }
    #expect(put == .readOnly && append == .readOnly && delete == .readOnly)
    let value = try reader.value(fixture.table, [1])
    #expect(value == nil)
    try reader.commit()
  }

  @Test(
    "readers see their begin; a writer sees itself; aborted and dropped changes are gone",
    arguments: StorageKind.allCases)
  func isolation(kind: StorageKind) throws {
    let fixture = try StorageFixture(kind)
    try isolate(fixture)
    #expect(try fixture.entries().map(\.value) == [[2], [2]])
    try dropWriter(fixture)
    #expect(try fixture.entries().map(\.value) == [[2], [2]])
    try fixture.reopen()
    #expect(try fixture.entries().map(\.value) == [[2], [2]])
  }

  private func isolate(_ fixture: StorageFixture) throws {
    let empty = try fixture.beginRead()
    try fixture.write { tx in try tx.put(fixture.table, [1], [1]) }
    let one = try fixture.beginRead()
    var tx = try fixture.begin()
    try tx.put(fixture.table, [1], [2])
    try tx.put(fixture.table, [2], [2])
    let own = try tx.entries(fixture.table)
    #expect(own.map(\.value) == [[2], [2]])
    let during = try fixture.entries()
    #expect(during.map(\.value) == [[1]])
    try tx.commit()
    let (atEmpty, atOne) = (try empty.entries(fixture.table), try one.entries(fixture.table))
    #expect(atEmpty.isEmpty && atOne.map(\.value) == [[1]])
  }

  private func dropWriter(_ fixture: StorageFixture) throws {
    var dropped = try fixture.begin()
    try dropped.delete(fixture.table, [1])
    for number in 0..<200 {
      try dropped.put(fixture.tables[number % 3], [3, UInt8(number)], Array(repeating: 3, count: 3000))
    }
  }

  @Test("one writer: busy after the timeout, nested on the same thread", arguments: StorageKind.allCases)
  func oneWriter(kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let engine = fixture.engine
    let transaction = try fixture.begin()
    expectError(.nestedWrite) { _ = try engine.beginWrite(label: "nested", timeout: .zero) }
    let other = OtherThread { () -> StoreError.Kind? in
      do throws(StoreError) {
        _ = try engine.beginWrite(label: "other", timeout: .milliseconds(20))
        return nil
      } catch {
        return error.kind
      }
    }
    #expect(other.result() == .some(.some(.busy)))
    try transaction.commit()
    let next = OtherThread { () -> StoreError.Kind? in
      do throws(StoreError) {
        _ = try engine.beginWrite(label: "next", timeout: .seconds(60))
        return nil
      } catch {
        return error.kind
      }
    }
    #expect(next.result() == .some(.none))
    try fixture.write { tx in try tx.put(fixture.table, [1], [1]) }
  }

  @Test("a closed engine begins nothing", arguments: StorageKind.allCases)
  func closed(kind: StorageKind) throws {
    let fixture = try StorageFixture(kind)
    try fixture.write { tx in try tx.put(fixture.table, [1], [1]) }
    let reader = try fixture.beginRead()
    fixture.engine.close()
    expectError(.closed) { _ = try fixture.engine.beginRead() }
    expectError(.closed) { _ = try fixture.engine.beginWrite(label: "", timeout: .zero) }
    // Open transactions continue.
    let value = try reader.value(fixture.table, [1])
    #expect(value == [1])
  }

  @Test(
    "many tables, each with entries of its own; one that is missing is a typed error", arguments: StorageKind.allCases)
  func manyTables(kind: StorageKind) throws {
    let fixture = try StorageFixture(kind)
    let codes = (1...100).map { TableCode.objects(rootCode: UInt16($0)) }
    expectError(.invalidStore) { _ = try fixture.engine.openTables(codes, create: false) }
    let tables = try fixture.engine.openTables(codes, create: true)
    #expect(Set(tables.map(\.handle)).count == 100 && tables.map(\.code) == codes)
    try fixture.write { tx in
      for (number, table) in tables.enumerated() { try tx.put(table, [1], [UInt8(number)]) }
    }
    for (number, table) in tables.enumerated() { #expect(try fixture.entries(table).map(\.value) == [[UInt8(number)]]) }
    #expect(try fixture.entries().isEmpty)
    try fixture.reopen()
    let again = try fixture.engine.openTables(codes, create: false)
    for (number, table) in again.enumerated() { #expect(try fixture.entries(table).map(\.value) == [[UInt8(number)]]) }
  }

  @Test("what a read returns may be what a change stores", arguments: StorageKind.allCases)
  func storedFromBorrowed(kind: StorageKind) throws {
    let fixture = try StorageFixture(kind)
    let long = (0..<9000).map { UInt8(truncatingIfNeeded: $0) }
    try fixture.write { tx in try tx.put(fixture.table, [1], long) }
    let backend = try fixture.engine.beginWrite(label: "copy", timeout: .seconds(1))
    let (from, to): ([UInt8], [UInt8]) = ([1], [2])
    try from.withUnsafeBytes { from in
      try to.withUnsafeBytes { to in
        let value = try #require(try backend.get(fixture.table, from))
        try backend.put(fixture.table, to, value)
      }
    }
    try backend.commit()
    #expect(try fixture.entries().map(\.value) == [long, long])
  }
}

/// Runs work on a separate thread.
final class OtherThread<Result: Sendable>: @unchecked Sendable {
  private var value: Result?
  private let done = DispatchSemaphore(value: 0)

  init(_ body: @escaping @Sendable () -> Result) {
    let thread = Thread { [self] in
      value = body()
      done.signal()
    }
    thread.start()
  }

  func result() -> Result? {
    done.wait()
    return value
  }
}
