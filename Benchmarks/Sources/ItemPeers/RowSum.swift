/// A hash of the parts of a row.
package struct Mixer {
  package private(set) var value: UInt64 = 0

  package init() {}

  package mutating func add(_ word: UInt64) {
    value = (value ^ word) &* 0x9FB2_1C65_1E98_DF25
    value ^= value >> 32
  }

  /// Adds eight bytes at a time, so that the hash costs little compared with reading the row.
  package mutating func add(_ text: String) {
    var text = text
    text.withUTF8 { utf8 in
      let bytes = UnsafeRawBufferPointer(utf8)
      var start = 0
      while start + 8 <= bytes.count {
        add(bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self))
        start += 8
      }
      var rest = UInt64(bytes.count)
      for byte in bytes[start...] { rest = rest << 8 | UInt64(byte) }
      add(rest)
    }
  }
}

/// A checksum of a task's results. Peers with equal rows have equal sums.
package struct RowSum: Equatable, Sendable {
  package private(set) var rows = 0
  package private(set) var sum: UInt64 = 0

  package init() {}

  /// Adds a row of unordered results.
  package mutating func add(_ row: UInt64) {
    rows += 1
    sum &+= row
  }

  /// Adds the next row of ordered results.
  package mutating func append(_ row: UInt64) {
    rows += 1
    sum = sum &* 31 &+ row
  }

  /// Adds a link from one object to another.
  package mutating func add(link owner: Int, _ target: Int) {
    var mixer = Mixer()
    mixer.add(UInt64(owner))
    mixer.add(UInt64(target))
    add(mixer.value)
  }

  /// Adds counted objects that were not read.
  package mutating func add(counted count: Int) {
    rows += count
    sum = sum &* 31 &+ UInt64(count)
  }
}
