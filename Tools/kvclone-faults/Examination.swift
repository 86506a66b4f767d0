import Foundation
import KVClone
import KVCloneOperations

/// The results of examining a store that may be corrupted: the issues found by `check`, the readable data, and the
/// clones.
struct Examination: Codable, Sendable {
  /// The outcome of a step: a digest of the result, or the error.
  enum Outcome: Codable, Sendable, Equatable {
    case found(String)
    case failed(kind: String, object: String?, message: String)

    var digest: String? {
      if case .found(let digest) = self { digest } else { nil }
    }
  }

  struct Damaged: Codable, Sendable, Hashable {
    let kind: String
    let object: String?
    let page: Int?
    let branch: String?
    let message: String
  }

  /// The issues found by `check` with all data read, and whether it completed.
  var damages: [Damaged] = []
  var checking: Outcome = .found("")
  /// A digest of all objects, snapshots and branches.
  var reading: Outcome?
  /// Digests of the readable objects, by their names.
  var objects: [String: String] = [:]
  /// Digests of the attributes of each object, and the serials of its related objects. After a salvage, they describe
  /// the salvaged store.
  var values: [String: String] = [:]
  var neighbors: [String: Set<UInt64>] = [:]
  /// A digest of the objects found through each index.
  var fetching: Outcome?
  /// Clones of each project within the store with copied blobs, by the project's name.
  var clones: [String: Outcome] = [:]
  /// All projects cloned into another store.
  var cloneInto: Outcome?

  /// The outcome of restoring the file, and the objects of the restored store.
  var restoring: Outcome?
  var restored: [String: String]?
  /// The outcome of salvaging, the objects of the salvaged store, and the reported losses.
  var salvaging: Outcome?
  var salvaged: [String: String]?
  var losses: [String] = []
  /// Whether the salvage reports pages that may hold outdated data of unknown objects.
  var hasDoubtfulPages = false
  var lossKinds: Set<String> = []
  /// The number of objects reported as lost, including those with unknown names.
  var lostCount = 0

  /// The message of an error that is not a library error; nil if all are.
  var untypedError: String? {
    let outcomes =
      [checking, reading, fetching, cloneInto, restoring, salvaging].compactMap { $0 } + Array(clones.values)
    for case .failed("untyped", _, let message) in outcomes { return message }
    return nil
  }
}

/// Creates an ``Examination`` in a process of its own, because a badly corrupted store may crash the process.
struct Examiner {
  /// The ways of examining a store.
  enum Manner: String {
    /// Checked, then opened with default options.
    case opened
    /// Checked, opened with page verification, restored and salvaged.
    case verified
    /// Salvaged in the state in which a killed process left it, then checked and opened.
    case left
  }

  /// The directory that contains the store's directory; clones are created beside it.
  let root: String
  /// Called before each step that may hang: sets an alarm that ends the process.
  var beforeStep: () -> Void = {}

  private var path: String { root + "/store" }
  private var otherPath: String { root + "/other" }

  /// The maximum number of projects to clone.
  private static let projectLimit = 3

  /// Checks the file without opening it, then opens it, reads everything, and clones projects.
  func examine() -> Examination {
    var examination = Examination()
    var projects: [ObjectID] = []
    check(&examination)
    beforeStep()
    do {
      let store = try ObjectStore.open(at: path)
      defer { store.close() }
      beforeStep()
      examination.reading = Self.outcome { try StoreDigest.content(of: store).digest }
      beforeStep()
      examination.objects = Self.objects(of: store)
      Self.describe(store, in: &examination)
      beforeStep()
      examination.fetching = Self.outcome { try Self.indexDigests(of: store) }
      projects = Array(((try? store.read { try Workload.ids(of: "Project", in: $0) }) ?? []).prefix(Self.projectLimit))
      cloneInto(projects, store, &examination)
    } catch {
      examination.reading = Self.failure(error)
    }
    clone(projects, &examination)
    return examination
  }

