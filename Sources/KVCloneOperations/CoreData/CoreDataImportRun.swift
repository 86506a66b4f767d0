import Foundation
import KVCloneCore
import KVCloneCoreData
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// One import or its plan: the source, the results, and the progress.
///
/// Memory is flat: a bit per object, and links in scratch space.
final class CoreDataImportRun {
  let options: CoreDataImportOptions
  let layout: CoreDataLayout
  let file: SQLiteFile
  private let source: CoreDataImportSource
  var external: CoreDataExternalFiles { source.external }
  private let progress: (@Sendable (OperationProgress) -> Void)?
  private let isCancelled: @Sendable () -> Bool
  let start = ContinuousClock.now
  /// Contains the links until all objects exist.
  let space: ScratchSpace

  var report = CoreDataImportReport()
  /// The keys of each concrete entity's objects.
  private(set) var present: [String: SerialSet] = [:]
  /// By entity: the keys in ``present`` of it and its descendants, cached.
  private var kinds: [String: [(entity: String, keys: SerialSet)]] = [:]
  var links: [CoreDataLinkTable] = []
  /// Whether only keys and links are read, and any error ends the pass.
  private var isSurvey = false
  private var steps = 0

  /// The maximum number of blocks that the sets of all entities may span together: 128 MiB of directories, however far
  /// apart a file claims its keys to be. That is 68 billion keys, 680 million for each of a hundred entities; keys
  /// beyond cost some bytes each.
  private static let blockCount: UInt64 = 1 << 24

  init(
    _ source: CoreDataImportSource, _ options: CoreDataImportOptions, scratch: String,
    _ progress: (@Sendable (OperationProgress) -> Void)?, _ isCancelled: @escaping @Sendable () -> Bool
  ) {
    self.source = source
    self.options = options
    layout = source.layout
    file = source.file
    self.progress = progress
    self.isCancelled = isCancelled
    space = ScratchSpace(directory: scratch)
  }

