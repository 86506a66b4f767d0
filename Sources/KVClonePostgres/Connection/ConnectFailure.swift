#if Postgres
  import CKVClonePostgres

  /// Classifies failures to connect: libpq has no code for them, but a text, which names the reason.
  enum ConnectFailure {
    // States that the server does not use.

    /// The certificate of the server is not accepted, or encryption is not available.
    static let certificate = "KV003"
    /// No host of the address is a primary, for example during a failover.
    static let noWriter = "KV004"
    /// The address is malformed.
    static let unreadableAddress = "KV005"

    /// Parts of a message, with the state that each one means. The first match of a line counts.
    private static let states: [(part: String, state: String)] = [
      ("password authentication failed", "28P01"), ("no password supplied", "28P01"), ("pg_hba.conf", "28000"),
      ("authentication failed", "28000"), ("is not permitted to log in", "28000"),
      ("permission denied for database", "42501"), ("too many clients", "53300"),
      ("remaining connection slots", "53300"), ("too many connections for", "53300"),
      ("the database system is ", "57P03"), ("session is read-only", noWriter),
      ("server is in hot standby mode", noWriter), ("certificate", certificate), ("SSL error", certificate),
      ("does not support SSL", certificate), ("private key", certificate),
    ]

    static func error(_ message: String, _ address: String) -> PostgresError {
      if isMalformed(address) {
        // libpq quotes the malformed part, which can be a password.
        return PostgresError(
          state: unreadableAddress,
          message: "the address of the database cannot be parsed; use a URL (with % and @ in names and passwords as "
            + "%25 and %40) or keywords and values (with quoted spaces), and keep passwords in .pgpass",
          isConnectionLost: false)
      }
      // A line for each host, and for a second attempt without encryption. Those without a match are about hosts that
      // do not answer.
      for line in message.split(separator: "\n") {
        if let state = state(line) {
          return PostgresError(state: state, message: String(line), isConnectionLost: false)
        }
      }
      return PostgresError(state: "", message: message, isConnectionLost: false)
    }

    private static func state(_ line: Substring) -> String? {
      if let found = states.first(where: { line.contains($0.part) }) { return found.state }
      guard line.contains("does not exist") else { return nil }
      if line.contains("FATAL:  database \"") { return "3D000" }
      return line.contains("FATAL:  role \"") ? "28000" : nil
    }

    /// Whether libpq cannot read the address; a text without keywords is the name of a database.
    private static func isMalformed(_ address: String) -> Bool {
      let prefixes = ["postgresql://", "postgres://"]
      guard address.contains("=") || prefixes.contains(where: address.hasPrefix) else { return false }
      guard let list = PQconninfoParse(address, nil) else { return true }
      PQconninfoFree(list)
      return false
    }
  }
#endif