  func check(_ examination: inout Examination) {
    beforeStep()
    examination.checking = Self.outcome {
      let report = try ObjectStore.check(at: path, options: CheckOptions(readData: true))
      examination.damages = report.issues.map {
        Examination.Damaged(
          kind: $0.kind.rawValue, object: $0.object, page: $0.page, branch: $0.branch, message: $0.message)
      }
      return "checked"
    }
  }

  /// Checks the file, and performs the operations that are safe on untrusted files. If the check finds nothing, also
  /// opens the file with default options.
  func examineUntrusted() -> Examination {
    var examination = Examination()
    check(&examination)
    var options = StoreOptions()
    options.verifiesPagesAtOpen = true
    examination.reading = read(options, &examination)
    if examination.damages.isEmpty, examination.checking.digest != nil {
      options.verifiesPagesAtOpen = false
      examination.reading = read(options, &examination)
    }
    beforeStep()
    examination.restoring = Self.outcome {
      try ObjectStore.restore(from: path, to: root + "/restored")
      examination.restored = try soundObjects(at: root + "/restored")
      return "restored"
    }
    salvage(&examination)
    return examination
  }

  /// Salvages first, which changes nothing in the store and does not recover the write-ahead log.
  func examineLeft() -> Examination {
    var examination = Examination()
    salvage(&examination)
    check(&examination)
    examination.reading = read(StoreOptions(), &examination)
    return examination
  }

  private func salvage(_ examination: inout Examination) {
    beforeStep()
    examination.salvaging = Self.outcome {
      let report = try ObjectStore.salvage(from: path, to: root + "/salvaged")
      examination.hasDoubtfulPages = report.losses.contains { $0.kind == .doubtfulObject && $0.object == nil }
      examination.losses = report.losses.compactMap(\.object)
      examination.lostCount = report.lostObjectCount
      examination.lossKinds = Set(report.lossCounts.keys.map(\.rawValue))
      examination.salvaged = try soundObjects(at: root + "/salvaged") { Self.describe($0, in: &examination) }
      return "salvaged"
    }
  }

  private func read(_ options: StoreOptions, _ examination: inout Examination) -> Examination.Outcome {
    beforeStep()
    do {
      let store = try ObjectStore.open(at: path, options: options)
      defer { store.close() }
      beforeStep()
      examination.objects = Self.objects(of: store)
      beforeStep()
      return Self.outcome { try StoreDigest.content(of: store).digest }
    } catch {
      return Self.failure(error)
    }
  }

  /// Returns the objects of a store that must be intact.
  private func soundObjects(at path: String, _ look: (ObjectStore) -> Void = { _ in }) throws -> [String: String] {
    beforeStep()
    let store = try ObjectStore.open(at: path)
    defer { store.close() }
    let report = try store.check(CheckOptions(readData: true))
    if let damage = report.issues.first { throw Finding("\(path) was created, but is corrupted: \(damage.message)") }
    look(store)
    return Self.objects(of: store)
  }

  /// Clones each project in a fresh copy of the store, because a clone changes the objects that it shares.
  private func clone(_ projects: some Sequence<ObjectID>, _ examination: inout Examination) {
    var options = CloneOptions()
    options.blobs = .copy
    for project in projects {
      beforeStep()
      examination.clones["Project/\(project.serial)"] = Self.outcome {
        let place = "\(root)/clone-\(project.serial)"
        try Scratch.empty(place)
        try FileManager.default.copyItem(atPath: path + "/data.mdb", toPath: place + "/data.mdb")
        let store = try ObjectStore.open(at: place)
        defer { store.close() }
        let clone = try store.clone([project], options: options).root
        return try store.read { try GraphDigest.of(clone, store.model, $0) }
      }
    }
  }

  private func cloneInto(_ projects: some Sequence<ObjectID>, _ store: ObjectStore, _ examination: inout Examination) {
    var options = CloneOptions()
    options.blobs = .copy
    beforeStep()
    examination.cloneInto = Self.outcome {
      // Shared objects that a clone does not include are omitted in the other store.
      options.outsideObjects = .leaveEmpty
      let other = try ObjectStore.create(at: otherPath, model: store.model)
      defer { other.close() }
      let result = try store.clone(Array(projects), into: other, options: options)
      let report = try other.check(CheckOptions(readData: true))
      if let damage = report.issues.first { throw Finding("the clones are corrupted: \(damage.message)") }
      return try result.roots.map { root in try other.read { try GraphDigest.of(root, other.model, $0) } }
        .joined(separator: " ")
    }
  }

