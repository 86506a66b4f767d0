import Foundation

/// The store of a process that was killed with a write-ahead log in use. The next opening must recover commits from the
/// log, so it must not treat an unreadable part of the log as its end.
final class LeftLog: Sendable {
  private let context: TrialContext
  private let data: [UInt8]
  private let log: [UInt8]
  /// The examination after the recovery of the log.
  private let sound: Examination
  /// The first page of the last record in the log.
  let lastRecord: Int
  /// A lower bound for the number of reads during recovery: two passes with two reads per record.
  let readCount: Int

  /// The pages of the log that recovery reads: the heads, the records, and the page after the last record.
  let pages: [Int]

  private static let recordMagic = Array("KVCREC02".utf8)
  private static let (pageSize, firstRecord) = (StoreFileMap.pageSize, 2)
  /// The copy of the head is needed only if the first one is torn.
  private static let copyOfHead = 1

  init(_ campaign: Campaign) throws {
    context = try campaign.context(withLog: true)
    let root = context.directory + "/left"
    // Searches from the last sync backwards, for a log with several records.
    var found: (data: [UInt8], log: [UInt8], records: [Int])?
    for call in context.calls.indices.reversed() {
      guard context.calls[call].operation == "sync" else { continue }
      let run = try WorkerRun(context, root: root, faults: ["KILL": "\(call + 1)"])
      guard run.ending == .signal(9) else { throw Finding("the process was not killed but ended with \(run.ending)") }
      let log = try Self.bytes(root + "/store/commit.log")
      let records = Self.records(log)
      guard log.count > 40, log[40] == 1, records.count >= 3 else { continue }
      let data = try Self.bytes(root + "/store/data.mdb")
      // Requires that the newest commit is in the log, because recovery would undo a commit that is not.
      guard Self.newestCommit(data) == Self.word(log, records[records.count - 1] * Self.pageSize + 24) else { continue }
      found = (data, log, records)
      break
    }
    guard let found, let last = found.records.last else { throw Finding("no process left a write-ahead log in use") }
    (data, log, lastRecord) = (found.data, found.log, last)
    readCount = 4 * found.records.count + 8
    pages = Array(0...min(last + Self.length(found.log, last), found.log.count / Self.pageSize - 1))
    let copy = context.directory + "/left-copy"
    try Self.write(data, log, to: copy)
    sound = Examiner(root: copy).examineLeft()
    guard sound.checking.digest != nil, sound.damages.isEmpty, sound.reading?.digest != nil, !sound.objects.isEmpty,
      sound.salvaged == sound.objects, sound.lossKinds.isEmpty
    else { throw Finding("the store of a killed process is not intact: \(sound)") }
  }

  /// While the page is unreadable, all returned data is correct, and a salvage reports a possible loss. When the page
  /// is readable again, all data is there.
  func badPage(_ page: Int) -> Trial {
    Trial(id: "log:\(page)") { [self] lane in
      try trial(lane, .left, faults: ["BAD_FILE": "commit.log", "BAD_PAGE": "\(page)"]) { found in
        if page == Self.copyOfHead {
          return found.reading == sound.reading ? nil : "the bad copy of the head changed reads"
        }
        if found.checking.digest != nil || found.reading?.digest != nil {
          return "the unreadable page of the log was not noticed: \(found.checking), \(found.reading as Any)"
        }
        if found.salvaged != sound.objects, !found.lossKinds.contains("state") {
          return "salvage returned wrong data without reporting it: \(found.salvaging as Any)"
        }
        return nil
      }
    }
  }

  func pageThatRecovers(_ page: Int) -> Trial {
    Trial(id: "log-recovers:\(page)") { [self] lane in
      try trial(lane, .verified, faults: ["BAD_FILE": "commit.log", "BAD_PAGE": "\(page):1"]) { found in
        if found.checking.digest != nil, page != Self.copyOfHead {
          return "check does not report that the log is unreadable"
        }
        return found.reading == sound.reading
          ? nil : "later reads return wrong data: \(found.reading as Any)"
      }
    }
  }

