import Foundation
import KVCloneTestSupport

/// A value of `branches`.
struct SecondBranch {
  let name: String
  let number: UInt32
  let lastCommit: UInt64
  let entryCount: UInt64
  let byteCount: UInt64
  let changedObjectCount: UInt64
  /// The last one is the present layer.
  let layers: [(number: UInt32, epoch: UInt64, base: String)]
  let objectCounts: [UInt16: UInt64]

  init(_ entry: SecondEntry) throws {
    guard let name = String(validating: entry.key, as: UTF8.self) else { throw SecondError("a name is not UTF-8") }
    var value = SecondBytes(entry.payload)
    try value.zero(4)
    number = try value.u32()
    let (created, expires) = (try value.f64(), try value.f64())
    lastCommit = try value.u64()
    entryCount = try value.u64()
    byteCount = try value.u64()
    changedObjectCount = try value.u64()
    layers = try (0..<(try value.u32())).map { _ in (try value.u32(), try value.u64(), try value.text()) }
    let counts = try (0..<(try value.u32())).map { _ in (try value.u16(), try value.u64()) }
    try value.end()
    guard created.isFinite, expires.isNaN || expires.isFinite, !layers.isEmpty,
      counts.map(\.0) == Set(counts.map(\.0)).sorted()
    else { throw SecondError("the branch \(name) is not valid") }
    objectCounts = Dictionary(uniqueKeysWithValues: counts)
    self.name = name
  }

  var numbers: [UInt32] { [number] + layers.map(\.number) }
}

/// The entries of `overlays` under one number.
struct SecondLayer {
  private(set) var entryCount: UInt64 = 0
  private(set) var byteCount: UInt64 = 0
  /// The payloads by table and key; nil for tombstones.
  private(set) var tables: [UInt64: [[UInt8]: ArraySlice<UInt8>?]] = [:]

  fileprivate mutating func add(_ table: UInt64, _ key: [UInt8], _ entry: SecondEntry) throws {
    var value = SecondBytes(entry.payload)
    var payload: ArraySlice<UInt8>?
    switch try value.u8() {
    case 0:
      try value.end()
      guard SecondFile.isVersioned(table), table != 4 else { throw SecondError("a branch cannot delete such a key") }
    case 1: payload = try SecondFile.payload(of: value.rest(), key: key, code: table)
    default: throw SecondError("an entry of a branch is neither a value nor a tombstone")
    }
    tables[table, default: [:]][key] = .some(payload)
    entryCount += 1
    byteCount += UInt64(entry.key.count + 8 + entry.payload.count)
  }

  var changedObjectCount: UInt64 { UInt64(tables.filter { $0.key > 0x8000 }.reduce(0) { $0 + $1.value.count }) }

  /// The entries of a table that only the layer has.
  func entries(_ table: UInt64) -> [SecondEntry] {
    (tables[table] ?? [:]).compactMap { key, payload in
      payload.map { SecondEntry(key: key, payload: $0, range: 0..<0) }
    }
    .sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }

  func snapshots() throws -> [SecondSnapshot] {
    try entries(8).map(SecondSnapshot.init).sorted { $0.epoch < $1.epoch }
  }

  /// Whether an entry may be under a number of a branch: that of a layer, or that of the branch.
  fileprivate func checkPlaces(isLayer: Bool) throws {
    for (table, entries) in tables {
      let names = Set(entries.keys.map { String(decoding: $0, as: UTF8.self) })
      let isRight =
        switch table {
        case 1: names == [isLayer ? "youngest-snapshot" : "history"]
        case 6: !isLayer
        default: isLayer && (SecondFile.isVersioned(table) || table == 7 || table == 8)
        }
      guard isRight else { throw SecondError("an entry of a branch is in the wrong place") }
    }
  }
}

extension SecondStore {
  func branches() throws -> [SecondBranch] { try (file.tables["branches"] ?? []).map(SecondBranch.init) }

