import Foundation
import KVClone
import KVCloneLMDB
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

/// LMDB continues reads that the map reader cannot, invisibly to the caller.
@Suite("Reading by the map, behind the seam")
struct StorageMapTests {
  @Test("a page that only LMDB accepts is read by LMDB, and what is behind it once", arguments: [1, 2, 3, 50])
  func goesOnWithLMDB(every: Int) throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    let engine = LMDBEngine(try LMDBEnvironment.create(at: root + "/store", tables: []))
    defer { engine.close() }
    let table = try engine.openTables([.links], create: true)[0]
    var writer = StorageTransaction(try engine.beginWrite(label: "test", timeout: .seconds(5)))
    let keys = (0..<4000 as Range<UInt64>).map { number in withUnsafeBytes(of: (number * 2).bigEndian) { Array($0) } }
    for key in keys { try writer.append(table, key.span.bytes, value(of: key).span.bytes) }
    try writer.commit()
    let damaged = try damageLeaves(root + "/store/data.mdb", every: every)
    #expect(damaged > 0)

    let reader = StorageTransaction(try engine.beginRead())
    for start in [0, 1, 777, 3999] {
      let found = try reader.entries(table, from: keys[start])
      #expect(found.map(\.key) == Array(keys[start...]) && found.allSatisfy { $0.value == value(of: $0.key) })
    }
    for (index, key) in keys.enumerated() {
      let found = try reader.value(table, key)
      let after = try reader.entry(table, key + [0], .atOrAfter)?.key
      let before = try reader.entry(table, key + [0], .atOrBefore)?.key
      #expect(found == value(of: key))
      #expect(before == key && after == (index + 1 < keys.count ? keys[index + 1] : nil))
    }
  }

  private func value(of key: [UInt8]) -> [UInt8] {
    [UInt8](repeating: key[7], count: key[7] == 9 ? 9000 : 100 + Int(key[7]))
  }

  /// Changes the page numbers in leaves, which LMDB does not check. Returns the number of changed leaves.
  private func damageLeaves(_ path: String, every: Int) throws -> Int {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let leaves = (2..<bytes.count / 4096).filter { page in
      let header = bytes[page * 4096..<page * 4096 + 12]
      return header.elementsEqual(withUnsafeBytes(of: UInt64(page)) { Array($0) } + [0, 0, 2, 0])
    }
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    let chosen = leaves.enumerated().filter { $0.offset % every == 0 }.map(\.element)
    for page in chosen {
      try file.seek(toOffset: UInt64(page * 4096))
      try file.write(contentsOf: Data([0xEE, 0xEE]))
    }
    try file.close()
    return chosen.count
  }
}
