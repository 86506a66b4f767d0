import Foundation

/// Files that are corrupted, truncated or crafted.
///
/// Requirements: no operation on the file crashes the process or takes longer than five seconds; every failure is a
/// typed error; data that is read after opening with page verification, restoring or salvaging equals the stored data.
/// A file without issues in `check` can be opened with default options, restored and salvaged without loss. If the
/// catalog is intact, some data can be salvaged.
enum HostileFileFaults: FaultClass {
  static let name = "hostile-file"
  static let number = "G8"

  private static let count = 385
  private static let quickCount = 2
  /// The number of trials with random bytes in the other files.
  private static let besideCount = 225

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    let subject = try campaign.subject(try campaign.context(), .everything)
    var groups = FileDamage.allCases.enumerated().map { number, damage in
      TrialGroup(
        title: damage.title,
        trials: (0..<(campaign.isQuick ? quickCount : count)).map { index in
          trial(
            subject, id: "\(damage.rawValue):\(index)", stream: number * 10_000 + index,
            keepsCatalog: damage.keepsCatalog
          ) { root, random in
            try DamageSubject.write(damage.applied(to: subject.map, &random), to: root)
          }
        })
    }
    groups.append(
      TrialGroup(
        title: "random bytes in the other files of the store",
        trials: (0..<(campaign.isQuick ? quickCount : besideCount)).map { index in
          trial(subject, id: "beside:\(index)", stream: 900_000 + index, keepsCatalog: true) { root, random in
            try DamageSubject.write(subject.map.bytes, to: root)
            try writeBeside(root + "/store", &random)
          }
        }))
    return groups
  }

  /// Writes random contents into other files of a store's directory.
  private static func writeBeside(_ directory: String, _ random: inout SeededGenerator) throws {
    let names = ["lock.mdb", "writer.lock", "stagers.lock", "commit.log"]
    let always = random.element(names)
    for name in names where name == always || random.chance(50) {
      let content =
        random.chance(20)
        ? Data(count: random.below(9000)) : Workload.bytes(random.below(random.chance(50) ? 64 : 9000), &random)
      let isMade = FileManager.default.createFile(
        atPath: "\(directory)/\(name)", contents: content, attributes: [.posixPermissions: 0o600])
      guard isMade else { throw Finding("cannot write \(name)") }
    }
  }

  private static func trial(
    _ subject: DamageSubject, id: String, stream: Int, keepsCatalog: Bool,
    _ make: @escaping @Sendable (String, inout SeededGenerator) throws -> Void
  ) -> Trial {
    Trial(id: id) { lane in
      var random = SeededGenerator(seed: subject.context.workload.seed, stream: 9_000_000 + UInt64(stream))
      try make(lane.root, &random)
      switch try lane.examine(subject.context, root: lane.root, .verified) {
      case .ended(let ending): return "the process that examined the file ended: \(ending)"
      case .examined(let found): return complaint(found, subject.sound, keepsCatalog: keepsCatalog)
      }
    }
  }

  /// - Parameter keepsCatalog: whether the salvage must succeed.
  static func complaint(_ found: Examination, _ sound: Examination, keepsCatalog: Bool) -> String? {
    let isSound = found.checking.digest != nil && found.damages.isEmpty
    if isSound, found.reading?.digest != sound.reading?.digest {
      return
        "check finds no corruption, but reads return wrong data: \(found.reading.map { "\($0)" } ?? "nothing")"
    }
    if isSound, found.restored == nil || found.salvaged != sound.objects || found.lostCount > 0 {
      return "only restore or salvage finds corruption: \(found.restoring as Any), \(found.salvaging as Any)"
    }
    if keepsCatalog, found.salvaged == nil { return "nothing could be salvaged: \(found.salvaging as Any)" }
    return complaint(struckOnce: found, sound)
  }

  /// The requirements that hold if only some of the operations on the file succeeded.
  static func complaint(struckOnce found: Examination, _ sound: Examination) -> String? {
    if let message = found.untypedError { return "untyped error: \(message)" }
    if let name = found.objects.first(where: { sound.objects[$0.key] != $0.value })?.key {
      return "\(name) was read as a different object without an error"
    }
    if let restored = found.restored {
      if restored != sound.objects { return "the restored data differs from the stored data" }
    }
    return complaint(salvage: found, sound)
  }

  private static func complaint(salvage found: Examination, _ sound: Examination) -> String? {
    guard let salvaged = found.salvaged else { return nil }
    // The only intact state may be an older one, which the salvage reports.
    if found.lossKinds.contains("state") || found.hasDoubtfulPages { return nil }
    func isNamed(_ object: String) -> Bool {
      let serial = object.drop { $0 != "/" }
      return found.losses.contains { $0.hasSuffix(serial) }
    }
    // A link connects two objects, and the salvage may name either.
    func differsByNamed(_ name: String) -> Bool {
      let others = (found.neighbors[name] ?? []).symmetricDifference(sound.neighbors[name] ?? [])
      return found.values[name] == sound.values[name] && !others.isEmpty && others.allSatisfy { isNamed("/\($0)") }
    }
    for (name, digest) in salvaged where sound.objects[name] != digest && !isNamed(name) && !differsByNamed(name) {
      return "\(name) was salvaged as a different object without being reported: \(found.lossKinds.sorted())"
    }
    // For the objects of a lost page, the salvage may know only their number.
    let isUnknown = ["objects", "metadata"].contains { found.lossKinds.contains($0) }
    let missing = sound.objects.keys.count { salvaged[$0] == nil }
    if missing > found.lostCount, !isUnknown {
      return "\(missing) objects were not salvaged, but \(found.lostCount) are reported as lost"
    }
    return nil
  }
}
