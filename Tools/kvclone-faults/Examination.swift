import Foundation
import KVClone
import KVCloneOperations

/// What can be learned of a store that may be damaged: what `check` says, what can be read, and what is cloned.
struct Examination: Codable, Sendable {
  /// How something ended: a number for what was found, or the error.
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
    let message: String
  }

  /// What `check` found, with all bytes read; or why it could not look.
  var damages: [Damaged] = []
  var checking: Outcome = .found("")
  /// Everything that the store holds and its snapshots show.
  var reading: Outcome?
  /// The same for each object by itself, by its name: those that can be read.
  var objects: [String: String] = [:]
  /// What each object has besides its links, and the serials of those that it is linked to; of what was salvaged, where there was
  /// a salvage.
  var values: [String: String] = [:]
  var neighbors: [String: Set<UInt64>] = [:]
  /// What is found by each value of each index.
  var fetching: Outcome?
  /// A clone of each project within the store, its large values copied; by the project's name.
  var clones: [String: Outcome] = [:]
  /// All projects cloned into another store.
  var cloneInto: Outcome?

  /// How a restoration of the file ended, and the objects of what was made.
  var restoring: Outcome?
  var restored: [String: String]?
  /// How a salvage ended, the objects of what was made, and what it says is lost.
  var salvaging: Outcome?
  var salvaged: [String: String]?
  var losses: [String] = []
  /// Whether it says of pages that they may have what is older: whose, it cannot know.
  var hasDoubtfulPages = false
  var lossKinds: Set<String> = []
  /// Objects that the salvage says are lost, those included whose names it cannot know.
  var lostCount = 0

  /// What an error says that is none of the library's; nil where all are.
  var untypedError: String? {
    let outcomes =
      [checking, reading, fetching, cloneInto, restoring, salvaging].compactMap { $0 } + Array(clones.values)
    for case .failed("untyped", _, let message) in outcomes { return message }
    return nil
  }
}

/// Makes an ``Examination``. It runs in a process of its own, because a store that is damaged badly enough may take it down.
struct Examiner {
  /// How a store is looked at.
  enum Manner: String {
    /// Checked, then opened as any store.
    case opened
    /// Checked, opened as who does not trust it should, restored and salvaged.
    case verified
    /// Salvaged as a process left it that was killed, and checked and opened then.
    case left
  }

  /// The directory that the store's is in; clones go beside it.
  let root: String
  /// Called before each step, which may hang: arms a clock that ends the process.
  var beforeStep: () -> Void = {}

  private var path: String { root + "/store" }
  private var otherPath: String { root + "/other" }

  /// Clones are made of so many projects at most.
  private static let projectLimit = 3

  /// Checks the file without opening it, then opens it, reads everything, and clones all that can be cloned.
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
      examination.fetching = Self.outcome { try store.read { try IndexDigest.of(store.model, $0) } }
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
        Examination.Damaged(kind: $0.kind.rawValue, object: $0.object, page: $0.page, message: $0.message)
      }
      return "checked"
    }
  }

  /// Checks the file, and does with it all that is made for files that nobody trusts. Where there is nothing to find, it is opened as
  /// any other, too.
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

  /// A salvage changes nothing of the store, and does not write a commit log back.
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

  /// The objects of a store that has to be sound.
  private func soundObjects(at path: String, _ look: (ObjectStore) -> Void = { _ in }) throws -> [String: String] {
    beforeStep()
    let store = try ObjectStore.open(at: path)
    defer { store.close() }
    let report = try store.check(CheckOptions(readData: true))
    if let damage = report.issues.first { throw Finding("\(path) was created, but is corrupted: \(damage.message)") }
    look(store)
    return Self.objects(of: store)
  }

  /// Clones each project in a copy of the store that nothing else was cloned in: a clone shares, and so changes others.
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
      // What the projects share, and do not take along, is left out there.
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

  /// A number for each object that can be read, by its name.
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

  /// So many serials behind one that cannot be read are tried one by one.
  private static let triedSerials: UInt64 = 300
  /// Where none could be read, so many codes of entities.
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
      // A walk ends where it meets damage. What lies behind can be read nevertheless.
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
  /// A step that takes longer hangs. Cloning of long lists takes its time in a debug build.
  private static func secondsPerStep(_ manner: Manner) -> UInt32 { manner == .opened ? 30 : 5 }

  /// Answers a line of JSON, an ``Examination``, for each line `MANNER ROOT` on standard input, until there are no more.
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
