import Foundation

/// Failing reads: a bad sector fails every read, a faulty cable or controller a single one.
///
/// Requirements: no signal, and typed errors only. `check` continues after an unreadable page and names it; a restore
/// fails; a salvage recovers everything except the data of that page, and reports the loss, unless the page belongs to
/// the catalog. If one read fails, all returned data is correct, and the store is unchanged afterwards.
///
/// Reads of LMDB through the map are excluded: there a bad sector raises a signal, which a process cannot handle as an
/// error.
enum ReadFaults: FaultClass {
  static let name = "read"
  static let number = "G4"

  /// The maximum number of single failing reads in an examination, in the workload and in the copies.
  private static let (count, quickCount) = (300, 4)
  private static let (pageCount, quickPageCount) = (1000, 8)
  private static let (metaCount, quickMetaCount) = (40, 3)
  private static let (logCount, quickLogCount) = (150, 3)

  private static let once = ErrorFaults.Variant(
    name: "read", title: "one EIO, at each read call",
    faults: ["FAIL": "CALL:\(EIO)", "OPERATION": "read"], allowedKinds: ["io", "damaged"])

  private static let twice = ErrorFaults.Variant(
    name: "read twice", title: "two consecutive EIO, from each read call on",
    faults: ["FAIL": "CALL:\(EIO):2", "OPERATION": "read"], allowedKinds: ["io", "damaged"])

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    let subject = try campaign.subject(try campaign.context(), .everything)
    let pages = [0, 1] + subject.map.treePages + subject.map.allValuePages
    let copies = try campaign.contextWithCopies()
    let copying = copies.reads.indices.filter { copies.reads[$0].copy != nil }
    return [
      TrialGroup(
        title: "unreadable page, during check, open, restore and salvage",
        trials: (spread(pages, campaign.isQuick ? quickPageCount : pageCount, campaign.seed)
          + (campaign.isQuick ? subject.map.laterValuePages.prefix(1) : []))
          .map { badPage($0, subject) }),
      TrialGroup(
        title: "unreadable blob page and corrupted newer meta page, during salvage",
        trials: spread(subject.map.allValuePages, campaign.isQuick ? quickMetaCount : metaCount, campaign.seed)
          .map { badPageAndMeta($0, subject) }),
      TrialGroup(
        title: "unreadable B+tree page and corrupted newer meta page, during salvage",
        trials: spread(subject.map.treePages, campaign.isQuick ? quickMetaCount : metaCount, campaign.seed)
          .map { badTreePageAndMeta($0, subject) }),
      TrialGroup(
        title: "unreadable page and corrupted older meta page, during salvage",
        trials: spread(pages.dropFirst(2), campaign.isQuick ? quickMetaCount : count, campaign.seed)
          .map { badPageAndOlderMeta($0, subject) }),
      TrialGroup(
        title:
          "page that fails two reads, then succeeds, during check, open, restore and salvage",
        trials: ([0, 1] + spread(pages.dropFirst(2), campaign.isQuick ? quickCount : count, campaign.seed))
          .map { pageThatRecovers($0, subject) }),
      TrialGroup(
        title: "one or two EIO, at each read call of check, open, restore and salvage",
        trials: try examinations(subject, campaign)),
    ] + logGroups(try LeftLog(campaign), campaign) + [
      TrialGroup(title: once.title, trials: trials(campaign, try campaign.context(), nil)),
      TrialGroup(title: "\(once.title), while copying a store", trials: trials(campaign, copies, copying)),
    ] + (try withLog(campaign))
  }

  /// Trials with a write-ahead log, with which a commit reads more.
  private static func withLog(_ campaign: Campaign) throws -> [TrialGroup] {
    if try campaign.isQuick || campaign.context().workload.usesCommitLog { return [] }
    let trials = trials(campaign, try campaign.context(withLog: true), nil)
    return [
      TrialGroup(
        title: "\(once.title), with a write-ahead log", trials: trials.map { Trial(id: "log-\($0.id)", run: $0.run) })
    ]
  }

  private static func logGroups(_ left: LeftLog, _ campaign: Campaign) -> [TrialGroup] {
    let pages = left.pages
    let count = campaign.isQuick ? quickLogCount : logCount
    // The heads, and the first and last page of the last record.
    let first = pages.filter { $0 < 2 } + [left.lastRecord, pages.last ?? 0]
    return [
      TrialGroup(
        title:
          "unreadable page in a killed process's write-ahead log, readable later",
        trials: Set(first + spread(pages, count, campaign.seed)).sorted().map { left.badPage($0) }),
      TrialGroup(
        title: "page in a killed process's write-ahead log that fails one read",
        trials: Set(first + spread(pages, count, campaign.seed + 1)).sorted().map { left.pageThatRecovers($0) }),
      TrialGroup(
        title: "one EIO, at each read call of write-ahead log recovery",
        trials: spread(Array(1...left.readCount), count, campaign.seed).map { left.failingRead($0) }),
      TrialGroup(
        title: "persistent EIO, from each read call of write-ahead log recovery on, later cleared",
        trials: spread(Array(1...left.readCount), count, campaign.seed)
          .map { left.readsThatFail(from: $0) }),
    ]
  }

  private static func trials(_ campaign: Campaign, _ context: TrialContext, _ chosen: [Int]?) -> [Trial] {
    spread(chosen ?? Array(context.reads.indices), campaign.isQuick ? quickCount : count, campaign.seed).map {
      ErrorFaults.trial(context, once, call: $0 + 1, of: context.reads)
    }
  }

  /// At most `count` elements, evenly spread; the seed selects which.
  private static func spread<T>(_ all: some Collection<T>, _ count: Int, _ seed: UInt64) -> [T] {
    let all = Array(all)
    let step = (all.count + count - 1) / count
    return step < 2 ? all : stride(from: Int(seed % UInt64(step)), to: all.count, by: step).map { all[$0] }
  }

  private static func badPage(_ page: Int, _ subject: DamageSubject) -> Trial {
    Trial(id: "page:\(page)") { lane in
      try DamageSubject.write(subject.map.bytes, to: lane.root)
      let found = try lane.examine(subject.context, root: lane.root, .verified, faults: ["BAD_PAGE": "\(page)"])
      guard case .examined(let found) = found else { return "the process that examined the file: \(found)" }
      if let reason = complaint(found, page: page, subject) { return reason }
      return HostileFileFaults.complaint(found, subject.sound, keepsCatalog: !subject.map.catalogPages.contains(page))
    }
  }

  /// The salvage finds the list of tables by scanning pages. An unreadable page must not make it use an older list.
  private static func badPageAndMeta(_ page: Int, _ subject: DamageSubject) -> Trial {
    Trial(id: "meta:\(page)") { lane in
      let examined = try examine(subject, lane, badPage: page, badMeta: subject.map.newerMeta)
      guard case .examined(let found) = examined else { return "the process that examined the file: \(examined)" }
      if let message = found.untypedError { return "untyped error: \(message)" }
      if subject.map.catalogPages.contains(page) { return nil }
      guard found.salvaged != nil else { return "nothing was salvaged: \(String(describing: found.salvaging))" }
      return complaint(salvage: found, page: page, subject)
    }
  }

  /// An unreadable B+tree page makes everything below it unknown: the salvage uses the previous commit, or the current
  /// one without those entries, and reports any difference.
  private static func badTreePageAndMeta(_ page: Int, _ subject: DamageSubject) -> Trial {
    Trial(id: "tree:\(page)") { lane in
      let examined = try examine(subject, lane, badPage: page, badMeta: subject.map.newerMeta)
      guard case .examined(let found) = examined else { return "the process that examined the file: \(examined)" }
      let keepsCatalog = !subject.map.catalogPages.contains(page)
      if let reason = HostileFileFaults.complaint(found, subject.sound, keepsCatalog: keepsCatalog) { return reason }
      guard let salvaged = found.salvaged else { return nil }
      return salvaged != subject.sound.objects && found.lossKinds.isEmpty
        ? "salvage returned wrong data without reporting it" : nil
    }
  }

  /// Every page belongs to the newer state, so the salvage must not report a lost later commit.
  private static func badPageAndOlderMeta(_ page: Int, _ subject: DamageSubject) -> Trial {
    Trial(id: "older:\(page)") { lane in
      let examined = try examine(
        subject, lane, badPage: page, badMeta: StoreFileMap.pageSize - subject.map.newerMeta)
      guard case .examined(let found) = examined else { return "the process that examined the file: \(examined)" }
      let keepsCatalog = !subject.map.catalogPages.contains(page)
      if let reason = HostileFileFaults.complaint(found, subject.sound, keepsCatalog: keepsCatalog) { return reason }
      // Without the commit counter or the list of tables, the salvage cannot know this.
      if !keepsCatalog || page == subject.map.tableListPage { return nil }
      if found.lossKinds.contains("state") { return "salvage reports a lost later commit that did not exist" }
      return complaint(salvage: found, page: page, subject)
    }
  }

  private static func examine(
    _ subject: DamageSubject, _ lane: Lane, badPage page: Int, badMeta meta: Int
  ) throws -> Lane.ExaminationResult {
    var bytes = subject.map.bytes
    bytes[meta + 16] ^= 0xFF
    try DamageSubject.write(bytes, to: lane.root)
    return try lane.examine(subject.context, root: lane.root, .verified, faults: ["BAD_PAGE": "\(page)"])
  }

  /// The check reads first, so it meets the failing reads and must report the page, although all later reads succeed.
  private static func pageThatRecovers(_ page: Int, _ subject: DamageSubject) -> Trial {
    Trial(id: "recovers:\(page)") { lane in
      try DamageSubject.write(subject.map.bytes, to: lane.root)
      let examined = try lane.examine(subject.context, root: lane.root, .verified, faults: ["BAD_PAGE": "\(page):2"])
      guard case .examined(let found) = examined else { return "the process that examined the file: \(examined)" }
      guard found.damages.contains(where: { $0.page == page }) else {
        return "check does not report that page \(page) is unreadable: \(found.checking), \(found.damages)"
      }
      return HostileFileFaults.complaint(struckOnce: found, subject.sound)
    }
  }

  private static func complaint(_ found: Examination, page: Int, _ subject: DamageSubject) -> String? {
    guard found.checking.digest != nil else { return "check stopped at page \(page): \(found.checking)" }
    guard found.damages.contains(where: { $0.page == page }) else {
      return "check does not report page \(page): \(found.damages)"
    }
    if let damage = found.damages.first(where: { $0.kind == "unreadableTable" }) {
      return "check did not continue after page \(page): \(damage.message)"
    }
    if found.restored != nil { return "restore omitted page \(page) without an error" }
    return complaint(salvage: found, page: page, subject)
  }

  /// An unreadable page with a part of one value must not affect other objects.
  private static func complaint(salvage found: Examination, page: Int, _ subject: DamageSubject) -> String? {
    let (map, sound) = (subject.map, subject.sound)
    guard let salvaged = found.salvaged, map.allValuePages.contains(page) else { return nil }
    func pages(_ value: Range<Int>) -> ClosedRange<Int> {
      value.lowerBound / StoreFileMap.pageSize...(value.upperBound - 1) / StoreFileMap.pageSize
    }
    guard let entry = map.entries.first(where: { pages($0.value).contains(page) }) else { return nil }
    let names = subject.wholeNames(of: entry)
    let other = sound.objects.first { salvaged[$0.key] != $0.value && !names.contains($0.key) }
    return other.map { "\($0.key) was not salvaged completely, although none of it was on page \(page)" }
  }

  // MARK: Once

  private static func examinations(_ subject: DamageSubject, _ campaign: Campaign) throws -> [Trial] {
    let directory = subject.context.directory
    let lane = Lane(directory: directory)
    let root = directory + "/reads"
    try DamageSubject.write(subject.map.bytes, to: root)
    let trace = directory + "/reads.trace"
    guard case .examined = try lane.examine(subject.context, root: root, .verified, faults: ["TRACE": trace]) else {
      throw Finding("an intact store cannot be examined")
    }
    let reads = try Scratch.text(trace).split(separator: "\n").count { $0 == "read" }
    return spread(Array(1...max(1, reads)), campaign.isQuick ? quickCount : count, campaign.seed).map { number in
      Trial(id: "examined:\(number)") { lane in try examine(subject, lane, number) }
    }
  }

  private static func examine(_ subject: DamageSubject, _ lane: Lane, _ number: Int) throws -> String? {
    try DamageSubject.write(subject.map.bytes, to: lane.root)
    let trace = lane.directory + "/reads.trace"
    // A call that reads several pages is repeated for the first of them alone; the second failure makes that repetition
    // fail too.
    let variant = number % 2 == 0 ? twice : once
    let faults = variant.variables(number).merging(["TRACE": trace]) { $1 }
    let struck = try lane.examine(subject.context, root: lane.root, .verified, faults: faults)
    guard case .examined(let found) = struck else { return "the process that examined the file: \(struck)" }
    guard try Scratch.text(trace).contains("struck") else { throw Finding("the fault was not injected") }
    if let reason = HostileFileFaults.complaint(struckOnce: found, subject.sound) { return reason }
    for name in ["restored", "salvaged"] { try? FileManager.default.removeItem(atPath: "\(lane.root)/\(name)") }
    let afterwards = try lane.examine(subject.context, root: lane.root, .verified)
    guard case .examined(let later) = afterwards else {
      return "the process that examined the file afterwards: \(afterwards)"
    }
    if later.checking.digest == nil || !later.damages.isEmpty {
      return "check finds corruption afterwards: \(later.damages)"
    }
    return HostileFileFaults.complaint(later, subject.sound, keepsCatalog: true)
  }
}
