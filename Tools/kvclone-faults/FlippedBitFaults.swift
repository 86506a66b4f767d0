/// One bit of what the store has written is another one, as a disk or a memory may leave it.
///
/// What has to hold: no process ends by it; `check` finds it, and names the object; who reads everything gets an error, and
/// never other data; all other objects can be read; a clone either fails or is what it would have been.
enum FlippedBitFaults: FaultClass {
  static let name = "flipped-bit"
  static let number = "G9"

  /// What is damaged, one row of the table each.
  private struct Kind: Sendable {
    let title: String
    let count: Int
    var shape = DamageSubject.Shape.everything
    /// Whether a reader of all objects, snapshots and indexes meets every byte of an entry.
    var isRead: @Sendable (StoreFileMap, StoreFileMap.Entry) -> Bool = { _, _ in true }
    var isOfKeys = false
    var isOfIndexes = false
    let isOne: @Sendable (StoreFileMap, StoreFileMap.Entry) -> Bool
  }

  private static let kinds = [
    Kind(title: "a record", count: 500) { $1.table.hasPrefix("objects-") },
    Kind(title: "a list", count: 250) { $1.table == "links" },
    Kind(
      title: "a long list, its member index or directory", count: 100, shape: .longLists,
      // The last part of the key but for the position: 0 for members, others for what leads to them.
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
    Kind(title: "a key", count: 300, isRead: { _, _ in false }, isOfKeys: true) { _, _ in true },
  ]
  /// Of each kind.
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

  /// What is wrong with how a file is taken of which an entry is damaged.
  private static func complaint(
    ofFlipped entry: StoreFileMap.Entry, _ bytes: [UInt8], _ subject: DamageSubject, _ lane: Lane, _ kind: Kind
  ) throws -> String? {
    try DamageSubject.write(bytes, to: lane.root)
    switch try lane.examine(subject.context, root: lane.root, .opened) {
    case .ended(let ending): return "the process that examined the store ended: \(ending)"
    case .examined(let found):
      // A key that is another one may name another object.
      let names = subject.names(of: entry, in: subject.map.bytes) + subject.names(of: entry, in: bytes)
      let isRead = kind.isRead(subject.map, entry)
      // A list's head tells how many members there have to be.
      let mayMiss = kind.isOfKeys && entry.table != "links"
      return complaint(found, subject.sound, names, kind, isRead: isRead, mayMiss: mayMiss)
    }
  }

  /// Whether an entry is of a kind whose damage a reader of everything meets.
  static func isRead(_ entry: StoreFileMap.Entry, _ map: StoreFileMap) -> Bool {
    kind(of: entry, map)?.isRead(map, entry) == true
  }

  /// The same of an entry of the store that has everything, as of one of a row of its own.
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
  ///   - names: how the names of the objects end that are damaged.
  ///   - mayMiss: whether a reader may miss the entry without an error.
  private static func complaint(
    _ found: Examination, _ sound: Examination, _ names: [String], _ kind: Kind, isRead: Bool, mayMiss: Bool
  ) -> String? {
    guard case .found = found.checking else { return "check did not finish: \(found.checking)" }
    guard let damage = found.damages.first else { return "check found no corruption" }
    func isNamed(_ object: String?) -> Bool { names.contains { object?.hasSuffix($0) == true } }
    // With another key, a page is out of order, and all that it had is lost with it.
    let isPageLost = kind.isOfKeys && damage.kind == "page"
    if !names.isEmpty, !isPageLost, !found.damages.contains(where: { isNamed($0.object) }) {
      return "check named \(damage.object ?? "no object") instead of \(names[0]): \(damage.kind), \(damage.message)"
    }
    if let message = found.untypedError { return "untyped error: \(message)" }
    // An index is read by who looks for a value; all else by who reads the objects.
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

  /// What was read that is not what was stored.
  ///
  /// - Parameter mayMiss: an entry whose key is another one is not found where it should be, and nobody who looks for one entry
  ///   can know that there was one. So of indexes and saved states, check alone tells; but no clone is made of it.
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
