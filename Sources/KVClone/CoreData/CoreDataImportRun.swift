import Foundation
import KVCloneCoreData
import KVCloneLMDB
import KVCloneModel

/// One import or its plan: what is read, what became of it, and who is told.
///
/// Memory is flat: a bit per object, and links in scratch space.
final class CoreDataImportRun {
  let options: CoreDataImportOptions
  let layout: CoreDataLayout
  let file: SQLiteFile
  private let source: CoreDataImportSource
  var external: CoreDataExternalFiles { source.external }
  private let progress: (@Sendable (CoreDataImportProgress) -> Void)?
  private let isCancelled: @Sendable () -> Bool
  let start = ContinuousClock.now
  /// Where links are kept until all objects are there.
  let space: ScratchSpace

  var report = CoreDataImportReport()
  /// Keys of objects that broke a rule of the model in an earlier pass, by root entity.
  private var refused: [String: Set<Int64>] = [:]
  private var refusals: [CoreDataImportError] = []
  /// By concrete entity: the keys of its objects.
  private(set) var present: [String: SerialSet] = [:]
  /// By entity: what is in ``present`` of it and of those below it, as far as somebody asked.
  private var kinds: [String: [(entity: String, keys: SerialSet)]] = [:]
  var links: [CoreDataLinkTable] = []
  private var steps = 0

  /// How many blocks of keys the sets of all entities may span together: 128 MiB of directories, however far apart a file says
  /// that its keys are. It is 68 billion keys, of each of a hundred entities 680 million; keys beyond cost some bytes each.
  private static let blockCount: UInt64 = 1 << 24

  init(
    _ source: CoreDataImportSource, _ options: CoreDataImportOptions, scratch: String,
    _ progress: (@Sendable (CoreDataImportProgress) -> Void)?, _ isCancelled: @escaping @Sendable () -> Bool
  ) {
    self.source = source
    self.options = options
    layout = source.layout
    file = source.file
    self.progress = progress
    self.isCancelled = isCancelled
    space = ScratchSpace(directory: scratch)
  }

  /// Forgets what an earlier pass found, but not what it refused.
  func beginPass() {
    report = source.report()
    for error in refusals { report.noteSkipped(error, isWholeObject: true, limit: options.skippedLimit) }
    present = [:]
    kinds = [:]
    let entityCount = layout.hierarchies.reduce(0) { $0 + $1.entities.count }
    for hierarchy in layout.hierarchies {
      for entity in hierarchy.entities.values {
        present[entity.name] = SerialSet(maximumSpan: Self.blockCount / UInt64(max(1, entityCount)))
      }
    }
    links = CoreDataLinkTable.all(of: layout, in: space)
  }

  /// The keys of an entity's objects and of those below it, by entity.
  func keys(kindOf entity: String) -> [(entity: String, keys: SerialSet)] {
    if let known = kinds[entity] { return known }
    var found: [(entity: String, keys: SerialSet)] = []
    for name in [entity] + layout.model.subentities(of: entity) {
      if let keys = present[name] { found.append((entity: name, keys: keys)) }
    }
    kinds[entity] = found
    return found
  }

  // MARK: Objects

  /// Calls `body` with every object that can be taken over.
  func forEachObject(_ body: (CoreDataRow, SQLiteScan, CoreDataLayout.Hierarchy) throws -> Void) throws {
    // What a store says of itself may be any number.
    let total = layout.hierarchies.reduce(0) { $0 + Int(min(max(0, $1.maximumKey), CoreDataRows.maximumKey)) }
    // Columns come first in the list of link tables, in the order of the hierarchies.
    var firstLinks = 0
    for hierarchy in layout.hierarchies {
      defer { firstLinks += hierarchy.toOnes.count }
      let rows = CoreDataRows(hierarchy: hierarchy, external: source.external, broken: broken)
      let scan = try SQLiteScan(file, hierarchy.table)
      while try scan.next() {
        try step(.objects, report.objectCount, of: total)
        // What was left out as a whole is not looked at again.
        if let refused = refused[hierarchy.root], case .integer(let key) = try scan.value(hierarchy.keyColumn),
          refused.contains(key)
        {
          continue
        }
        guard let row = try rows.object(scan) else { continue }
        try body(row, scan, hierarchy)
        _ = present[row.entity.name]?.insert(UInt64(row.key))
        for target in row.targets { try note(target, of: row, in: firstLinks + target.toOne) }
        report.noteObject(row.entity.name)
      }
    }
  }

