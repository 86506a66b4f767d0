#if Postgres
  import KVCloneCore
  import KVCloneLMDB
  import KVCloneRecords

  /// Copies a store to a new place, which is a store only when the copy is complete and verified.
  struct CopyRun {
    private let source: ObjectStore
    private let progress: CopyProgress

    init(_ source: ObjectStore, _ progress: CopyProgress) {
      self.source = source
      self.progress = progress
    }

    private func result(_ copy: TableCopy) -> CopyResult {
      CopyResult(
        tableCount: copy.codes.count, entryCount: copy.entryCount, byteCount: copy.byteCount,
        duration: ContinuousClock.now - progress.start)
    }

    /// Copies to a new store in a cluster.
    ///
    /// The table `metadata` is written last: until then, the new store cannot be opened.
    func copy(to cluster: PostgresCluster, as name: String) throws(StoreError) -> CopyResult {
      try PostgresCluster.requireValid(name: name)
      let copy = try TableCopy(source, progress)
      let total = try copy.countEntries()
      try progress.begin(.copy, of: total)
      try PostgresEngine.create(cluster, name: name, tables: copy.codes, .metadata, [])
      do throws(StoreError) {
        try use(cluster, name) { (engine) throws(StoreError) in try copy.copy(copy.dataCodes, to: engine) }
        try progress.begin(.verify, of: total)
        try use(cluster, name) { (engine) throws(StoreError) in
          try copy.verify(copy.dataCodes, in: engine)
          try copy.copy([.metadata], to: engine)
        }
        try use(cluster, name) { (engine) throws(StoreError) in try copy.verify([.metadata], in: engine) }
      } catch {
        throw removing(name, from: cluster, after: error)
      }
      return result(copy)
    }

    /// Opens an engine of its own, which has cached nothing.
    private func use(
      _ cluster: PostgresCluster, _ name: String, _ body: (PostgresEngine) throws(StoreError) -> Void
    ) throws(StoreError) {
      let engine = try PostgresEngine(cluster, name: name)
      defer { engine.close() }
      try body(engine)
    }

    /// Deletes the unfinished store, and returns the error to throw.
    private func removing(_ name: String, from cluster: PostgresCluster, after error: StoreError) -> StoreError {
      do throws(StoreError) {
        try cluster.drop(name)
        return error
      } catch let other {
        if other.kind == .storeNotFound { return error }
        return StoreError(
          error.kind,
          "\(error.message); the unfinished store \(name) could not be deleted, delete it with `kvclone cluster drop`",
          underlyingError: error)
      }
    }

    /// Copies to a new directory, which appears under its name with the complete copy.
    func copy(to path: String) throws(StoreError) -> CopyResult {
      let target = try storeErrors { () throws(LMDBError) in try StoreCopy(to: path) }
      let copy = try TableCopy(source, progress)
      let total = try copy.countEntries()
      try progress.begin(.copy, of: total)
      try use(target, tables: copy.codes.compactMap(\.name)) { (engine) throws(StoreError) in
        try copy.copy(copy.dataCodes, to: engine)
        try copy.copy([.metadata], to: engine)
      }
      try progress.begin(.sync, of: nil)
      // Evicts the page cache, so that the disk is verified.
      try storeErrors { () throws(LMDBError) in try target.sync(isForgotten: true) }
      try progress.begin(.verify, of: total)
      try use(target, tables: []) { (engine) throws(StoreError) in try copy.verify(copy.codes, in: engine) }
      let result = result(copy)
      do throws(LMDBError) { try target.publish() } catch { throw StoreError(error) }
      return result
    }

    private func use(
      _ target: borrowing StoreCopy, tables: [String], _ body: (LMDBEngine) throws(StoreError) -> Void
    ) throws(StoreError) {
      defer { target.removeReaderLock() }
      let environment = try storeErrors { () throws(LMDBError) in try target.openEnvironment(tables: tables) }
      defer { environment.close() }
      try body(LMDBEngine(environment))
    }
  }
#endif
