import Foundation
import Synchronization
import Testing

@testable import KVCloneLMDB

/// Entries outside of the trees, in files that repeat them many times.
@Suite struct PageSalvageTests {
  private static let length = 1 << 18
  private let fixture: PageFixture
  private let leaves: [Int]

  init() throws {
    fixture = try PageFixture(rounds: 2, entries: 600)
    leaves = try fixture.pages("alpha", flag: PageView.leafFlag) + fixture.pages("beta", flag: PageView.leafFlag)
    try #require(fixture.sound.count > 2 * Self.length && leaves.count > 4)
  }

  /// Replaces all leaves by corrupted ones, full of entries that claim 256 KiB of the file each.
  ///
  /// - Returns: the number of visited entries with a value, and of readable ones.
  private func visit(_ key: (Int) -> Int) throws -> (values: Int, entries: Int) {
    let salvage = try PageSalvage(PageFile(at: prepare(key)))
    var visited = (values: 0, entries: 0)
    salvage.forEachHidden { entry in
      guard entry.key.count == 8, entry.key[7] == 0x55 else { return }
      visited.entries += 1
      guard let value = entry.value() else { return }
      #expect(value.count == Self.length)
      visited.values += 1
    }
    return visited
  }

  /// - Returns: the store's path.
  private func prepare(_ key: (Int) -> Int) throws -> String {
    var number = 0
    _ = try fixture.walk { bytes in
      for leaf in leaves {
        bytes.put16(0, at: leaf * 4096 + 10)
        for node in stride(from: leaf * 4096 + 16, to: leaf * 4096 + 4096 - 24, by: 24) {
          bytes.put16(Self.length & 0xFFFF, at: node)
          bytes.put16(Self.length >> 16, at: node + 2)
          bytes.put16(PageView.bigDataFlag, at: node + 4)
          bytes.put16(8, at: node + 6)
          bytes.put64(key(number), at: node + 8)
          bytes.put64(2, at: node + 16)
          number += 1
        }
      }
    }
    return fixture.store.path
  }

  /// A salvage reads the header of each record, and most records have nothing else that it needs.
  @Test func theBeginningOfAValueIsReadWithoutTheRest() throws {
    let path = try prepare { 0x55 << 56 | $0 }
    let readBytes = Atomic(0)
    let watch = PageWatch { count in
      readBytes.add(count, ordering: .relaxed)
      return true
    }
    let salvage = try PageSalvage(PageFile(at: path, watch: watch))
    let start = try Array(#require(FileManager.default.contents(atPath: fixture.store.data))[8208..<8232])
    var entries = 0
    salvage.forEachHidden { entry in
      guard entry.key.count == 8, entry.key[7] == 0x55 else { return }
      entries += 1
      #expect(entry.prefix(24) == start)
      #expect(entry.prefix(Self.length + 1) == nil)
    }
    try #require(entries > 500)
    #expect(readBytes.load(ordering: .relaxed) < 8 * fixture.sound.count + 24 * entries)
    #expect(entries * Self.length > 32 * fixture.sound.count)
  }

  /// Each page could have a hundred entries of two mebibytes each: a file of 100 MiB would cause reads of terabytes.
  @Test func whatEntriesClaimIsReadInProportionToTheFile() throws {
    let visited = try visit { 0x55 << 56 | $0 }
    let budget = fixture.sound.count << 6
    try #require(visited.entries * Self.length > 2 * budget)
    #expect(visited.values == budget / Self.length)
  }

  @Test func aValueIsReadOnceForAKey() throws {
    let visited = try visit { _ in 0x55 << 56 }
    #expect(visited.entries > 500)
    #expect(visited.values == 1)
  }
}