  private func note(
    _ target: (toOne: Int, key: Int64, order: Int64?), of row: CoreDataRow, in place: Int
  ) throws {
    guard target.key > 0, target.key <= CoreDataRows.maximumKey else {
      return try broken(dangling(row.name, row.entity.name, links[place].relationship.name, "\(target.key)"), false)
    }
    if links[place].isFromMember {
      try links[place].links.append(owner: target.key, member: row.key, order: target.order)
    } else {
      try links[place].links.append(owner: row.key, member: target.key, order: nil)
    }
  }

  /// Throws the error, or notes it and goes on.
  func broken(_ error: CoreDataImportError, _ isWholeObject: Bool) throws {
    guard options.skipsBroken else { throw error }
    report.noteSkipped(error, isWholeObject: isWholeObject, limit: options.skippedLimit)
  }

  func dangling(_ object: String, _ entity: String, _ property: String, _ target: String) -> CoreDataImportError {
    CoreDataImportError(
      .danglingReference,
      "\(object) \(property): leads to the row \(target), which is not there or was left out; set it to NULL",
      entity: entity, property: property, object: object)
  }

  // MARK: What the rules of the model refuse

  /// Notes the objects that a commit refused, to leave them out in the next pass; false where none of them is known.
  ///
  /// Of two objects with one value, the one with the greater key goes, unless the other one goes anyway.
  func refuse(_ error: ValidationError) -> Bool {
    var isAnyNew = false
    for issue in error.issues where issue.kind != .uniquenessConflict {
      if leaveOut(issue.object, issue) { isAnyNew = true }
    }
    for issue in error.issues where issue.kind == .uniquenessConflict {
      guard let other = issue.other else {
        if leaveOut(issue.object, issue) { isAnyNew = true }
        continue
      }
      if isLeftOut(issue.object, issue) || isLeftOut(other, issue) { continue }
      let later = (Self.key(issue.object) ?? 0) > (Self.key(other) ?? 0) ? issue.object : other
      if leaveOut(later, issue) { isAnyNew = true }
    }
    return isAnyNew
  }

  private static func key(_ object: String) -> Int64? { Int64(object.drop { $0 != "/" }.dropFirst()) }

  private func isLeftOut(_ object: String, _ issue: ValidationIssue) -> Bool {
    guard let key = Self.key(object), let root = layout.model.rootEntity(of: issue.entity) else { return false }
    return refused[root]?.contains(key) ?? false
  }

  private func leaveOut(_ object: String, _ issue: ValidationIssue) -> Bool {
    guard let key = Self.key(object), let root = layout.model.rootEntity(of: issue.entity),
      refused[root, default: []].insert(key).inserted
    else { return false }
    refusals.append(Self.refusal(issue, of: object))
    return true
  }

  /// - Parameter object: the one of the two that goes, where two have the same values.
  static func refusal(_ issue: ValidationIssue, of object: String? = nil) -> CoreDataImportError {
    let object = object ?? issue.object
    let message =
      object == issue.object
      ? issue.message : "\(issue.property) of \(object) must be unique, and \(issue.object) has the same values"
    return CoreDataImportError(
      .refused, message, entity: String(object.prefix { $0 != "/" }), property: issue.property, object: object,
      kindName: issue.kind.rawValue)
  }

  // MARK: Progress

  /// Every so many steps somebody is told, and may stop it.
  private static let stepsPerReport = 1 << 10

  func step(_ phase: CoreDataImportProgress.Phase, _ completed: Int, of total: Int?) throws(StoreError) {
    steps += 1
    if steps % Self.stepsPerReport == 0 { try tell(phase, completed, of: total) }
  }

  func tell(_ phase: CoreDataImportProgress.Phase, _ completed: Int = 0, of total: Int? = nil) throws(StoreError) {
    progress?(CoreDataImportProgress(phase: phase, completed: completed, total: total))
    try check()
  }

  func check() throws(StoreError) {
    if isCancelled() { throw CoreDataImportError.cancelled }
  }
}
