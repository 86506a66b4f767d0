#if Postgres
  import CKVClonePostgres
  import Glibc
  import KVCloneLMDB
  import Synchronization

  /// Counts the round trips of connections.
  final class RoundTrips: Sendable {
    private let value = Atomic(0)

    var count: Int { value.load(ordering: .relaxed) }

    func add() { value.add(1, ordering: .relaxed) }
  }

  /// One connection to the server, used by one thread at a time.
  ///
  /// It stays in libpq's pipeline mode: statements that do not depend on each other's results are sent together and
  /// take one round trip. A statement that is sent often is parsed once per connection.
  final class PostgresConnection: @unchecked Sendable {
    let handle: OpaquePointer
    private let roundTrips: RoundTrips
    /// The names of the prepared statements, by their texts.
    private var prepared: [String: String] = [:]
    private var nameCount = 0
    private let warnings = Warnings()
    /// The answers that the server sends next, in this order.
    private var expected: [Expected] = []
    /// The COPY that runs on its own thread. Everything else waits for its end.
    var runningCopy: RunningCopy?
    /// Whether the connection can only be closed.
    private(set) var isBroken = false
    /// Whether the connection was opened for its present use, and was not idle before.
    var isNew = true
    /// The thread that took the connection out of the pool.
    var holder = pthread_self()
    /// The time after which the connection waits for no answer any more, and is lost.
    var deadline: ContinuousClock.Instant?
    /// The time after which the connection is lost if the server neither sends nor takes a byte; nil for no limit.
    var responseTimeout: Duration?
    /// The time until which a statement can wait for a lock, during which the server is silent.
    var lockDeadline: ContinuousClock.Instant?
    private var hasTimedOut = false
    private let forkGuard: ForkGuard

    /// Counts the warnings of the server, which libpq reports by a callback.
    private final class Warnings {
      var count = 0
    }

    /// Statements with more bytes of parameters are sent before the next one is queued.
    private static let queueLimit = 1 << 16

    private enum Expected {
      case preparation(String)
      case statement
    }

    /// Session settings: lookups by key and scans in key order are the only good plans, also for a table without
    /// statistics. A join by hashes would read all entries of a store to delete one.
    private static let settings = [
      "SET enable_seqscan = off", "SET enable_bitmapscan = off", "SET enable_sort = off",
      "SET enable_hashjoin = off", "SET enable_mergejoin = off",
      "SET plan_cache_mode = force_generic_plan", "SET client_min_messages = warning",
      "SET default_transaction_isolation = 'read committed'",
      lostClients,
    ]

    /// The idle limit of a writer does not apply while only a part of its statements has arrived. Then the server has
    /// to notice by TCP that the client's machine is gone. Values of the server's configuration have precedence.
    private static let lostClients = """
      SELECT set_config(name, value, false) FROM (VALUES ('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5'), \
      ('tcp_keepalives_count', '3'), ('tcp_user_timeout', '30000')) AS v (name, value) \
      WHERE (SELECT reset_val FROM pg_catalog.pg_settings s WHERE s.name = v.name) = '0'
      """

    /// Parameters without which a network that drops packets blocks a call for minutes or forever.
    static let timeouts = [
      "connect_timeout": "5", "tcp_user_timeout": "30000", "keepalives_idle": "10", "keepalives_interval": "5",
      "keepalives_count": "3",
    ]

    /// Connects to a server.
    ///
    /// - Parameters:
    ///   - address: a URL or a list of keywords and values, as libpq takes them. It overrides ``timeouts``.
    ///   - sessionAttributes: replaces `target_session_attrs` of the address, unless nil.
    ///   - deadline: the first value of ``deadline``.
    init(
      _ address: String, sessionAttributes: String? = nil, _ roundTrips: RoundTrips, _ forkGuard: ForkGuard,
      until deadline: ContinuousClock.Instant
    ) throws(PostgresError) {
      self.roundTrips = roundTrips
      self.forkGuard = forkGuard
      self.deadline = deadline
      guard let handle = Self.connect(address, sessionAttributes) else {
        throw PostgresError(state: "", message: "out of memory", isConnectionLost: false)
      }
      self.handle = handle
      guard PQstatus(handle) == CONNECTION_OK else {
        throw ConnectFailure.error(String(cString: PQerrorMessage(handle)), address)
      }
      // Notices would go to the standard error output of the program.
      PQsetNoticeReceiver(
        handle,
        { context, result in
          guard let context, let result,
            let severity = PQresultErrorField(result, kvclone_pg_field_severity()),
            String(cString: severity) == "WARNING"
          else { return }
          Unmanaged<Warnings>.fromOpaque(context).takeUnretainedValue().count += 1
        }, Unmanaged.passUnretained(warnings).toOpaque())
      guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else { throw lost() }
      _ = try run(Self.settings.map { PostgresStatement($0, isPrepared: false) })
    }

    /// The settings of the server that decide whether a commit survives.
    func durability() throws(PostgresError) -> (synchronousCommit: String, standbyNames: String) {
      let rows = try run(
        "SELECT current_setting('synchronous_commit'), current_setting('synchronous_standby_names')")
      return (rows.text(0, 0), rows.text(0, 1))
    }

    deinit {
      // The end of the session is the parent's: a forked child closes its descriptor only, and leaks the rest.
      if forkGuard.isForked { Glibc.close(PQsocket(handle)) } else { PQfinish(handle) }
    }

    /// The process id of the server's process.
    var serverProcess: Int32 { PQbackendPID(handle) }

    private static func connect(_ address: String, _ sessionAttributes: String?) -> OpaquePointer? {
      var parameters = timeouts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
      if namesService(address) { parameters = [] }
      if getenv("PGCONNECT_TIMEOUT") != nil { parameters.removeAll { $0.0 == "connect_timeout" } }
      // A later value replaces an earlier one, and the address is expanded.
      parameters.append(("dbname", address))
      if let sessionAttributes { parameters.append(("target_session_attrs", sessionAttributes)) }
      let keywords = parameters.map { strdup($0.0) }
      let values = parameters.map { strdup($0.1) }
      defer { for text in keywords + values { free(text) } }
      return PQconnectdbParams(
        keywords.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 1)
    }

    /// Whether a service file contributes parameters: libpq reads it last, and only for those that have no value yet.
    private static func namesService(_ address: String) -> Bool {
      if getenv("PGSERVICE") != nil { return true }
      guard let list = PQconninfoParse(address, nil) else { return false }
      defer { PQconninfoFree(list) }
      return value(of: "service", list) != nil
    }

    static func value(of keyword: String, _ list: UnsafeMutablePointer<PQconninfoOption>) -> String? {
      var place = list
      while let name = place.pointee.keyword {
        if String(cString: name) == keyword { return place.pointee.val.map { String(cString: $0) } }
        place += 1
      }
      return nil
    }

    /// The value of a connection parameter that is in use.
    func parameter(_ keyword: String) -> String? {
      guard let list = PQconninfo(handle) else { return nil }
      defer { PQconninfoFree(list) }
      return Self.value(of: keyword, list)
    }

    /// Sends statements together, and returns their results in one round trip.
    ///
    /// - Throws: the first error. The server skips the statements behind it.
    func run(_ statements: [PostgresStatement]) throws(PostgresError) -> [PostgresRows] {
      try drain()
      try queue(statements)
      roundTrips.add()
      return try results()
    }

    /// Runs one statement.
    func run(_ text: String, _ values: [PostgresValue] = []) throws(PostgresError) -> PostgresRows {
      try run([PostgresStatement(text, values)])[0]
    }

    /// Sends statements, and does not wait: the next use of the connection reads their results and ignores errors.
    func send(_ statements: [PostgresStatement]) {
      do throws(PostgresError) {
        do throws(PostgresError) { try drain() } catch  where !error.isConnectionLost {
          // A refused COPY: the transaction is ended anyway.
        }
        try queue(statements)
      } catch {
        isBroken = true
      }
    }

    /// Waits for the end of a COPY that runs on its thread.
    ///
    /// - Throws: its error, once.
    private func finishCopy() throws(PostgresError) {
      guard let running = runningCopy else { return }
      runningCopy = nil
      running.isDone.wait()
      if let failure = running.failure { throw failure }
    }

    /// Runs `body` outside of the pipeline mode, for commands that it excludes.
    func leavingPipeline(_ body: (OpaquePointer) throws(PostgresError) -> Void) throws(PostgresError) {
      try readAnswers()
      guard PQexitPipelineMode(handle) == 1 else { throw lost() }
      roundTrips.add()
      do throws(PostgresError) {
        try body(handle)
      } catch {
        if !isBroken, PQenterPipelineMode(handle) != 1 { isBroken = true }
        throw error
      }
      guard PQenterPipelineMode(handle) == 1 else { throw lost() }
    }

    /// Frees a result after a test of its status.
    ///
    /// - Throws: the error in the result.
    @discardableResult
    func check(_ result: OpaquePointer?, _ status: ExecStatusType) throws(PostgresError) -> Bool {
      guard let result else { throw lost() }
      defer { PQclear(result) }
      if PQresultStatus(result) == status { return true }
      throw error(of: result)
    }

    /// Ends the open transaction without waiting.
    func rollBack() { send([PostgresStatement("ROLLBACK", isPrepared: false)]) }

    /// Commits the open transaction.
    ///
    /// - Throws: an error with `isConnectionLost` if the outcome is unknown.
    func commit(_ statements: [PostgresStatement]) throws(PostgresError) {
      do throws(PostgresError) {
        try drain()
      } catch {
        var unsent = error
        unsent.isUnsent = true
        throw unsent
      }
      let warningCount = warnings.count
      let results = try run(statements + [PostgresStatement("COMMIT", isPrepared: false)])
      // A commit that was cancelled while it waited for a standby answers COMMIT, with a warning.
      if warnings.count > warningCount {
        throw PostgresError(
          state: "01000", message: "the commit was not confirmed by the standby", isConnectionLost: true)
      }
      // An aborted transaction answers ROLLBACK, without an error.
      guard results.last?.tag == "COMMIT" else {
        throw PostgresError(state: "25P02", message: "the server rolled the transaction back", isConnectionLost: false)
      }
    }

    func drain() throws(PostgresError) {
      if forkGuard.isForked {
        isBroken = true
        throw PostgresError.forked
      }
      try finishCopy()
      try readAnswers()
    }

    /// Reads the results of statements that were sent without waiting.
    private func readAnswers() throws(PostgresError) {
      if isBroken { throw lost() }
      if expected.isEmpty { return }
      do throws(PostgresError) {
        _ = try results()
      } catch  where !error.isConnectionLost {
        // An abort of a transaction that the server has ended already.
      }
    }

    private func queue(_ statements: [PostgresStatement]) throws(PostgresError) {
      for statement in statements {
        guard try isSent(statement) else { throw lost() }
        expected.append(.statement)
        // The queue has one large statement at a time.
        if statement.byteCount > Self.queueLimit { try flush() }
      }
      guard PQpipelineSync(handle) == 1 else { throw lost() }
      try flush()
    }

    private func isSent(_ statement: PostgresStatement) throws(PostgresError) -> Bool {
      let count = Int32(statement.values.count)
      var lengths: [Int32] = []
      var formats: [Int32] = []
      var offsets: [Int] = []
      var bytes: [UInt8] = []
      for value in statement.values {
        lengths.append(Int32(value.bytes.count))
        formats.append(1)
        if statement.values.count > 1 || value.bytes.isEmpty {
          offsets.append(bytes.count)
          bytes.append(contentsOf: value.bytes)
          // libpq takes a null pointer for a null value; an empty one needs an address.
          bytes.append(0)
        } else {
          offsets.append(0)
          bytes = value.bytes
        }
      }
      let name = try preparedName(statement)
      return bytes.withUnsafeBytes { bytes in
        let pointers = offsets.map { offset in
          bytes.baseAddress.map { ($0 + offset).assumingMemoryBound(to: CChar.self) as UnsafePointer<CChar>? } ?? nil
        }
        if let name {
          return PQsendQueryPrepared(handle, name, count, pointers, lengths, formats, 1) == 1
        }
        return PQsendQueryParams(
          handle, statement.text, count, statement.values.map(\.type), pointers, lengths, formats, 1) == 1
      }
    }

    /// Returns the name of a statement that the server has parsed, or nil if it is sent as text.
    private func preparedName(_ statement: PostgresStatement) throws(PostgresError) -> String? {
      guard statement.isPrepared else { return nil }
      if let name = prepared[statement.text] { return name }
      nameCount += 1
      let name = "kvclone\(nameCount)"
      guard
        PQsendPrepare(handle, name, statement.text, Int32(statement.values.count), statement.values.map(\.type)) == 1
      else { throw lost() }
      prepared[statement.text] = name
      expected.append(.preparation(statement.text))
      return name
    }

    /// Reads the results of everything that was sent.
    private func results() throws(PostgresError) -> [PostgresRows] {
      var found: [PostgresRows] = []
      var failure: PostgresError?
      defer { expected = [] }
      for expected in expected {
        guard let result = nextResult() else { throw lost(failure) }
        switch (expected, PQresultStatus(result)) {
        case (.statement, PGRES_TUPLES_OK), (.statement, PGRES_COMMAND_OK): found.append(PostgresRows(result))
        case (.preparation, PGRES_COMMAND_OK): PQclear(result)
        default:
          // The server skips what follows an error, so the statement is parsed again with its next use.
          if case .preparation(let text) = expected { prepared[text] = nil }
          if PQresultStatus(result) != PGRES_PIPELINE_ABORTED { failure = failure ?? error(of: result) }
          PQclear(result)
        }
        // Nil separates the results of statements.
        while let extra = nextResult() { PQclear(extra) }
      }
      guard let sync = nextResult() else { throw lost(failure) }
      if PQresultStatus(sync) != PGRES_PIPELINE_SYNC {
        // A fatal error between statements, for example of a server that was shut down while the connection was idle.
        failure = failure ?? error(of: sync)
        isBroken = true
      }
      PQclear(sync)
      if isBroken || PQstatus(handle) == CONNECTION_BAD { throw lost(failure) }
      if let failure { throw failure }
      return found
    }

    private func error(of result: OpaquePointer) -> PostgresError {
      let state = PQresultErrorField(result, kvclone_pg_field_sqlstate()).map { String(cString: $0) } ?? ""
      let message =
        PQresultErrorField(result, kvclone_pg_field_message()).map { String(cString: $0) }
        ?? String(cString: PQresultErrorMessage(result))
      // The server closes the connection after a fatal error, which libpq notices with the next read.
      let severity = PQresultErrorField(result, kvclone_pg_field_severity()).map { String(cString: $0) }
      if severity == "FATAL" || severity == "PANIC" { isBroken = true }
      return PostgresError(
        state: state, message: message,
        isConnectionLost: isBroken || state.isEmpty || PQstatus(handle) == CONNECTION_BAD)
    }

    /// Marks the connection as lost: the server was silent for too long.
    func noteTimeout() {
      isBroken = true
      hasTimedOut = true
    }

    func lost(_ failure: PostgresError? = nil) -> PostgresError {
      isBroken = true
      return PostgresError(
        state: failure?.state ?? "",
        message: failure?.message
          ?? (hasTimedOut ? "the server did not answer in time" : String(cString: PQerrorMessage(handle))),
        isConnectionLost: true)
    }
  }
#endif
