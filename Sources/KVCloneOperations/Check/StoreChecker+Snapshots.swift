import KVClone
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Checks named snapshots, and their preimages: each is sound, listed once, and needed by a snapshot.
extension StoreChecker {
  borrowing func checkSnapshots(_ run: CheckRun) throws(StoreError) {
    guard let snapshots = run.historyTables.first(where: { $0.code == .snapshots }),
      let preimages = run.historyTables.first(where: { $0.code == .preimages })
    else { return }
    var shown = ShownStates()
    var youngest: (name: String, epoch: UInt64)?
    try run.reading("the table snapshots") { () throws(StoreError) in
      try session.forEachEntry(snapshots) { (key, value) throws(StoreError) in
        do throws(RecordError) {
          guard let name = String(validating: key.withUnsafeBytes { Array($0) }, as: UTF8.self) else { throw .badKey }
          let seed = ValueEnvelope.seed(tableCode: .snapshots, key: copy key)
          let snapshot = try SnapshotValue(stored: copy value, seed: seed)
          shown.add(SnapshotHorizon(snapshot, session.schema.orderedLists))
          if snapshot.epoch > youngest?.epoch ?? 0 { youngest = (name, snapshot.epoch) }
          run.branches.bases[name] = snapshot
          checkSnapshot(name, snapshot, run, page: run.page(snapshots, key))
        } catch {
          shown.isWhole = false
          run.branches.knowsAllBases = false
          run.report(.snapshot, page: run.page(snapshots, key), "an entry of the table snapshots: \(error.description)")
        }
        return !run.isFull
      }
    }
    shown.sort()
    if shown.hasSameEpochs { run.report(.snapshot, "two snapshots have the same epoch") }
    if run.lost.any(snapshots) { run.branches.knowsAllBases = false }
    let tellsAll = !run.lost.any(snapshots) && !run.lost.any(session.schema.tables.metadata)
    if tellsAll { checkYoungest(youngest?.name, run) }
    // Only all snapshots together determine which preimages are needed.
    let isWhole = shown.isWhole && !run.isFull && !run.lost.any(snapshots) && !run.lost.any(preimages)
    try run.reading("the table preimages") { () throws(StoreError) in
      try checkPreimages(preimages, isWhole ? shown : nil, run)
    }
  }

  private borrowing func checkSnapshot(_ name: String, _ snapshot: SnapshotValue, _ run: CheckRun, page: Int?) {
    func report(_ what: String) { run.report(.snapshot, page: page, "the snapshot \(name) \(what)") }
    if let commit = run.commit, snapshot.commit > commit {
      report("shows commit \(snapshot.commit), but the last commit is \(commit)")
    }
    if let epoch = try? session.counter(MetadataKey.epoch), snapshot.epoch == 0 || snapshot.epoch > epoch {
      report("has epoch \(snapshot.epoch), but the last epoch is \(epoch)")
    }
    if snapshot.isDraft, CloneBase(name, snapshot) == nil {
      report(
        "is the base of a draft with a malformed name or description, so its clones cannot be merged; `snapshot delete "
          + "--expired` deletes it, and the clones are ordinary objects then")
    }
    for watermark in snapshot.watermarks {
      let stored = try? Metadata.serial(session.storage, session.schema.tables.metadata, rootCode: watermark.rootCode)
      if let stored, watermark.nextSerial > max(1, stored) {
        report("shows serial numbers that are not allocated yet")
      }
    }
    if let blobs = try? session.counter(MetadataKey.blobSerial), snapshot.nextBlobSerial > max(1, blobs) {
      report("shows blob serial numbers that are not allocated yet")
    }
  }

  private borrowing func checkYoungest(_ name: String?, _ run: CheckRun) {
    let table = session.schema.tables.metadata
    let named: String?
    do throws(StoreError) {
      named = try Metadata.get(session.storage, table, MetadataKey.youngestSnapshot, as: BytesValue.self)
        .map { String(decoding: $0.bytes, as: UTF8.self) }
    } catch {
      // Reported with the metadata.
      return
    }
    if named != name {
      run.report(
        .snapshot, "the metadata does not name the latest snapshot, so writers do not record its preimages")
    }
  }

