#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif
import KVCloneBranches
package import KVCloneCore
package import KVCloneModel
package import KVCloneRecords

/// The base of clones that can be merged into their sources (P1): a hidden snapshot of the commit that cloned.
package struct CloneBase: Sendable {
  /// The number, which is never reused, and names the snapshot.
  package let number: UInt32
  package let value: SnapshotValue
  /// The author of the commit that cloned.
  package let author: String
  /// The clones of the roots, one list per copy.
  package let roots: [[ObjectID]]
  /// The copies that were merged, and stayed as ordinary objects. A rollback of the merge makes one a draft again.
  private let released: Set<Int>
  /// The serials of the clones, by root code. Other objects may be between them.
  private let clones: [(rootCode: UInt16, serials: ClosedRange<UInt64>)]

  package var name: String { SnapshotName.ofBase(layer: number) }

  // MARK: Creating

  /// Reserves the number of a base, which the provenance of its clones names.
  static func reserve(in session: inout Session) throws(StoreError) -> UInt32 {
    // The sequence of layers: a store that has used it has the tables of branches.
    _ = try BranchTables(creatingIn: &session.storage, session.schema.tables)
    let last = try session.counter(MetadataKey.layer)
    guard let number = UInt32(exactly: last + 1), number < .max else {
      throw StoreError(.limitExceeded, "the store has used all numbers of bases; dump it, and load the dump")
    }
    try Metadata.put(
      &session.storage, session.schema.tables.metadata, MetadataKey.layer, CounterValue(UInt64(number)))
    try session.raiseFormat(to: FormatLimits.branchFormatVersion)
    return number
  }

  /// Creates the base at the commit.
  static func create(
    _ number: UInt32, _ roots: [[ObjectID]], _ clones: [UInt16: ClosedRange<UInt64>], expires: Date?,
    in session: inout Session
  ) throws(StoreError) {
    let userInfo = [
      "author": session.state.author,
      "roots": roots.map { $0.map { String($0.rawValue) }.joined(separator: ",") }.joined(separator: ";"),
      "clones": clones.sorted { $0.key < $1.key }
        .map { "\($0.key):\($0.value.lowerBound)-\($0.value.upperBound)" }.joined(separator: ","),
    ]
    try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
      _ = try snapshots.create(
        SnapshotName.ofBase(layer: number), expires: expires, userInfo: userInfo, isAutomatic: false, base: .ofClones)
    }
  }

  // MARK: Finding

  /// Nil for other snapshots, and for a base with a malformed description.
  package init?(_ name: String, _ value: SnapshotValue) {
    guard value.isDraft, name.hasPrefix("@"), let number = UInt32(name.dropFirst()),
      let info = try? JSONDecoder().decode([String: String].self, from: Data(value.userInfo)),
      let roots = info["roots"].flatMap(Self.roots), let clones = info["clones"].flatMap(Self.clones)
    else { return nil }
    self.number = number
    self.value = value
    author = info["author"] ?? ""
    self.roots = roots
    self.clones = clones
    released = Set((info[Self.releasedKey] ?? "").split(separator: ",").compactMap { Int($0) })
  }

  private static let releasedKey = "released"

  private static func roots(_ text: String) -> [[ObjectID]]? {
    var roots: [[ObjectID]] = []
    for copy in text.split(separator: ";", omittingEmptySubsequences: false) {
      let ids = copy.split(separator: ",").map { UInt64($0).map { ObjectID(rawValue: $0) } }
      if ids.isEmpty || ids.contains(nil) { return nil }
      roots.append(ids.compactMap(\.self))
    }
    return roots
  }

  private static func clones(_ text: String) -> [(rootCode: UInt16, serials: ClosedRange<UInt64>)]? {
    var clones: [(rootCode: UInt16, serials: ClosedRange<UInt64>)] = []
    for range in text.split(separator: ",") {
      let parts = range.split { $0 == ":" || $0 == "-" }
      guard parts.count == 3, let root = UInt16(parts[0]), let first = UInt64(parts[1]), let last = UInt64(parts[2]),
        first <= last, last <= ObjectID.maximumSerial, root < .max
      else { return nil }
      clones.append((root, first...last))
    }
    return clones
  }

  /// All bases of clones, in the order of their creation.
  package static func all(in session: borrowing Session) throws(StoreError) -> [CloneBase] {
    try Snapshots.all(session.storage, session.schema.tables).compactMap { CloneBase($0.name, $0.value) }
  }

  /// The base with a number; nil if it is gone.
  package static func find(_ number: UInt32, in session: borrowing Session) throws(StoreError) -> CloneBase? {
    let name = SnapshotName.ofBase(layer: number)
    return try Snapshots.find(session.storage, session.schema.tables, name).flatMap { CloneBase(name, $0) }
  }

  /// The base and the copy of a clone, and its source; nil for other objects.
  package static func draft(of id: ObjectID, in session: borrowing Session) throws(StoreError)
    -> (draft: ProvenanceValue.Draft, source: ObjectID)?
  {
    guard let entry = try entry(of: id, in: session), let draft = entry.draft else { return nil }
    return (draft, entry.source)
  }

  private static func entry(of id: ObjectID, in session: borrowing Session) throws(StoreError) -> ProvenanceValue? {
    let key = ShortKey.object(id)
    guard let value = try session.storage.get(session.schema.tables.provenance, key.bytes) else { return nil }
    return try decode(value, id, session.schema)
  }

  /// Calls `body` with each clone that exists, its source and its copy, in ascending order, until it returns false.
  package func forEachClone(
    in session: borrowing Session, _ body: (ObjectID, ProvenanceValue) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let (table, schema) = (session.schema.tables.provenance, session.schema)
    var isOver = false
    for (rootCode, serials) in clones where !isOver {
      let first = ShortKey.object(ObjectID(rootCode: rootCode, serial: serials.lowerBound))
      // Bounded, so that a base does not look at all preimages behind its clones.
      let last = ObjectID(rootCode: rootCode, serial: serials.upperBound)
      let end = ShortKey.object(ObjectID(rawValue: last.rawValue + 1))
      try session.storage.scan(table, from: first.bytes, before: end.bytes) { (key, value) throws(StoreError) in
        let id = try schema.objectID(key)
        guard id <= last else { return false }
        let entry = try Self.decode(copy value, id, schema)
        guard entry.draft?.base == number else { return true }
        isOver = try !body(id, entry)
        return !isOver
      }
    }
  }

  package enum CopyState {
    /// It can be merged.
    case open
    /// The clone of a root was deleted.
    case discarded
    /// It was merged, and its clones are ordinary objects.
    case released
  }

  /// Returns the state of a copy, which depends on the clones of its roots.
  package func state(ofCopy copy: Int, in session: borrowing Session) throws(StoreError) -> CopyState {
    for root in roots[copy] where try Self.draft(of: root, in: session)?.draft.base != number {
      return released.contains(copy) ? .released : .discarded
    }
    return .open
  }

  /// The copies that can be merged.
  package func openCopies(in session: borrowing Session) throws(StoreError) -> [Int] {
    var open: [Int] = []
    for copy in roots.indices where try state(ofCopy: copy, in: session) == .open { open.append(copy) }
    return open
  }

  /// Whether no copy can be merged any more.
  private func isAbandoned(in session: borrowing Session) throws(StoreError) -> Bool {
    for copy in roots.indices where try state(ofCopy: copy, in: session) == .open { return false }
    return true
  }

  /// The names of the bases that have expired, or of which no copy can be merged any more.
  static func namesOfOver(in session: borrowing Session) throws(StoreError) -> [String] {
    var names: [String] = []
    for (name, value) in try Snapshots.all(session.storage, session.schema.tables) where value.isDraft {
      if let base = CloneBase(name, value), !base.isExpired(), try !base.isAbandoned(in: session) { continue }
      names.append(name)
    }
    return names
  }

  package func isExpired(at date: Date = Date()) -> Bool {
    value.expires.map { $0 <= date.timeIntervalSinceReferenceDate } ?? false
  }

  private static func decode(_ value: RawSpan, _ id: ObjectID, _ schema: Schema) throws(StoreError) -> ProvenanceValue {
    do throws(RecordError) {
      return try ProvenanceValue(stored: value, seed: ValueEnvelope.seed(tableCode: .provenance, objectID: id))
    } catch {
      throw StoreError(
        .corrupted,
        "the provenance entry of \(schema.rootName(of: id)) is corrupted: \(error) Run `check` to see the extent",
        object: schema.rootName(of: id))
    }
  }

  /// The schema of the model version that the clones were made with.
  package func schema(in store: ObjectStore, _ session: borrowing Session) throws(StoreError) -> Schema {
    try StoreSnapshots(store).schemas.schema(of: value, session.storage, store.schema)
  }

  /// The size of what only the base retains, in bytes.
  package func retainedByteCount(in store: ObjectStore) throws(StoreError) -> UInt64 {
    let session = try store.readSession()
    let all = try Snapshots.all(session.storage, session.schema.tables).map(\.value)
    return try PreimageSweeper(session).retainedByteCount(of: [value.epoch], among: all) { false }
  }

  // MARK: Ending

  /// Makes the clones of a copy ordinary objects. Those of the roots decide for all of them, so that the cost does not
  /// depend on their number.
  package func release(copy: Int, in session: inout Session) throws(StoreError) {
    for root in roots[copy] { try Self.release(root, in: &session) }
    let (name, copies) = (name, released.union([copy]).sorted())
    try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
      try snapshots.note(copies.map { String($0) }.joined(separator: ","), as: Self.releasedKey, inBase: name)
    }
  }

  /// Makes a clone an ordinary object, which keeps the rest of its provenance.
  package static func release(_ id: ObjectID, in session: inout Session) throws(StoreError) {
    guard var entry = try entry(of: id, in: session), entry.draft != nil else { return }
    entry.draft = nil
    let bytes = entry.encoded(seed: ValueEnvelope.seed(tableCode: .provenance, objectID: id))
    try session.storage.put(session.schema.tables.provenance, ShortKey.object(id).bytes, bytes.span.bytes)
  }

  /// Deletes the base, unless a copy can still be merged.
  package func deleteIfAbandoned(in session: inout Session) throws(StoreError) {
    guard try isAbandoned(in: session) else { return }
    let name = name
    try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in try snapshots.deleteBase(name) }
  }
}