  /// Digests of the objects found through indexes, of the store and of its branches.
  private static func indexDigests(of store: ObjectStore) throws -> String {
    let branches = try store.branches.list().map { try store.branches.open($0.name) }
    return try ([store] + branches).map { view in try view.read { try IndexDigest.of(view.model, $0) } }
      .joined(separator: " ")
  }

  /// Digests of the readable objects, by their names.
  static func objects(of store: ObjectStore) -> [String: String] {
    var objects: [String: String] = [:]
    for entity in store.model.entities where !entity.isAbstract {
      for id in readableIDs(of: entity.name, store) {
        let digest = try? store.read { try GraphDigest.of(id, store.model, $0, followsOwned: false) }
        if let digest { objects["\(entity.name)/\(id.serial)"] = digest }
      }
    }
    return objects
  }

  private static func describe(_ store: ObjectStore, in examination: inout Examination) {
    for entity in store.model.entities where !entity.isAbstract {
      for id in readableIDs(of: entity.name, store) {
        try? store.read { transaction in
          let name = "\(entity.name)/\(id.serial)"
          examination.values[name] = try GraphDigest.of(
            id, store.model, transaction, followsOwned: false, hasLinks: false)
          for relationship in entity.relationships {
            let members = try transaction.members(id, relationship.name)
            examination.neighbors[name, default: []].formUnion(members.map(\.serial))
          }
        }
      }
    }
  }

  /// The number of serials after an unreadable object that are tried one by one.
  private static let triedSerials: UInt64 = 300
  /// The number of entity codes that are tried if no object could be read.
  private static let triedCodes: UInt16 = 16

  private static func readableIDs(of entity: String, _ store: ObjectStore) -> [ObjectID] {
    var ids: [ObjectID] = []
    do {
      try store.read { transaction in
        try transaction.forEachObject(of: entity, includesSubentities: false) { object in
          ids.append(object.id)
          return true
        }
      }
    } catch {
      // A scan ends at the first corruption. Later objects may still be readable, so they are read by id.
      let (first, codes) = ids.last.map { ($0.serial + 1, [$0.rootCode]) } ?? (1, Array(1...triedCodes))
      guard first < ObjectID.maximumSerial - triedSerials else { return ids }
      for code in codes {
        for serial in first..<first + triedSerials {
          let id = ObjectID(rootCode: code, serial: serial)
          let name = try? store.read { try $0.entityName(of: id) }
          if name == entity { ids.append(id) }
        }
      }
    }
    return ids
  }

  static func outcome(_ body: () throws -> String) -> Examination.Outcome {
    do { return .found(try body()) } catch { return failure(error) }
  }

  static func failure(_ error: any Error) -> Examination.Outcome {
    guard let typed = error as? any KVCloneError else {
      return .failed(kind: "untyped", object: nil, message: "\(error)")
    }
    return .failed(kind: typed.kindName, object: typed.object, message: typed.message)
  }
}

extension Examiner {
  /// The time limit of a step. Cloning long lists is slow in a debug build.
  private static func secondsPerStep(_ manner: Manner) -> UInt32 { manner == .opened ? 30 : 5 }

  /// Answers each line `MANNER ROOT` on standard input with an ``Examination`` as a line of JSON.
  static func serve() {
    while let line = readLine() {
      let parts = line.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, let manner = Manner(rawValue: String(parts[0])) else { return }
      let examiner = Examiner(root: String(parts[1])) { alarm(secondsPerStep(manner)) }
      let examination =
        switch manner {
        case .opened: examiner.examine()
        case .verified: examiner.examineUntrusted()
        case .left: examiner.examineLeft()
        }
      alarm(0)
      guard let json = try? JSONEncoder().encode(examination) else { return }
      Worker.say(String(decoding: json, as: UTF8.self))
    }
  }
}