  /// - Parameter shown: the union of all snapshots; nil if they are unknown.
  private borrowing func checkPreimages(_ table: StorageTable, _ shown: ShownStates?, _ run: CheckRun)
    throws(StoreError)
  {
    // Without a model it is unknown which lists are ordered, and so which of their chunks are newer.
    let knowsLists = !session.schema.entities.isEmpty
    // Sums of hashes: the listed keys have to be the existing ones, in any order.
    var listed: (count: UInt64, sum: UInt64) = (0, 0)
    var found: (count: UInt64, sum: UInt64) = (0, 0)
    var isReadable = true
    var last: [UInt8] = []
    try session.forEachEntry(table) { (key, value) throws(StoreError) in
      do throws(RecordError) {
        let seed = ValueEnvelope.seed(tableCode: .preimages, key: copy key)
        if SavedKeysKey.isOne(copy key) {
          let place = try SavedKeysKey(copy key)
          let list = try SavedKeysView(copy value, seed: seed)
          list.forEach { code, saved in
            let preimage = PreimageKey.encode(table: code, key: saved, epoch: place.epoch)
            listed = (listed.count + 1, listed.sum &+ XXH3.hash(preimage.span.bytes, seed: 0))
          }
          return !run.isFull
        }
        found = (found.count + 1, found.sum &+ XXH3.hash(copy key, seed: 0))
        let view = try PreimageView(copy value, seed: seed)
        let code = try PreimageKey.table(of: copy key)
        let saved = try PreimageKey.key(of: copy key)
        let epoch = try PreimageKey.epoch(of: copy key)
        guard SnapshotHorizon.isVersioned(code) else { throw .badKey }
        let savedSeed = ValueEnvelope.seed(tableCode: code, key: saved)
        if view.isPresent, !ValueEnvelope.isIntact(view.value, seed: savedSeed) { throw .checksumMismatch }
        let current = key.withUnsafeBytes { Array($0) }
        let isSame = last.dropLast(PreimageKey.suffixLength) == current.dropLast(PreimageKey.suffixLength)
        let earlier = isSame ? try PreimageKey.epoch(of: last.span.bytes) : 0
        last = current
        if let shown {
          let need = shown.need(code, unsafePointers(copy saved), after: earlier, upTo: epoch)
          if need == .none {
            run.report(.snapshot, page: run.page(table, key), "a preimage exists that no snapshot needs")
          } else if need == .unseen, knowsLists || code != .links {
            run.report(
              .snapshot, page: run.page(table, key),
              "a preimage exists for a key that no snapshot shows; it uses disk space until the snapshots are deleted")
          }
        }
        if code == .blobInfo, view.isPresent {
          checkRetainedBlob(try NumberKey.blobSerial(saved), try BlobInfo(stored: view.value, seed: savedSeed), run)
        }
      } catch {
        isReadable = false
        run.report(
          .snapshot, object: Self.owner(ofState: key).map(session.schema.rootName), page: run.page(table, key),
          "an entry of the table preimages: \(error.description)")
      }
      return !run.isFull
    }
    if isReadable, !run.isFull, !run.lost.any(table), listed != found {
      run.report(
        .snapshot,
        "\(found.count) preimages are stored, but the list has \(listed.count) or different ones; deleting snapshots "
          + "would keep some of them, or delete preimages that are still needed")
    }
  }

  /// The object of a preimage, by its key; nil for other preimages, and for invalid keys.
  private static func owner(ofState key: borrowing RawSpan) -> ObjectID? {
    guard !SavedKeysKey.isOne(copy key), let code = try? PreimageKey.table(of: copy key),
      let saved = try? PreimageKey.key(of: copy key)
    else { return nil }
    return owner(of: code, saved)
  }

  /// The object of an entry of a table, by its key; nil for other entries, and for invalid keys.
  static func owner(of code: TableCode, _ key: RawSpan) -> ObjectID? {
    switch code {
    case .links: return try? LinkKey(key).owner
    case .indexes: return try? IndexKey.objectID(of: key)
    case .provenance: return objectID(key)
    default: return code.rootCode == nil ? nil : objectID(key)
    }
  }

  /// Checks a blob without an object that a snapshot needs.
  private borrowing func checkRetainedBlob(_ serial: UInt64, _ info: BlobInfo, _ run: CheckRun) {
    run.retained.add(serial)
    if run.lost.intersects(session.blobTables.blobs, prefix: ShortKey.blobInfo(serial).array) { return }
    let problems =
      (try? BlobCheck.problems(
        of: serial, info, session.blobTables, in: session.storage, readData: run.options.readData)) ?? []
    for problem in problems {
      let page = problem.chunk.flatMap {
        run.pages?.page(session.blobTables.blobs, ShortKey.blobChunk(serial, chunk: $0).array)
      }
      run.reportBlob(serial, page: page, problem.message)
    }
  }
}

/// The union of a store's named snapshots, in the order of their epochs.
private struct ShownStates {
  private var horizons: [SnapshotHorizon] = []
  /// Whether all snapshots were readable.
  var isWhole = true

  enum Need {
    /// No snapshot has these epochs.
    case none
    /// Some have, but the key is newer than all of them.
    case unseen
    case needed
  }

  mutating func add(_ horizon: SnapshotHorizon) { horizons.append(horizon) }

  mutating func sort() { horizons.sort { $0.epoch < $1.epoch } }

  var hasSameEpochs: Bool { zip(horizons, horizons.dropFirst()).contains { $0.epoch == $1.epoch } }

  /// Which snapshots need a key's preimage of an epoch: those up to it, and after the key's previous preimage.
  func need(_ table: TableCode, _ key: UnsafeRawBufferPointer, after earlier: UInt64, upTo epoch: UInt64) -> Need {
    // The youngest of them: it sees what the others see.
    var end = horizons.count
    var low = 0
    while low < end {
      let middle = (low + end) / 2
      if horizons[middle].epoch <= epoch { low = middle + 1 } else { end = middle }
    }
    var need = Need.none
    while end > 0, horizons[end - 1].epoch > earlier {
      if horizons[end - 1].sees(table, key) { return .needed }
      need = .unseen
      end -= 1
    }
    return need
  }
}
