#if Postgres
  import KVClone
  import KVCloneLMDB
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVCloneCore

  /// The entries that a table must contain. The keys have 8 bytes for even numbers, and 9 for the odd numbers behind them.
  struct EntryModel {
    private var values: [Int: [UInt8]] = [:]
    /// The numbers of the keys, ascending.
    private(set) var keys: [Int] = []
    var comment = ""

    static func bytes(_ number: Int) -> [UInt8] {
      withUnsafeBytes(of: UInt64(number / 2).bigEndian) { Array($0) } + (number % 2 == 0 ? [] : [0])
    }

    private static func number(_ key: RawSpan) -> Int {
      key.withUnsafeBytes { key in
        Int(UInt64(bigEndian: key.loadUnaligned(as: UInt64.self))) * 2 + (key.count == 8 ? 0 : 1)
      }
    }

    /// The index of the first key at or behind a number.
    private func index(of number: Int) -> Int {
      var (low, high) = (0, keys.count)
      while low < high {
        let middle = (low + high) / 2
        if keys[middle] < number { low = middle + 1 } else { high = middle }
      }
      return low
    }

    private mutating func set(_ number: Int, _ value: [UInt8]?) {
      let index = index(of: number)
      let isPresent = index < keys.count && keys[index] == number
      if isPresent, value == nil { keys.remove(at: index) }
      if !isPresent, value != nil { keys.insert(number, at: index) }
      values[number] = value
    }

    /// A number near the present ones.
    private func someNumber(_ random: inout SeededGenerator) -> Int { random.below((keys.last ?? 0) + 20) }

    private static func value(_ random: inout SeededGenerator) -> [UInt8] {
      Array(repeating: UInt8(random.below(256)), count: random.chance(in: 200) ? random.below(9000) : random.below(40))
    }

    // MARK: Changes

    mutating func appendRun(
      _ tx: inout StorageTransaction, _ table: StorageTable, count: Int, _ random: inout SeededGenerator
    ) throws {
      var number = keys.last ?? 0
      var bytes: [UInt8] = []
      var places: [(key: Int, keyCount: Int, valueCount: Int)] = []
      for _ in 0..<count {
        number += 1 + random.below(3)
        let (key, value) = (Self.bytes(number), Self.value(&random))
        places.append((bytes.count, key.count, value.count))
        bytes += key + value
        set(number, value)
      }
      try bytes.withUnsafeBytes { bytes in
        let run = places.map { place in
          StorageEntryPointers(
            key: UnsafeRawBufferPointer(rebasing: bytes[place.key..<place.key + place.keyCount]),
            value: UnsafeRawBufferPointer(rebasing: bytes[(place.key + place.keyCount)...].prefix(place.valueCount)))
        }
        try run.withUnsafeBufferPointer { try tx.appendRun(table, $0) }
      }
    }

    /// Makes a change, or reads.
    mutating func step(_ tx: inout StorageTransaction, _ table: StorageTable, _ random: inout SeededGenerator) throws {
      switch random.below(10) {
      case 0: try appendRun(&tx, table, count: 60 + random.below(200), &random)
      case 1, 2:
        for number in someNumber(&random)... where random.chance(in: 2) {
          let value = Self.value(&random)
          try tx.put(table, Self.bytes(number), value)
          set(number, value)
          if random.chance(in: 30) { break }
        }
      case 3, 4:
        let first = someNumber(&random)
        for number in first..<first + random.below(80) {
          let existed = try tx.delete(table, Self.bytes(number))
          #expect(existed == (values[number] != nil), "\(comment)")
          set(number, nil)
        }
      // The number of entries needs that the changes are sent.
      case 5: #expect(try tx.entryCount(table) == UInt64(keys.count), "\(comment)")
      default: try read(tx, table, &random)
      }
    }

    // MARK: Reads

    func read(_ tx: borrowing StorageTransaction, _ table: StorageTable, _ random: inout SeededGenerator) throws {
      switch random.below(7) {
      case 0:
        for _ in 0..<5 { try expectEntries(at: someNumber(&random), tx, table) }
      case 1:
        // Short scans that ascend, such as those of lists.
        var start = someNumber(&random)
        for _ in 0..<random.below(60) {
          let end = start + 1 + random.below(random.chance(in: 10) ? 300 : 15)
          try expectScan(from: start, before: end, tx, table)
          start = end + random.below(5)
        }
      case 2:
        var number = someNumber(&random)
        for _ in 0..<random.below(200) where number >= 0 {
          try expectPrevious(number, tx, table)
          let index = index(of: number + 1)
          number = index > 0 ? keys[index - 1] - 1 : -1
        }
      case 3:
        let numbers = announced(&random)
        tx.prefetch(table, numbers.map { ObjectID(rawValue: UInt64($0 / 2)) }[...])
        for number in numbers { try expectEntries(at: number, tx, table) }
      case 4:
        let numbers = announced(&random)
        let keys = numbers.flatMap(Self.bytes)
        keys.withUnsafeBytes { tx.backend.prefetch(table, $0, stride: 8, .atOrBefore) }
        for number in numbers { try expectPrevious(number, tx, table) }
      case 5: try expectScan(from: someNumber(&random), before: nil, tx, table)
      default:
        let start = someNumber(&random)
        try expectScan(from: start, before: start + random.below(20_000), tx, table)
      }
    }

    /// Even numbers: neighbours, or scattered, ascending or not.
    private func announced(_ random: inout SeededGenerator) -> [Int] {
      let start = someNumber(&random)
      let isNear = random.chance(in: 2)
      let numbers = (0..<2 + random.below(40)).map { _ in (isNear ? start + random.below(80) : someNumber(&random)) & ~1
      }
      return random.chance(in: 2) ? numbers.sorted() : numbers
    }

    private func expectEntries(at number: Int, _ tx: borrowing StorageTransaction, _ table: StorageTable) throws {
      let value = try tx.value(table, Self.bytes(number))
      #expect(value == values[number], "\(comment)")
      let next = try tx.entry(table, Self.bytes(number), .atOrAfter)
      let index = index(of: number)
      #expect(next == (index < keys.count ? entry(keys[index]) : nil), "\(comment)")
      try expectPrevious(number, tx, table)
    }

    private func expectPrevious(_ number: Int, _ tx: borrowing StorageTransaction, _ table: StorageTable) throws {
      let previous = try tx.entry(table, Self.bytes(number), .atOrBefore)
      let index = index(of: number + 1)
      #expect(previous == (index > 0 ? entry(keys[index - 1]) : nil), "\(comment)")
    }

    private func entry(_ number: Int) -> MemoryEntry? {
      values[number].map { MemoryEntry(key: Self.bytes(number), value: $0) }
    }

    func expectAll(_ tx: borrowing StorageTransaction, _ table: StorageTable) throws {
      try expectScan(from: 0, before: nil, tx, table)
    }

    func expectScan(
      from start: Int, before end: Int?, _ tx: borrowing StorageTransaction, _ table: StorageTable
    ) throws {
      var (index, differences) = (index(of: start), 0)
      let last = end.map { self.index(of: $0) } ?? keys.count
      let first = Self.bytes(start)
      let limit = end.map(Self.bytes) ?? []
      try first.withUnsafeBytes { (first) throws in
        try limit.withUnsafeBytes { (limit) throws in
          try tx.backend.scan(table, from: first, before: limit) { (key, value) throws(StoreError) in
            let number = Self.number(key)
            // An engine may pass entries behind the end.
            if let end, number >= end { return false }
            let isEqual =
              index < last && keys[index] == number
              && value.withUnsafeBytes { $0.elementsEqual(values[number] ?? []) }
            if !isEqual { differences += 1 }
            index += 1
            return true
          }
        }
      }
      #expect(differences == 0 && index == last, "\(comment)")
    }
  }
#endif