  /// The entries of branches, by the number of the layer or branch.
  func layers() throws -> [UInt32: SecondLayer] {
    var layers: [UInt32: SecondLayer] = [:]
    for entry in file.tables["overlays"] ?? [] {
      guard entry.key.count > 6 else { throw SecondError("a key of overlays is too short") }
      let number = UInt32(secondNumber(entry.key[0..<4]))
      try layers[number, default: SecondLayer()].add(secondNumber(entry.key[4..<6]), Array(entry.key[6...]), entry)
    }
    return layers
  }

  /// The codes of ordered relationships.
  private var orderedCodes: Set<UInt16> {
    Set(model.entities.values.flatMap { $0.relationships.filter(\.value.isOrdered).map(\.key) })
  }

  /// The blobs that preimages and branches describe: they keep their chunks.
  func blobsDescribedElsewhere() throws -> Set<UInt64> {
    var blobs = Set(try SecondPreimages(try file.entries("preimages")).blobs)
    for layer in try layers().values {
      blobs.formUnion(layer.entries(4).map { secondNumber($0.key[...]) })
      blobs.formUnion(try SecondPreimages(layer.entries(7)).blobs)
    }
    return blobs
  }

  // MARK: Views

  /// Returns the store that a layer of a branch shows.
  ///
  /// - Parameter place: the place of the layer in the branch.
  func view(of branch: SecondBranch, layer place: Int) throws -> SecondStore {
    let (number, epoch, name) = branch.layers[place]
    let layers = try layers()
    let own = layers[number] ?? SecondLayer()
    let snapshots = try file.entries("snapshots").map(SecondSnapshot.init)
    guard let base = snapshots.first(where: { $0.name == name && $0.epoch == epoch }) else {
      throw SecondError("the branch \(branch.name) has no base")
    }
    var present: SecondTables = [:]
    for (name, entries) in file.tables {
      let code = try SecondFile.code(name)
      guard SecondFile.isVersioned(code) else { continue }
      present[code] = Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0.payload) })
    }
    let preimages = try SecondPreimages(try file.entries("preimages"))
    var shown = preimages.state(of: base, present, ordered: orderedCodes)
    for (table, entries) in own.tables where SecondFile.isVersioned(table) {
      for (key, payload) in entries { shown[table, default: [:]][key] = payload }
    }
    var tables = file.tables
    (tables["overlays"], tables["branches"]) = (nil, nil)
    for name in file.tables.keys {
      let code = try SecondFile.code(name)
      guard SecondFile.isVersioned(code) else { continue }
      tables[name] = (shown[code] ?? [:]).map { SecondEntry(key: $0.key, payload: $0.value, range: 0..<0) }
        .sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }
    let ofBranch = layers[branch.number] ?? SecondLayer()
    (tables["preimages"], tables["snapshots"]) = (own.entries(7), own.entries(8))
    tables["changes"] = ofBranch.entries(6)
    let names = ["youngest-snapshot", "history"]
    tables["metadata"] =
      (try file.entries("metadata").filter { !names.contains(String(decoding: $0.key, as: UTF8.self)) }
      + own.entries(1) + ofBranch.entries(1)).sorted { $0.key.lexicographicallyPrecedes($1.key) }
    let counted = Set(own.entries(4).map { secondNumber($0.key[...]) })
    return try SecondStore(SecondFile(tables: tables, of: file), countedBlobs: counted)
  }

  // MARK: Checks

  /// Checks the bases, the entries and the numbers of all branches, and then each layer as a store.
  func checkBranches() throws {
    let (branches, layers) = (try branches(), try layers())
    let last = counters["layer"] ?? 0
    let numbers = branches.flatMap(\.numbers)
    guard Set(numbers).count == numbers.count, numbers.allSatisfy({ $0 > 0 && $0 <= last }) else {
      throw SecondError("the numbers of branches are not right")
    }
    guard Set(layers.keys).isSubset(of: numbers) else { throw SecondError("an entry belongs to no branch") }
    try checkSnapshots(file.entries("snapshots").map(SecondSnapshot.init), branches.flatMap { $0.layers.map(\.base) })
    for branch in branches {
      guard branch.lastCommit <= commit else { throw SecondError("the branch \(branch.name) is newer than the store") }
      try layers[branch.number]?.checkPlaces(isLayer: false)
      for (place, layer) in branch.layers.enumerated() {
        let entries = layers[layer.number] ?? SecondLayer()
        try entries.checkPlaces(isLayer: true)
        _ = try SecondPreimages(entries.entries(7))
        let snapshots = try entries.snapshots()
        try checkSnapshots(snapshots, [])
        let youngest = entries.entries(1).first.map { String(decoding: $0.payload, as: UTF8.self) }
        guard youngest == snapshots.last?.name else { throw SecondError("a layer names another youngest snapshot") }
        let view = try view(of: branch, layer: place)
        try view.check()
        if place == branch.layers.count - 1 {
          try check(branch, entries, view)
        } else if snapshots.isEmpty || snapshots.contains(where: \.isDraft) {
          throw SecondError("an earlier layer of \(branch.name) has no snapshots, or the base of a draft")
        }
      }
    }
  }

  private func check(_ branch: SecondBranch, _ layer: SecondLayer, _ view: SecondStore) throws {
    guard branch.entryCount == layer.entryCount, branch.byteCount == layer.byteCount,
      branch.changedObjectCount == layer.changedObjectCount
    else { throw SecondError("the numbers of the branch \(branch.name) are not right") }
    let counts = Dictionary(grouping: view.objects) { UInt16($0.id >> 48) }.mapValues { UInt64($0.count) }
    guard branch.objectCounts.filter({ $0.value > 0 }) == counts else {
      throw SecondError("the branch \(branch.name) shows another number of objects")
    }
  }

  /// - Parameter bases: the names of the bases of all layers.
  private func checkSnapshots(_ snapshots: [SecondSnapshot], _ bases: [String]) throws {
    let epochs = snapshots.map(\.epoch)
    guard Set(epochs).count == epochs.count, epochs.allSatisfy({ $0 <= counters["epoch"] ?? 0 }) else {
      throw SecondError("the epochs of snapshots are not right")
    }
    guard Set(bases).isSubset(of: snapshots.map(\.name)) else { throw SecondError("a layer has no base") }
    for snapshot in snapshots {
      let uses = bases.count { $0 == snapshot.name }
      guard snapshot.commit <= commit, snapshot.layers == uses else {
        throw SecondError("the snapshot \(snapshot.name) is the base of \(uses) layers")
      }
      guard snapshot.isHidden == snapshot.name.hasPrefix("@"), !snapshot.isDraft || snapshot.isHidden else {
        throw SecondError("the name \(snapshot.name) is not that of such a snapshot")
      }
      guard snapshot.isHidden else { continue }
      guard let number = snapshot.number, number > 0, number <= counters["layer"] ?? 0, snapshot.isDraft || uses > 0
      else { throw SecondError("the hidden snapshot \(snapshot.name) is the base of nothing") }
      if snapshot.isDraft { try checkDraft(snapshot) }
    }
  }

  /// Checks the description of the base of a draft.
  private func checkDraft(_ base: SecondSnapshot) throws {
    let roots = (base.userInfo["roots"] ?? "").split(separator: ";", omittingEmptySubsequences: false)
    guard roots.allSatisfy({ !$0.isEmpty && $0.split(separator: ",").allSatisfy { UInt64($0) != nil } }),
      base.userInfo["author"] != nil, let clones = base.userInfo["clones"]
    else { throw SecondError("the base \(base.name) has no roots") }
    for range in clones.split(separator: ",") {
      guard let match = range.wholeMatch(of: #/([0-9]+):([0-9]+)-([0-9]+)/#), UInt16(match.1) != nil,
        let first = UInt64(match.2), let last = UInt64(match.3), first <= last
      else { throw SecondError("the base \(base.name) has malformed ranges of clones") }
    }
  }
}
