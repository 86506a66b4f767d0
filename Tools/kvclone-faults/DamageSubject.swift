import Foundation
import KVClone

/// An intact, closed store from which corrupted copies are made: its file, the positions of its entries, and the result
/// of its examination.
final class DamageSubject: Sendable {
  /// The contents of the store.
  enum Shape: String, Sendable {
    /// Every kind of value that the workload stores, snapshots of two model versions, a branch with a snapshot, and a
    /// history.
    case everything
    /// Ordered lists that are long enough for a member index and a directory.
    case longLists
  }

  let context: TrialContext
  let map: StoreFileMap
  let sound: Examination
  /// The names of the objects that have a blob, by its serial.
  let owners: [UInt64: Set<String>]
  /// The names of all objects, by their ids.
  private let objectNames: [UInt64: String]

  /// A list has a directory from 4,097 members on.
  private static let longCount = 4_200

  init(_ context: TrialContext, _ shape: Shape) throws {
    self.context = context
    let root = "\(context.directory)/subject-\(shape.rawValue)"
    try Scratch.empty(root)
    switch shape {
    case .everything: try Self.makeEverything(context, root)
    case .longLists: try Self.makeLongLists(root + "/store")
    }
    let file = URL(fileURLWithPath: root + "/store/data.mdb")
    let bytes = [UInt8](try Data(contentsOf: file))
    map = StoreFileMap(bytes)
    (owners, objectNames) = try Self.names(root + "/store")
    // The examination clones objects, so it uses a copy.
    try Self.write(bytes, to: root + "/copy")
    sound = Examiner(root: root + "/copy").examine()
    guard sound.damages.isEmpty, sound.reading?.digest != nil, sound.fetching?.digest != nil,
      sound.cloneInto?.digest != nil, !sound.clones.isEmpty, sound.clones.values.allSatisfy({ $0.digest != nil })
    else { throw Finding("the store to corrupt is not intact, or not as expected: \(sound)") }
  }

  /// Writes a data file into the directory `store` of a new directory.
  static func write(_ bytes: [UInt8], to root: String) throws {
    try Scratch.empty(root)
    try Scratch.empty(root + "/store")
    let isMade = FileManager.default.createFile(
      atPath: root + "/store/data.mdb", contents: bytes.withUnsafeBytes { Data($0) },
      attributes: [.posixPermissions: 0o600])
    guard isMade else { throw Finding("cannot write \(root)/store/data.mdb") }
  }

  // MARK: Making them

  private static func makeEverything(_ context: TrialContext, _ root: String) throws {
    let workload = context.workload
    // The last commit before the deletion of all snapshots.
    let numbers = 1...workload.commitCount
    let last = (numbers.first { workload.kind($0) == .allSnapshots } ?? numbers.upperBound + 1) - 1
    try WorkerRun.sound(context, root: root, arguments: ["--commits", "\(last)"])
    var options = workload.options()
    // Without a write-ahead log, the data file contains all commits.
    options.journalMode = .copyOnWrite
    options.tracksHistory = true
    let store = try ObjectStore.open(at: root + "/store", options: options)
    defer { store.close() }
    try store.createSnapshot(named: "subject")
    for stream in 0..<4 as Range<UInt64> {
      try workload.changes(last, store, SeededGenerator(seed: workload.seed, stream: 6_000_000 + stream))
    }
    guard let project = try store.read({ try Workload.ids(of: "Project", in: $0) }).first else { return }
    var clone = CloneOptions()
    clone.idempotencyKey = "subject"
    clone.recordsProvenance = true
    _ = try store.clone([project], options: clone)
    clone.idempotencyKey = "branch"
    try changeBranch(of: store, context, last, project, clone)
  }

  /// The name of the branch.
  static let branch = "subject"

  /// Creates a branch with entries of each kind, and with a snapshot of its own.
  private static func changeBranch(
    of store: ObjectStore, _ context: TrialContext, _ number: Int, _ project: ObjectID, _ clone: CloneOptions
  ) throws {
    let branch = try store.branches.create(Self.branch)
    for stream in 0..<3 as Range<UInt64> {
      try context.workload.changes(
        number, branch, SeededGenerator(seed: context.workload.seed, stream: 6_100_000 + stream))
      if stream == 0 { try branch.createSnapshot(named: "subject") }
    }
    _ = try branch.clone([project], options: clone)
  }

  private static func makeLongLists(_ path: String) throws {
    let store = try ObjectStore.create(at: path, model: WorkloadModel.versions[0])
    defer { store.close() }
    let project = try store.write { transaction in
      let project = try transaction.insert("Project", ["title": "long"])
      var albums: [ObjectID] = []
      for number in 0..<longCount { albums.append(try transaction.insert("Album", ["title": .string("\(number)")])) }
      try transaction.setMembers(project, "albums", albums)
      return project
    }
    try store.createSnapshot(named: "subject")
    try store.write { transaction in
      let album = try transaction.insert("Album", ["title": "another"])
      try transaction.link(project, "albums", [album], at: longCount / 2)
    }
  }

  private static func names(_ path: String) throws -> (owners: [UInt64: Set<String>], objects: [UInt64: String]) {
    let store = try ObjectStore.open(at: path)
    defer { store.close() }
    var owners: [UInt64: Set<String>] = [:]
    var objects: [UInt64: String] = [:]
    try store.read { transaction in
      for entity in store.model.entities where !entity.isAbstract {
        try transaction.forEachObject(of: entity.name) { object in
          objects[object.id.rawValue] = object.name
          for attribute in entity.attributes {
            guard case .blob(let blob) = try object.value(attribute.name) else { continue }
            owners[blob.id, default: []].insert(object.name)
          }
          return true
        }
      }
    }
    return (owners, objects)
  }

  // MARK: What is damaged

  /// The suffixes of the names of the objects that an entry belongs to; empty if it belongs to none.
  func names(of entry: StoreFileMap.Entry, in bytes: [UInt8]) -> [String] {
    names(table: entry.table, key: bytes[entry.key]) { "/\($0.serial)" }
  }

  /// The complete names of the objects that an entry belongs to.
  func wholeNames(of entry: StoreFileMap.Entry) -> [String] {
    names(table: entry.table, key: map.bytes[entry.key]) { objectNames[$0.rawValue] ?? "" }
  }

  private func names(table: String, key: ArraySlice<UInt8>, _ nameOf: (ObjectID) -> String) -> [String] {
    func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    func name(_ bytes: ArraySlice<UInt8>) -> [String] { [nameOf(ObjectID(rawValue: number(bytes)))] }
    switch table {
    case "links": return name(key.prefix(8))
    case "indexes": return name(key.suffix(8))
    case "blobs", "blobinfo": return Array(owners[number(key.prefix(8))] ?? [])
    case "preimages":
      guard let code = Self.savedTables[Int(number(key.prefix(2)))] else {
        return number(key.prefix(2)) > 0x8000 ? name(key.dropFirst(2).prefix(8)) : []
      }
      return names(table: code, key: key.dropFirst(2).dropLast(8), nameOf)
    case "overlays": return Self.isObject(inOverlays: key) ? name(key.dropFirst(6)) : []
    default: return table.hasPrefix("objects-") ? name(key) : []
    }
  }

  /// Whether the key of an entry of a branch is that of an object: the number of a layer, the code of a table, and the
  /// key in that table.
  static func isObject(inOverlays key: ArraySlice<UInt8>) -> Bool { key.dropFirst(4).first.map { $0 >= 0x80 } ?? false }

  /// The tables with preimages, besides those of objects, by their codes.
  private static let savedTables = [2: "links", 4: "blobinfo", 5: "indexes"]
}
