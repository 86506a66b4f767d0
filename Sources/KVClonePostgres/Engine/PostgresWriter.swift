#if Postgres
  import KVCloneCore
  import KVCloneLMDB
  import KVCloneRecords

  /// The write transaction of a store: it holds the lock of the store's row, and keeps its changes in an overlay until
  /// they become large, or until its commit.
  final class PostgresWriter: StorageBackend {
    /// The overlay is sent to the server above this length.
    private static let overlayLimit = 2 << 20
    /// Runs of at least this length are copied.
    private static let copiedRunLength = 64
    /// Larger changes are not applied to the cache, because the next writer waits for it.
    private static let appliedByteCount = 1 << 20
    /// The commits that are listed, for lookups of outcomes and for caches of other processes.
    private static let keptCommitCount: Int64 = 4096

    private let engine: PostgresEngine
    private let connection: PostgresConnection
    private let entries: EntryReader
    private let base: SharedCache.Commit
    private let isDryRun: Bool
    private var overlay = Overlay()
    /// Overlays that were sent to the server. Reads may have returned their bytes, which are valid until the next
    /// change.
    private var sentOverlays: [Overlay] = []
    private var changed = ChangedKeys()
    /// The numbers of entries that were copied and are not counted on the server yet.
    private var copiedCounts: [UInt32: Int] = [:]
    /// The tables that this transaction creates.
    private var madeTables: Set<UInt32> = []
    private var lastKeys: [UInt32: [UInt8]] = [:]
    private var isEmpty = true
    private var hasFailed = false
    private var isOpen = true

    init(_ engine: PostgresEngine, label: String, timeout: Duration, isDryRun: Bool) throws(StoreError) {
      // One deadline for the turn, a connection and the lock: their waits do not add up.
      let deadline = ContinuousClock.now + timeout
      try engine.turn.take(until: deadline, label: label)
      do throws(StoreError) {
        let begun = try EntryReader.begin(engine, engine.cluster.pool, until: deadline, isLocking: true) {
          [
            PostgresStatement("BEGIN", isPrepared: false),
            WriterSession.settings(engine, label, deadline - .now),
            PostgresStatement("SELECT number FROM kvclone.store WHERE id = $1 FOR UPDATE", [.int8(engine.store)]),
          ]
        }
        (connection, base, entries) = (begun.connection, begun.commit, begun.entries)
        engine.seen.note(base)
      } catch {
        engine.turn.give()
        throw error
      }
      engine.turn.serverProcess = connection.serverProcess
      entries.readAhead = ReadAhead(engine, base)
      self.engine = engine
      self.isDryRun = isDryRun
    }

    deinit { abort() }

    // MARK: Reading

    var nextIndexID: UInt16 { .max }

    func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
      try PostgresKey.check(key)
      if let change = overlay.table(table.handle)?.change(of: key) { return change.value }
      return try entries.entry(table.handle, key)?.value
    }

    func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
      -> StorageEntryPointers?
    {
      if !key.isEmpty { try PostgresKey.check(key) }
      switch mode {
      case .atOrAfter: return try next(table.handle, from: key)
      case .atOrBefore:
        if key.isEmpty { return nil }
        let end = successor(of: key)
        return try end.withBytes { (end) throws(StoreError) in try previous(table.handle, before: end) }
      }
    }

    private func next(_ table: UInt32, from key: UnsafeRawBufferPointer) throws(StoreError) -> StorageEntryPointers? {
      guard let changes = overlay.table(table) else {
        return try entries.next(table, from: key).map { StorageEntryPointers(key: $0.key, value: $0.value) }
      }
      var stored = try entries.next(table, from: key)
      var change = changes.next(from: key)
      while true {
        let difference = change.map { change in stored.map { keyOrder(change.key, $0.key) } ?? -1 } ?? 1
        if difference > 0 { return stored.map { StorageEntryPointers(key: $0.key, value: $0.value) } }
        guard let current = change else { return nil }
        if let value = current.value { return StorageEntryPointers(key: current.key, value: value) }
        // A deleted key.
        let behind = successor(of: current.key)
        (stored, change) = try behind.withBytes { (behind) throws(StoreError) in
          (difference == 0 ? try entries.next(table, from: behind) : stored, changes.next(from: behind))
        }
      }
    }

    /// - Parameter key: empty for the last entry of the table.
    private func previous(_ table: UInt32, before key: UnsafeRawBufferPointer) throws(StoreError)
      -> StorageEntryPointers?
    {
      var stored = try entries.previous(table, before: key)
      guard let changes = overlay.table(table) else {
        return stored.map { StorageEntryPointers(key: $0.key, value: $0.value) }
      }
      var change = changes.previous(before: key)
      while true {
        let difference = change.map { change in stored.map { keyOrder(change.key, $0.key) } ?? 1 } ?? -1
        if difference < 0 { return stored.map { StorageEntryPointers(key: $0.key, value: $0.value) } }
        guard let current = change else { return nil }
        if let value = current.value { return StorageEntryPointers(key: current.key, value: value) }
        if difference == 0 { stored = try entries.previous(table, before: current.key) }
        change = changes.previous(before: current.key)
      }
    }

    func scan(
      _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
      _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
      if !key.isEmpty { try PostgresKey.check(key) }
      let changes = overlay.table(table.handle)
      var change = changes?.next(from: key)
      var isStopped = false
      /// Passes the changes before a key, and returns false when the scan ends.
      func passChanges(before limit: UnsafeRawBufferPointer?) throws(StoreError) -> Bool {
        while let current = change, limit.map({ keyOrder(current.key, $0) < 0 }) ?? true {
          if !end.isEmpty, keyOrder(current.key, end) >= 0 { return true }
          if let value = current.value,
            try !body(RawSpan(_unsafeBytes: current.key), RawSpan(_unsafeBytes: value))
          {
            isStopped = true
            return false
          }
          change = nextChange(behind: current.key)
        }
        return true
      }
      func nextChange(behind key: UnsafeRawBufferPointer) -> Overlay.Change? {
        successor(of: key).withUnsafeBytes { changes?.next(from: $0) }
      }
      try entries.scan(table.handle, from: key, before: end) { (row) throws(StoreError) in
        if changes != nil {
          if try !passChanges(before: row.key) { return false }
          // A change of this key replaces it: it is passed with the next ones.
          if let current = change, keyOrder(current.key, row.key) == 0 { return true }
        }
        let goesOn = try body(RawSpan(_unsafeBytes: row.key), RawSpan(_unsafeBytes: row.value))
        isStopped = !goesOn
        return goesOn
      }
      if !isStopped { _ = try passChanges(before: nil) }
    }

    func entryCount(_ table: StorageTable) throws(StoreError) -> UInt64 {
      if overlay.table(table.handle) != nil || copiedCounts[table.handle] != nil { try send() }
      return try entries.count(table.handle)
    }

    func beginReadScope() -> Int { entries.lentCount }

    func endReadScope(_ mark: Int) { entries.release(to: mark) }

    func prefetchWindow(isAscending: Bool) -> Int { 2048 }

    func prefetch(_ table: StorageTable, _ keys: UnsafeRawBufferPointer, stride: Int, _ mode: StorageSeek?) {
      entries.prefetch(table.handle, keys, stride: stride, mode)
    }

    // MARK: Changes

    private func beginChange(_ key: UnsafeRawBufferPointer, byteCount: Int = 0) throws(StoreError) {
      try requireUsable()
      do throws(StoreError) {
        try PostgresKey.check(key)
        if byteCount > PostgresEngine.maximumValueLength {
          throw StoreError(
            .unsupportedByEngine,
            "a value of \(byteCount) bytes exceeds the \(PostgresEngine.maximumValueLength) that this engine stores")
        }
        if overlay.byteCount > Self.overlayLimit { try send() }
      } catch {
        throw failed(error)
      }
      isEmpty = false
    }

    /// Frees the bytes that reads have returned: a change has been made.
    private func endReads() {
      entries.release()
      sentOverlays.removeAll()
    }

    /// - Throws: `transactionAborted` if an earlier call has failed, and the server has ended the transaction.
    private func requireUsable() throws(StoreError) {
      if hasFailed { throw Self.aborted }
      if let failure = entries.failure { throw failure }
    }

    private func failed(_ error: StoreError) -> StoreError {
      hasFailed = true
      return error
    }

    private static var aborted: StoreError {
      StoreError(.transactionAborted, "an earlier change failed; the transaction can only be aborted")
    }

    func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
      try beginChange(key, byteCount: value.count)
      overlay.set(table.handle, key, value)
      if let last = lastKeys[table.handle], last.order(to: key) < 0 { lastKeys[table.handle] = Array(key) }
      endReads()
    }

    func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
      throws(StoreError)
    {
      try beginChange(key, byteCount: value.count)
      if try lastKey(table.handle).order(to: key) >= 0 { throw failed(Self.notAscending) }
      overlay.set(table.handle, key, value)
      lastKeys[table.handle] = Array(key)
      endReads()
    }

    /// Long runs go to the server at once: it takes them in half of the time that it takes changes.
    func appendRun(_ table: StorageTable, _ run: UnsafeBufferPointer<StorageEntryPointers>) throws(StoreError) {
      guard run.count >= Self.copiedRunLength, let first = run.first, let last = run.last else {
        for entry in run { try append(table, entry.key, entry.value) }
        return
      }
      try beginChange(first.key)
      // A deletion that is sent later would delete a copied entry with its key.
      if overlay.table(table.handle)?.next(from: first.key) != nil { try send() }
      var previous = try lastKey(table.handle)
      for entry in run {
        try beginChange(entry.key, byteCount: entry.value.count)
        let isAscending = previous.order(to: entry.key) < 0
        if !isAscending { throw failed(Self.notAscending) }
        previous.replaceSubrange(0..., with: entry.key)
      }
      do throws(PostgresError) {
        try connection.copy(into: table.handle, of: engine.store, run.lazy.map { ($0.key, $0.value) })
      } catch {
        throw failed(engine.cluster.storeError(error))
      }
      copiedCounts[table.handle, default: 0] += run.count
      changed.add(table.handle, from: Array(first.key), through: Array(last.key))
      entries.noteSent(table.handle, from: first.key, through: last.key)
      entries.cache.removeOverlapping(table.handle, from: Array(first.key), to: nil)
      lastKeys[table.handle] = previous
      endReads()
    }

    private static var notAscending: StoreError {
      StoreError(.limitExceeded, "an appended key is not above all others of its table")
    }

    /// The last key of a table; empty if it has no entry.
    private func lastKey(_ table: UInt32) throws(StoreError) -> [UInt8] {
      if let known = lastKeys[table] { return known }
      do throws(StoreError) {
        return try previous(table, before: .noBytes).map { Array($0.key) } ?? []
      } catch {
        // A part of a change.
        throw failed(error)
      }
    }

    func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
      try beginChange(key)
      do throws(StoreError) {
        guard try get(table, key) != nil else { return false }
      } catch {
        throw failed(error)
      }
      overlay.set(table.handle, key, nil)
      lastKeys[table.handle] = nil
      endReads()
      return true
    }

    func makeTables(_ tables: [TableCode]) throws(StoreError) -> [StorageTable] {
      try requireUsable()
      let handles = tables.map { UInt32($0.rawValue) }
      let missing = handles.filter { !engine.hasTable($0) && !madeTables.contains($0) }
      if !missing.isEmpty {
        do throws(PostgresError) {
          _ = try connection.run(missing.map { ClusterSchema.makeTable(engine.store, $0) })
        } catch {
          throw failed(engine.cluster.storeError(error))
        }
        madeTables.formUnion(missing)
        isEmpty = false
      }
      return zip(tables, handles).map { StorageTable(code: $0, handle: $1) }
    }

    // MARK: Sending

    /// Sends the overlay to the server, which applies it in the open transaction.
    private func send() throws(StoreError) {
      let statements = takeOverlay() + takeCounts()
      if statements.isEmpty { return }
      do throws(PostgresError) { _ = try connection.run(statements) } catch {
        throw failed(engine.cluster.storeError(error))
      }
    }

    /// Empties the overlay, and returns the statements that apply it.
    private func takeOverlay() -> [PostgresStatement] {
      let changes = EntryChanges(overlay, engine.store)
      for (table, sent) in overlay.tables {
        changed.add(table, sent)
        if let first = sent.blocks.first?.first, let last = sent.blocks.last?.last {
          entries.noteSent(table, from: first.key, through: last.key)
        }
        // The server answers with these changes from now on.
        for block in sent.blocks { for change in block { entries.cache.apply(table, change.key, change.value) } }
      }
      entries.cache.makeRoom(for: 0, limit: engine.cacheLimit)
      if !overlay.isEmpty { sentOverlays.append(overlay) }
      overlay = Overlay()
      return changes.statements
    }

    /// The statements that count the copied entries.
    private func takeCounts() -> [PostgresStatement] {
      defer { copiedCounts = [:] }
      return copiedCounts.map { Tally.add($0.value, engine.store, $0.key) }
    }

    // MARK: Ending

    func commit() throws(StoreError) {
      guard isOpen else { throw Self.aborted }
      do throws(StoreError) {
        try requireUsable()
      } catch {
        abort()
        throw error
      }
      if isDryRun { return abort() }
      if isEmpty { return abort() }
      let own = overlay
      var statements = EntryChanges(own, engine.store).statements
      var changed = changed
      for (table, sent) in own.tables { changed.add(table, sent) }
      let commit = SharedCache.Commit(number: base.number + 1, token: CommitToken.random())
      statements += takeCounts()
      statements += ClusterSchema.commit(engine.store, commit, changed.encoded)
      if commit.number % 256 == 0 {
        statements.append(ClusterSchema.prune(engine.store, before: commit.number - Self.keptCommitCount))
      }
      isOpen = false
      entries.readAhead?.end()
      do throws(StoreError) {
        try send(statements, commit)
      } catch {
        engine.turn.give()
        throw error
      }
      engine.noteTables(madeTables)
      // Before the cache: a read that begins now must not use a standby without this commit.
      engine.seen.note(commit)
      engine.cache.keep(known(with: own), as: commit)
      engine.turn.give()
      // Last: a watch begins a transaction, for which another thread may wait. By the primary: a standby may need time.
      ReadRoute.$usesPrimary.withValue(true) { engine.commits.note() }
    }

    /// The cache after the commit of changes: with the changes, or without their ranges if they are many.
    private func known(with own: Overlay) -> EntryCache {
      var known = entries.takeCache()
      let isLarge = own.byteCount > min(Self.appliedByteCount, engine.cacheLimit / 4)
      for (table, changes) in own.tables {
        guard let first = changes.blocks.first?.first, let last = changes.blocks.last?.last else { continue }
        if isLarge {
          known.removeOverlapping(table, from: Array(first.key), to: successor(of: last.key))
        } else {
          for block in changes.blocks { for change in block { known.apply(table, change.key, change.value) } }
        }
      }
      known.makeRoom(for: 0, limit: engine.cacheLimit)
      return known
    }

    /// Sends the last statements and the commit, and gives the connection back.
    private func send(_ statements: [PostgresStatement], _ commit: SharedCache.Commit) throws(StoreError) {
      do throws(PostgresError) {
        try connection.commit(statements)
      } catch {
        connection.rollBack()
        engine.cluster.pool.give(back: connection, isUsable: !error.isConnectionLost)
        guard error.isConnectionLost, !error.isUnsent, error.state != PostgresError.forked.state else {
          throw engine.cluster.storeError(error)
        }
        engine.cache.forget()
        // Throws unless the commit is found.
        return try CommitResolution(engine, commit).resolve(error)
      }
      engine.cluster.pool.give(back: connection)
    }

    func abort() {
      guard isOpen else { return }
      isOpen = false
      entries.readAhead?.end()
      connection.rollBack()
      engine.cluster.pool.give(back: connection)
      engine.turn.give()
    }
  }
#endif
