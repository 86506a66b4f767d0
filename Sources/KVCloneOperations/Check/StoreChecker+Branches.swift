import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Checks branches: their descriptions, their bases and their entries, and then each one as a store.
extension StoreChecker {
  /// Checks the tables of branches: each value is sound, and each entry belongs to a branch.
  borrowing func checkBranchTables(_ run: CheckRun) throws(StoreError) {
    guard let tables = run.branchTables else { return }
    try run.reading("the table branches") { () throws(StoreError) in
      try session.forEachEntry(tables.branches) { (key, value) throws(StoreError) in
        checkBranch(key, value, tables.branches, run)
        return !run.isFull
      }
    }
    if run.lost.any(tables.branches) { run.branches.knowsAllBranches = false }
    checkBases(run)
    try run.reading("the table overlays") { () throws(StoreError) in
      try session.forEachEntry(tables.overlays) { (key, value) throws(StoreError) in
        checkOverlay(key, value, tables.overlays, run)
        return !run.isFull
      }
    }
    for (name, branch) in run.branches.branches where !run.isFull { checkTally(name, branch, tables.overlays, run) }
  }

  private borrowing func checkBranch(
    _ key: borrowing RawSpan, _ value: borrowing RawSpan, _ table: StorageTable, _ run: CheckRun
  ) {
    let name = String(validating: key.withUnsafeBytes { Array($0) }, as: UTF8.self)
    do throws(RecordError) {
      guard let name else { throw .badKey }
      let branch = try BranchValue(
        stored: copy value, seed: ValueEnvelope.seed(tableCode: .branches, key: copy key))
      run.branches.add(name, branch)
      let last = try? session.counter(MetadataKey.layer)
      let numbers = branch.numbers
      if let last, let greatest = numbers.max(), greatest > last {
        run.report(.counter, branch: name, "the branch \(name) has number \(greatest), but the last number is \(last)")
      }
      if let commit = run.commit, branch.lastCommit > commit {
        run.report(
          .branch, branch: name,
          "the branch \(name) has commit \(branch.lastCommit), but the last commit is \(commit)")
      }
    } catch {
      run.branches.knowsAllBranches = false
      run.report(
        .branch, page: run.page(table, key), branch: name,
        "the description of the branch \(name ?? "with an invalid name"): \(error.description)")
    }
  }

  /// Checks that every base exists, and that each snapshot knows the layers that need it.
  private borrowing func checkBases(_ run: CheckRun) {
    var uses: [String: UInt32] = [:]
    for (name, branch) in run.branches.branches {
      for layer in branch.layers {
        if let base = run.branches.bases[layer.baseName], base.epoch == layer.baseEpoch {
          uses[layer.baseName, default: 0] += 1
          continue
        }
        run.branches.noteBroken(name)
        if run.lost.any(session.schema.tables.snapshots) { continue }
        run.report(.branch, branch: name, "the base of the branch \(name) is missing or corrupted")
      }
    }
    guard run.branches.knowsAllBranches, run.branches.knowsAllBases else { return }
    for (name, base) in run.branches.bases.sorted(by: { $0.value.epoch < $1.value.epoch }) {
      let found = uses[name] ?? 0
      if base.layerCount != found {
        run.report(
          .snapshot, "the snapshot \(name) is the base of \(found) layers of branches, but counts \(base.layerCount)")
      } else if base.isHidden, found == 0, !base.isDraft {
        run.report(.snapshot, "the snapshot \(name) was created for a branch that does not exist")
      }
    }
  }

