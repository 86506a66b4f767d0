/// One bit of the store's data is flipped, as a failing disk or memory may do.
///
/// Requirements: no process crashes; `check` finds the corruption and names the object; reading all data fails with an
/// error and never returns wrong data; all other objects are readable; a clone either fails or is correct.
enum FlippedBitFaults: FaultClass {
  static let name = "flipped-bit"
  static let number = "G9"

  /// The corrupted kind of data, one row of the table each.
  private struct Kind: Sendable {
    let title: String
    let count: Int
    var shape = DamageSubject.Shape.everything
    /// Whether reading all objects, snapshots and indexes reads every byte of an entry.
    var isRead: @Sendable (StoreFileMap, StoreFileMap.Entry) -> Bool = { _, _ in true }
    var isOfKeys = false
    var isOfIndexes = false
    /// Whether `check` must name the branch that the entry belongs to.
    var isOfBranches = false
    let isOne: @Sendable (StoreFileMap, StoreFileMap.Entry) -> Bool
  }

  private static let kinds = [
    Kind(title: "a record", count: 500) { $1.table.hasPrefix("objects-") },
    Kind(title: "a list", count: 250) { $1.table == "links" },
    Kind(
      title: "a long list, its member index or directory", count: 100, shape: .longLists,
      // The last part of the key before the position: 0 for chunks of members, others for the index and the directory.
      isRead: { $0.bytes[$1.key.lowerBound + 10] == 0 }, isOne: { $1.table == "links" }),
    Kind(title: "a blob", count: 200) { $1.table == "blobs" },
    Kind(title: "a blob's metadata", count: 100) { $1.table == "blobinfo" },
    Kind(title: "an index entry", count: 200, isOfIndexes: true) { $1.table == "indexes" },
    Kind(title: "a preimage", count: 250, isRead: { _, _ in false }) { $1.table == "preimages" },
    Kind(title: "the catalog", count: 100, isRead: { _, _ in false }) { $1.table == "metadata" },
    Kind(title: "snapshots, history, provenance, idempotency keys, id redirects", count: 100, isRead: { _, _ in false })
    {
      ["snapshots", "changes", "provenance", "operations", "redirects"].contains($1.table)
    },
    Kind(
      title: "an entry or the description of a branch", count: 250,
      // Fetches by value and the history read the other tables of a branch.
      isRead: { map, entry in
        entry.table == "overlays" && DamageSubject.isObject(inOverlays: map.bytes[entry.key])
          && map.bytes[entry.value.lowerBound + checksumLength] == 1
      },
      isOfBranches: true
    ) { isOfBranches($1) },
    Kind(title: "a key", count: 300, isRead: { _, _ in false }, isOfKeys: true) { !isOfBranches($1) },
    Kind(title: "a key of a branch's entry", count: 100, isRead: { _, _ in false }, isOfKeys: true) {
      isOfBranches($1)
    },
  ]
  private static let checksumLength = 8

  private static func isOfBranches(_ entry: StoreFileMap.Entry) -> Bool {
    ["overlays", "branches"].contains(entry.table)
  }

