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
    /// Whether a commit was not sent, so that its outcome is known: nothing has changed.
    var isUnsent = false

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
      switch state {
      case Self.forked.state: StoreError(.forked, message)
      case ConnectFailure.unreadableAddress: StoreError(.io, message)
      default: StoreError(kind, "\(explanation): \(message)\(remedy)", underlyingError: self)
      }
    }

    private var kind: StoreError.Kind {
      switch state {
      case "55P03", "53300", "57P03", "40001", "40P01", ConnectFailure.noWriter: .busy
      case "53100": .diskFull
      case "25006": .readOnly
      case "3D000", "42P01", "3F000": .storeNotFound
      case "42703": .invalidStore
      case "XX001", "XX002": .corrupted
      default: .io
      }
    }

    private var explanation: String {
      if isConnectionLost { return "the connection to the database server was lost" }
      return switch state {
      case "": "the database server cannot be reached"
      case "28P01", "28000": "the database server refused the user"
      case ConnectFailure.certificate: "the encrypted connection to the database server failed"
      case ConnectFailure.noWriter: "no server of the address takes writes"
      default: "the database server reported an error (\(state))"
      }
    }

    private var remedy: String {
      switch state {
      case "28P01", "28000": "; check the user, the password (.pgpass or a service file) and pg_hba.conf"
      case "3D000": "; create the database, or check its name"
      case "42P01", "3F000": "; run `kvclone cluster install`"
      case "42703": "; the tables are not those of this library: use the library that installed the schema kvclone"
      case "42501":
        "; grant the user usage of the schema kvclone and its tables, and for `kvclone cluster install` the privilege "
          + "CREATE on the database"
      case "53100": "; free disk space on the database server"
      case "53200": "; give the database server more memory, or change less in one transaction"
      case "53300": "; raise max_connections, or lower PostgresOptions.connections"
      case "40001":
        "; try again. If a standby cancels reads often, set hot_standby_feedback = on there, or raise its "
          + "max_standby_streaming_delay"
      case "55P03": "; another writer holds the store; wait for its end, or raise the timeout"
      case "25006": "; connect to the primary (target_session_attrs=read-write)"
      case "57014": "; repeat the call, and raise statement_timeout for the user if it caused this"
      case "25P03": "; repeat the call, with shorter transactions or a higher PostgresOptions.writerIdleLimit"
      case "57P01", "57P02", "57P03": "; repeat the call when the database server runs again"
      case "40P01": "; repeat the call"
      case "58P01", "58030": "; check the disk of the database server"
      case "XX001", "XX002": "; check the database by pg_amcheck, and restore a backup of the server"
      case ConnectFailure.certificate:
        "; check sslmode and sslrootcert of the address, and the dates and names of the server's certificate"
      case ConnectFailure.noWriter: "; repeat the call after the failover, or check the hosts of the address"
      case "" where isConnectionLost: "; repeat the call, and check whether the database server runs"
      case "": "; check the address, and whether the server runs"
      default: isConnectionLost ? "; repeat the call" : "; see the log of the database server"
      }
    }
  }
#endif