  private borrowing func checkOverlay(
    _ key: borrowing RawSpan, _ value: borrowing RawSpan, _ table: StorageTable, _ run: CheckRun
  ) {
    guard let number = try? OverlayKey.layer(of: copy key), let code = try? OverlayKey.table(of: copy key),
      let own = try? OverlayKey.key(of: copy key)
    else {
      return run.report(
        .malformedKey, page: run.page(table, key), "the table of the entries of branches has a malformed key")
    }
    let owner = run.branches.owner(of: number)
    do throws(RecordError) {
      let view = try PreimageView(copy value, seed: ValueEnvelope.seed(tableCode: .overlays, key: copy key))
      if let owner {
        guard BranchCensus.mayHave(code, own, ofAllLayers: number == owner.value.number) else { throw .badKey }
      }
      if view.isPresent {
        let seed = ValueEnvelope.seed(tableCode: code, key: own)
        guard ValueEnvelope.isIntact(view.value, seed: seed) else { throw .checksumMismatch }
        if let blob = try Self.blob(describedBy: code, own, view.value) { run.retained.add(blob) }
      } else if !SnapshotHorizon.isVersioned(code) || code == .blobInfo {
        // Only keys of the base can be deleted, and the base keeps its blobs.
        throw .badFlag
      }
      run.branches.count(number, code, byteCount: key.byteCount + value.byteCount)
      if owner == nil, run.branches.knowsAllBranches {
        run.report(
          .branch, page: run.page(table, key), "an entry under the number \(number) belongs to no branch")
      }
    } catch {
      if let owner { run.branches.noteBroken(owner.name) }
      if let blob = OverlayKey.blob(describedBy: copy key) { run.retained.add(blob) }
      let id = Self.owner(of: code, own)
      run.report(
        error == .badKey ? .malformedKey : .branch, object: id.map(session.schema.rootName),
        page: run.page(table, key), branch: owner?.name,
        "an entry of the branch \(owner?.name ?? "with the number \(number)") (\(code.name ?? "unknown table")): "
          + error.description)
    }
  }

  /// The blob that an entry of a branch describes, or that a preimage in it describes.
  private static func blob(describedBy code: TableCode, _ key: RawSpan, _ value: RawSpan) throws(RecordError)
    -> UInt64?
  {
    if code == .blobInfo { return try NumberKey.blobSerial(key) }
    guard code == .preimages, !SavedKeysKey.isOne(key), try PreimageKey.table(of: key) == .blobInfo else { return nil }
    let view = try PreimageView(value, seed: ValueEnvelope.seed(tableCode: .preimages, key: key))
    return view.isPresent ? try NumberKey.blobSerial(try PreimageKey.key(of: key)) : nil
  }

  /// Compares a branch with the numbers in its description.
  private borrowing func checkTally(_ name: String, _ branch: BranchValue, _ table: StorageTable, _ run: CheckRun) {
    let numbers = branch.numbers
    let isLost = numbers.contains { number in
      run.lost.intersects(table, prefix: OverlayKey.prefix(number))
    }
    if isLost {
      run.branches.noteBroken(name)
      return run.report(
        .branch, branch: name, "entries of the branch \(name) are on corrupted pages; it was not checked further")
    }
    if run.branches.isBroken(name) { return }
    let found = run.branches.tallies[branch.present.code] ?? BranchCensus.Tally()
    let told = BranchCensus.Tally(
      entryCount: branch.entryCount, byteCount: branch.byteCount, changedObjectCount: branch.changedObjectCount)
    if found == told { return }
    run.report(
      .branch, branch: name,
      "the branch \(name) has \(found.entryCount) entries with \(found.byteCount) bytes and "
        + "\(found.changedObjectCount) changed objects, but its description has \(told.entryCount), "
        + "\(told.byteCount) and \(told.changedObjectCount)")
  }

  // MARK: Branches as stores

  /// Checks each branch like a store. What it shows of its base was checked with the store, unless the store has changed
  /// since.
  borrowing func checkBranches(_ run: CheckRun) throws(StoreError) {
    guard let tables = run.branchTables else { return }
    for (name, branch) in run.branches.branches where !run.isFull && !run.branches.isBroken(name) {
      let lists = session.schema.orderedLists
      guard let horizon = try? BranchRecords.horizon(of: branch.present, branch: name, session.storage, tables, lists)
      else { continue }
      let backend = BranchBackend(session.storage.backend, tables, name: name, branch, horizon)
      let context = StoreContext(uuid: session.storeUUID)
      let own = CheckRun(ofBranchOf: run)
      try StoreChecker(context.session(StorageTransaction(lookingInto: backend), session.schema)).checkAsBranch(own)
      run.take(own, ofBranch: name)
    }
  }

  private borrowing func checkAsBranch(_ run: CheckRun) throws(StoreError) {
    try checkHistory(run)
    try checkSnapshots(run)
    try checkObjects(run)
  }

  /// Compares the number of objects with that in the description of the branch.
  borrowing func checkObjectCount(_ found: UInt64, _ table: StorageTable, _ entity: String, _ run: CheckRun) {
    guard !run.isFull, run.lost.isEmpty, let told = try? session.storage.entryCount(table), told != found else {
      return
    }
    run.report(.branch, "it shows \(found) objects of \(entity), but its description has \(told)")
  }
}