  /// The number of trials of each kind in quick mode.
  private static let quickCount = 6

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    let context = try campaign.context()
    return try kinds.enumerated().map { number, kind in
      let subject = try campaign.subject(context, kind.shape)
      let entries = subject.map.entries.filter { kind.isOne(subject.map, $0) }
      let count = entries.isEmpty ? 0 : campaign.isQuick ? quickCount : kind.count
      return TrialGroup(
        title: "bit flip in \(kind.title)",
        trials: (0..<count).map { trial(subject, kind, entries, id: "\(number):\($0)", number * 100_000 + $0) },
        note: entries.isEmpty ? "skipped: this workload has none" : nil)
    }
  }

  private static func trial(
    _ subject: DamageSubject, _ kind: Kind, _ entries: [StoreFileMap.Entry], id: String, _ stream: Int
  ) -> Trial {
    Trial(id: id) { lane in
      var random = SeededGenerator(seed: subject.context.workload.seed, stream: 7_000_000 + UInt64(stream))
      guard let entry = random.element(entries) else { return "there is no entry to corrupt" }
      let range = kind.isOfKeys ? entry.key : entry.value
      let (offset, bit) = (range.lowerBound + random.below(range.count), random.below(8))
      var bytes = subject.map.bytes
      bytes[offset] ^= 1 << UInt8(bit)
      let place = "bit \(bit) of byte \(offset - range.lowerBound) in \(entry.table)"
      return try complaint(ofFlipped: entry, bytes, subject, lane, kind).map { "\(place): \($0)" }
    }
  }

  /// Returns an explanation if a file with a corrupted entry is handled wrongly.
  private static func complaint(
    ofFlipped entry: StoreFileMap.Entry, _ bytes: [UInt8], _ subject: DamageSubject, _ lane: Lane, _ kind: Kind
  ) throws -> String? {
    try DamageSubject.write(bytes, to: lane.root)
    switch try lane.examine(subject.context, root: lane.root, .opened) {
    case .ended(let ending): return "the process that examined the store ended: \(ending)"
    case .examined(let found):
      // A corrupted key may name another object.
      var names = subject.names(of: entry, in: subject.map.bytes) + subject.names(of: entry, in: bytes)
      // The corrupted key of a branch's entry may be that of another table.
      if kind.isOfKeys, isOfBranches(entry) { names = [] }
      let isRead = kind.isRead(subject.map, entry)
      // The head of a list has the number of members, so a missing chunk is detected.
      let mayMiss = kind.isOfKeys && entry.table != "links"
      return complaint(found, subject.sound, names, kind, isRead: isRead, mayMiss: mayMiss)
    }
  }

  /// Whether reading all data detects corruption in an entry.
  static func isRead(_ entry: StoreFileMap.Entry, _ map: StoreFileMap) -> Bool {
    kind(of: entry, map)?.isRead(map, entry) == true
  }

  /// The same for an entry of the store with everything, as in a row of its own.
  static func complaint(
    ofFlipped entry: StoreFileMap.Entry, _ bytes: [UInt8], _ subject: DamageSubject, _ lane: Lane
  ) throws -> String? {
    guard let kind = kind(of: entry, subject.map) else { return nil }
    return try complaint(ofFlipped: entry, bytes, subject, lane, kind)
  }

  private static func kind(of entry: StoreFileMap.Entry, _ map: StoreFileMap) -> Kind? {
    kinds.first { $0.shape == .everything && $0.isOne(map, entry) }
  }

  /// - Parameters:
  ///   - names: the suffixes of the names of the corrupted objects.
  ///   - mayMiss: whether a reader may miss the entry without an error.
  private static func complaint(
    _ found: Examination, _ sound: Examination, _ names: [String], _ kind: Kind, isRead: Bool, mayMiss: Bool
  ) -> String? {
    guard case .found = found.checking else { return "check did not finish: \(found.checking)" }
    guard let damage = found.damages.first else { return "check found no corruption" }
    func isNamed(_ object: String?) -> Bool { names.contains { object?.hasSuffix($0) == true } }
    // A corrupted key breaks the order of its page, and then all entries of the page are lost.
    let isPageLost = kind.isOfKeys && damage.kind == "page"
    if !names.isEmpty, !isPageLost, !found.damages.contains(where: { isNamed($0.object) }) {
      return "check named \(damage.object ?? "no object") instead of \(names[0]): \(damage.kind), \(damage.message)"
    }
    if kind.isOfBranches, !found.damages.contains(where: { $0.branch == DamageSubject.branch || $0.kind == "page" }) {
      return "check did not name the branch: \(damage.kind), \(damage.message)"
    }
    if let message = found.untypedError { return "untyped error: \(message)" }
    // Fetches by value read indexes; object reads read everything else.
    if isRead, (kind.isOfIndexes ? found.fetching : found.reading)?.digest != nil {
      return "reading all data raised no error"
    }
    // Without its catalog, no object of a store can be read.
    if !kind.isOfKeys, !names.isEmpty,
      let lost = sound.objects.keys.first(where: { found.objects[$0] == nil && !isNamed($0) })
    {
      return "\(lost) is unreadable, but is not corrupted"
    }
    return otherData(found, sound, mayMiss: mayMiss)
  }

  /// Returns an explanation if wrong data was read without an error.
  ///
  /// - Parameter mayMiss: an entry with a corrupted key is missing at its position, and a lookup cannot know that it
  ///   existed. For indexes and preimages only `check` finds it; a clone must not be affected.
  private static func otherData(_ found: Examination, _ sound: Examination, mayMiss: Bool) -> String? {
    func differs(_ found: Examination.Outcome?, _ sound: Examination.Outcome?) -> Bool {
      found?.digest != nil && found?.digest != sound?.digest
    }
    if !mayMiss {
      if differs(found.reading, sound.reading) { return "a read returned wrong data without an error" }
      if differs(found.fetching, sound.fetching) { return "an index returned wrong objects without an error" }
      for (name, digest) in found.objects where sound.objects[name] != digest {
        return "\(name) was read as a different object"
      }
    }
    for (name, clone) in found.clones where differs(clone, sound.clones[name]) {
      return "a clone of \(name) contains the corruption"
    }
    if differs(found.cloneInto, sound.cloneInto) { return "a clone into another store contains the corruption" }
    return nil
  }
}