  /// Prepares the sets of keys and of links.
  func beginPass() {
    report = source.report()
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

  /// The keys of the objects of an entity and its descendants, by entity.
  func keys(kindOf entity: String) -> [(entity: String, keys: SerialSet)] {
    if let known = kinds[entity] { return known }
    var found: [(entity: String, keys: SerialSet)] = []
    for name in [entity] + layout.model.subentities(of: entity) {
      if let keys = present[name] { found.append((entity: name, keys: keys)) }
    }
    kinds[entity] = found
    return found
  }

  // MARK: Survey

  /// Reads the keys and links of all objects, so that each object can be written once, with both sides of its links.
  ///
  /// - Returns: the links to write with the objects; nil if anything is wrong. Objects are then written without links,
  ///   and both are checked in the order of the rows.
  func surveyLinks(_ schema: Schema) -> [CoreDataLinkCursor]? {
    isSurvey = true
    defer { isSurvey = false }
    beginPass()
    // An error is found again, in its order; so is a cancellation.
    guard let cursors = try? survey(schema) else {
      beginPass()
      return nil
    }
    let linkCount = report.linkCount
    report = source.report()
    report.linkCount = linkCount
    return cursors
  }

  private func survey(_ schema: Schema) throws -> [CoreDataLinkCursor]? {
    try forEachObject(.links) { _, _, _ in }
    try gatherLinks()
    try forEachList(where: \.isCompletelyKnown) { _, _, _ in }
    return try CoreDataLinkCursor.all(of: links, schema, in: space)
  }

  // MARK: Objects

  /// Calls `body` with every importable object.
  func forEachObject(
    _ part: CoreDataRows.Part, _ body: (CoreDataRow, SQLiteScan, CoreDataLayout.Hierarchy) throws -> Void
  ) throws {
    // The store's own number may be anything.
    let total = layout.hierarchies.reduce(0) { $0 + Int(min(max(0, $1.maximumKey), CoreDataRows.maximumKey)) }
    // Columns come first in the list of link tables, in the order of the hierarchies.
    var firstLinks = 0
    for hierarchy in layout.hierarchies {
      defer { firstLinks += hierarchy.toOnes.count }
      let rows = CoreDataRows(hierarchy: hierarchy, external: source.external, broken: broken) { conversion in
        self.report.note(conversion, limit: self.options.skippedLimit)
      }
      let scan = try SQLiteScan(file, hierarchy.table)
      while try scan.next() {
        try step(.objects, report.objectCount, of: total)
        guard let row = try rows.object(scan, part) else { continue }
        try body(row, scan, hierarchy)
        if part != .attributes {
          _ = present[row.entity.name]?.insert(UInt64(row.key))
          for target in row.targets { try note(target, of: row, in: firstLinks + target.toOne) }
        }
        if part != .links { report.noteObject(row.entity.name) }
      }
    }
  }

  private func note(
    _ target: (toOne: Int, key: Int64, order: Int64?), of row: CoreDataRow, in place: Int
  ) throws {
    guard (1...CoreDataRows.maximumKey).contains(target.key) else {
      return try broken(oversized(row.name, row.entity.name, links[place].relationship.name, target.key), false)
    }
    if links[place].isFromMember {
      try links[place].links.append(owner: target.key, member: row.key, order: target.order)
    } else {
      try links[place].links.append(owner: row.key, member: target.key, order: nil)
    }
  }

  /// Throws the error, or records it and continues.
  func broken(_ error: CoreDataImportError, _ isWholeObject: Bool) throws {
    guard options.skipsBroken, !isSurvey else { throw error }
    report.noteSkipped(error, isWholeObject: isWholeObject, limit: options.skippedLimit)
  }

  func dangling(_ object: String, _ entity: String, _ property: String, _ target: String) -> CoreDataImportError {
    CoreDataImportError(
      .danglingReference,
      "\(object) \(property): leads to the row \(target), which does not exist or was skipped; --skip-broken imports "
        + "the object without the link", entity: entity, property: property, object: object)
  }

  /// A row with that key may exist: an import does not support the key.
  private func oversized(_ object: String, _ entity: String, _ property: String, _ key: Int64) -> CoreDataImportError {
    CoreDataImportError(
      .invalidKey,
      "\(object) \(property): leads to a row with the key \(key), but \(CoreDataRows.keyLimit); --skip-broken imports "
        + "the object without the link", entity: entity, property: property, object: object)
  }

  // MARK: Rules of the model

  /// Records a violated rule. Required attributes without a value were reported with their rows.
  func noteKept(_ issue: ValidationIssue) throws {
    if issue.kind == .requiredValueMissing,
      let attribute = layout.model.attribute(issue.property, of: issue.entity), !attribute.isDerived,
      attribute.type != .composite
    {
      return
    }
    try broken(Self.refusal(issue), false)
  }

  static func refusal(_ issue: ValidationIssue) -> CoreDataImportError {
    let remedy =
      issue.kind == .uniquenessConflict
      ? "--skip-broken imports the object without the value" : "--skip-broken imports the object unchanged"
    return CoreDataImportError(
      .rejected, "\(issue.message); \(remedy)", entity: issue.entity, property: issue.property,
      object: issue.object,
      kindName: issue.kind.rawValue)
  }

  // MARK: Progress

  /// The number of steps between progress reports, which may cancel.
  private static let stepsPerReport = 1 << 10

  func step(_ phase: OperationProgress.Phase, _ completed: Int, of total: Int?) throws(StoreError) {
    steps += 1
    if steps % Self.stepsPerReport != 0 { return }
    if isSurvey { try check() } else { try tell(phase, completed, of: total) }
  }

  func tell(_ phase: OperationProgress.Phase, _ completed: Int = 0, of total: Int? = nil) throws(StoreError) {
    progress?(OperationProgress(phase: phase, completed: completed, total: total))
    try check()
  }

  func check() throws(StoreError) {
    if isCancelled() { throw CoreDataImportError.cancelled }
  }
}