  /// Fails one read during recovery, when some pages are already written back and others are not.
  func failingRead(_ number: Int) -> Trial {
    Trial(id: "log-examined:\(number)") { [self] lane in
      try trial(lane, .verified, faults: ["FAIL": "\(number):\(EIO)", "OPERATION": "read"]) { found in
        found.reading == sound.reading ? nil : "later reads return wrong data: \(found.reading as Any)"
      }
    }
  }

  /// A recovery that cannot continue leaves the data file intact: all commits are there without the log, too.
  func readsThatFail(from number: Int) -> Trial {
    Trial(id: "log-stops:\(number)") { [self] lane in
      try Self.write(data, log, to: lane.root)
      let faults = ["FAIL": "\(number):\(EIO):sticky", "OPERATION": "read"]
      let struck = try lane.examine(context, root: lane.root, .verified, faults: faults)
      guard case .examined(let found) = struck else { return "the process that examined the store: \(struck)" }
      if let reason = HostileFileFaults.complaint(struckOnce: found, sound) { return reason }
      try FileManager.default.removeItem(atPath: lane.root + "/store/commit.log")
      return try later(lane)
    }
  }

  private func trial(
    _ lane: Lane, _ manner: Examiner.Manner, faults: [String: String], _ complaint: (Examination) -> String?
  ) throws -> String? {
    try Self.write(data, log, to: lane.root)
    let struck = try lane.examine(context, root: lane.root, manner, faults: faults)
    guard case .examined(let found) = struck else { return "the process that examined the store: \(struck)" }
    if let reason = HostileFileFaults.complaint(struckOnce: found, sound) { return reason }
    if let reason = complaint(found) { return reason }
    return try later(lane)
  }

  /// Examines the store again after the disk has recovered.
  private func later(_ lane: Lane) throws -> String? {
    for name in ["restored", "salvaged"] { try? FileManager.default.removeItem(atPath: "\(lane.root)/\(name)") }
    let afterwards = try lane.examine(context, root: lane.root, .verified)
    guard case .examined(let later) = afterwards else {
      return "the process that examined the store afterwards: \(afterwards)"
    }
    if later.reading != sound.reading { return "commits are missing afterwards: \(later.reading as Any)" }
    return HostileFileFaults.complaint(later, sound, keepsCatalog: true)
  }

  // MARK: The files

  private static func bytes(_ path: String) throws -> [UInt8] {
    FileManager.default.fileExists(atPath: path) ? [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) : []
  }

  private static func write(_ data: [UInt8], _ log: [UInt8], to root: String) throws {
    try DamageSubject.write(data, to: root)
    let isMade = FileManager.default.createFile(
      atPath: root + "/store/commit.log", contents: Data(log), attributes: [.posixPermissions: 0o600])
    guard isMade else { throw Finding("cannot write \(root)/store/commit.log") }
  }

  /// The first pages of the records of the log's current generation.
  private static func records(_ log: [UInt8]) -> [Int] {
    var records: [Int] = []
    var page = firstRecord
    while (page + 1) * pageSize <= log.count, Array(log[page * pageSize..<page * pageSize + 8]) == recordMagic,
      log[page * pageSize + 16..<page * pageSize + 24].elementsEqual(log[24..<32])
    {
      records.append(page)
      page += length(log, page)
    }
    return records
  }

  private static func newestCommit(_ data: [UInt8]) -> Int { max(word(data, 144), word(data, pageSize + 144)) }

  private static func word(_ bytes: [UInt8], _ offset: Int) -> Int {
    (0..<8).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
  }

  /// The number of pages of a record.
  private static func length(_ log: [UInt8], _ page: Int) -> Int {
    let bytes = word(log, page * pageSize + 32)
    return max(1, (bytes + pageSize - 1) / pageSize)
  }
}
