#if Postgres
  import KVCloneCore
  import KVCloneRecords

  /// An error of the server or of the connection, before it is known what it means for the store.
  struct PostgresError: Error {
    /// The five characters of SQLSTATE; empty if the connection failed.
    let state: String
    /// The server's message, which contains no keys or values: statements have parameters only.
    let message: String
    /// Whether the connection was lost, so that it is unknown what the server did.
    let isConnectionLost: Bool

    init(state: String, message: String, isConnectionLost: Bool) {
      self.state = state
      self.message = message.split(separator: "\n").first.map(String.init) ?? ""
      self.isConnectionLost = isConnectionLost
    }

    static let forked = PostgresError(
      state: "KV002",
      message: "this process is a fork of the one that created the cluster object; create another one in the child",
      isConnectionLost: true)

    /// The error for callers of the store.
    var storeError: StoreError {
      if state == Self.forked.state { return StoreError(.forked, message) }
      return described
    }

    private var described: StoreError {
      StoreError(kind, "\(explanation): \(message)\(remedy)", underlyingError: self)
    }

    private var kind: StoreError.Kind {
      switch state {
      case "55P03", "53300", "57P03", "40001", "40P01": .busy
      case "53100": .diskFull
      case "25006": .readOnly
      case "3D000", "42P01", "3F000": .storeNotFound
      default: .io
      }
    }

    private var explanation: String {
      if isConnectionLost { return "the connection to the database server was lost" }
      return switch state {
      case "": "the database server cannot be reached"
      case "28P01", "28000": "the database server refused the user"
      default: "the database server reported an error (\(state))"
      }
    }

    private var remedy: String {
      switch state {
      case "28P01", "28000": "; check the user, the password (.pgpass or a service file) and pg_hba.conf"
      case "3D000": "; create the database, or check its name"
      case "42P01", "3F000": "; run `kvclone cluster install`"
      case "42501": "; grant the user usage of the schema kvclone and its tables"
      case "53100": "; free disk space on the database server"
      case "53300": "; raise max_connections, or lower PostgresOptions.connections"
      case "55P03": "; another writer holds the store; wait for its end, or raise the timeout"
      case "25006": "; connect to the primary (target_session_attrs=read-write)"
      case "": "; check the address, and whether the server runs"
      default: ""
      }
    }
  }
#endif
