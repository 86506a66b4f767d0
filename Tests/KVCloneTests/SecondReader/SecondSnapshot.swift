import Foundation
import KVCloneTestSupport

/// A value of `snapshots`.
struct SecondSnapshot {
  let name: String
  let epoch: UInt64
  let commit: UInt64
  /// The number of layers with this base.
  let layers: UInt32
  let isHidden: Bool
  let isDraft: Bool
  let userInfo: [String: String]
  private let nextBlob: UInt64
  private let nextIndex: UInt16
  private let watermarks: [UInt16: UInt64]

  init(_ entry: SecondEntry) throws {
    guard let name = String(validating: entry.key, as: UTF8.self) else { throw SecondError("a name is not UTF-8") }
    var value = SecondBytes(entry.payload)
    let flags = try value.u32()
    let holds = try value.u32()
    epoch = try value.u64()
    commit = try value.u64()
    let (created, expires) = (try value.f64(), try value.f64())
    _ = try value.u64()
    nextBlob = try value.u64()
    _ = try value.take(4)
    nextIndex = try value.u16()
    _ = try value.u16()
    let roots = try (0..<(try value.u32())).map { _ in (try value.u16(), try value.u64()) }
    for _ in 0..<holds { _ = try value.text() }
    let text = try value.counted()
    userInfo = text.isEmpty ? [:] : try JSONDecoder().decode([String: String].self, from: Data(text))
    layers = flags & 4 == 0 ? 0 : try value.u32()
    try value.end()
    guard flags < 32, epoch > 0, created.isFinite, expires.isNaN || expires.isFinite,
      roots.map(\.0) == Set(roots.map(\.0)).sorted()
    else { throw SecondError("the snapshot \(name) is not valid") }
    watermarks = Dictionary(uniqueKeysWithValues: roots)
    (isHidden, isDraft) = (flags & 8 != 0, flags & 16 != 0)
    self.name = name
  }

  /// The number in the name of a hidden snapshot.
  var number: UInt32? { name.hasPrefix("@") ? UInt32(name.dropFirst()) : nil }

  /// Whether the snapshot sees a key of a table with versions.
  ///
  /// - Parameter ordered: the codes of ordered relationships.
  func sees(_ table: UInt64, _ key: [UInt8], ordered: Set<UInt16>) -> Bool {
    func sees(_ id: UInt64) -> Bool { id & (1 << 48 - 1) < watermarks[UInt16(id >> 48)] ?? 0 }
    switch table {
    case 2:
      guard key.count == 19, sees(secondNumber(key[0..<8])) else { return false }
      let isOrdered = ordered.contains(UInt16(secondNumber(key[8..<10])))
      let isByID = key[10] == 1 || key[10] == 0 && !isOrdered
      return !isByID || sees(secondNumber(key[11...]))
    case 4: return secondNumber(key[...]) < nextBlob
    case 5: return UInt16(secondNumber(key[0..<2])) < nextIndex && sees(secondNumber(key.suffix(8)))
    default: return sees(secondNumber(key[...]))
    }
  }
}

/// The tables with versions, by code and key.
typealias SecondTables = [UInt64: [[UInt8]: ArraySlice<UInt8>]]

/// The table `preimages` of a store or of a layer.
struct SecondPreimages {
  private typealias State = (epoch: UInt64, payload: ArraySlice<UInt8>?)

  /// By table and key, in the order of epochs.
  private var states: [UInt64: [[UInt8]: [State]]] = [:]

  init(_ entries: [SecondEntry]) throws {
    var sizes: [[UInt8]: UInt64] = [:]
    for entry in entries where secondNumber(entry.key[0..<2]) != 0 {
      let table = secondNumber(entry.key[0..<2])
      let key = Array(entry.key.dropFirst(2).dropLast(8))
      var value = SecondBytes(entry.payload)
      var payload: ArraySlice<UInt8>?
      switch try value.u8() {
      case 0: try value.end()
      case 1: payload = try SecondFile.payload(of: value.rest(), key: key, code: table)
      default: throw SecondError("a preimage is neither present nor absent")
      }
      guard SecondFile.isVersioned(table) else { throw SecondError("a table has preimages that has no versions") }
      states[table, default: [:]][key, default: []].append((secondNumber(entry.key.suffix(8)), payload))
      let blob = table == 4 ? try payload.map { try SecondBlob($0).bytes } ?? 0 : 0
      sizes[entry.key] = UInt64(entry.key.count + 8 + entry.payload.count) + blob
    }
    try Self.checkLists(entries, sizes)
  }

  /// Checks that each preimage is in exactly one list of its epoch.
  ///
  /// - Parameter sizes: the sizes of the preimages with their blobs.
  private static func checkLists(_ entries: [SecondEntry], _ sizes: [[UInt8]: UInt64]) throws {
    var missing = sizes
    for entry in entries where secondNumber(entry.key[0..<2]) == 0 {
      guard entry.key.count == 22 else { throw SecondError("a list of saved keys has a wrong key") }
      var value = SecondBytes(entry.payload)
      let told = try value.u64()
      var found: UInt64 = 0
      for _ in 0..<(try value.u32()) {
        let table = secondKey(try value.u16())
        let key = table + Array(try value.take(Int(try value.u16()))) + entry.key[2..<10]
        guard let size = missing.removeValue(forKey: key) else {
          throw SecondError("a saved key has no preimage, or two lists have it")
        }
        found += size
      }
      try value.end()
      guard found == told else { throw SecondError("a list of saved keys has \(found) bytes, and names \(told)") }
    }
    guard missing.isEmpty else { throw SecondError("\(missing.count) preimages are in no list") }
  }

  /// The blobs of which a preimage is a description.
  var blobs: [UInt64] {
    (states[4] ?? [:]).filter { $0.value.contains { $0.payload != nil } }.map { secondNumber($0.key[...]) }
  }

  /// Returns what a snapshot shows.
  ///
  /// - Parameter present: the tables without snapshots.
  func state(of snapshot: SecondSnapshot, _ present: SecondTables, ordered: Set<UInt16>) -> SecondTables {
    var shown: SecondTables = [:]
    for table in Set(present.keys).union(states.keys) {
      let saved = states[table] ?? [:]
      var entries = (present[table] ?? [:]).filter { snapshot.sees(table, $0.key, ordered: ordered) }
      for (key, states) in saved where snapshot.sees(table, key, ordered: ordered) {
        if let state = states.first(where: { $0.epoch >= snapshot.epoch }) { entries[key] = state.payload }
      }
      shown[table] = entries
    }
    return shown
  }
}
