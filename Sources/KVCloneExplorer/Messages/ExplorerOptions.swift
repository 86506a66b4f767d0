public import KVClone

/// Options of an ``Explorer``.
public struct ExplorerOptions: Sendable {
  /// Whether requests may change the store: clone objects, roll back to snapshots, and create snapshots.
  public var allowsWrites = false

  /// The path below which a server mounts the explorer, such as `/explorer`; empty for the root.
  public var basePath = ""

  /// Names of the server that a `Host` header may have, with the port if it is not the scheme's own; nil accepts every
  /// name. A page of another site can lead a browser to a server on loopback under its own name (DNS rebinding), so a
  /// server without authentication of its own needs this list.
  public var allowedHosts: Set<String>?

  /// A secret that a first request carries as `?token=`, and all later requests as a cookie; nil without
  /// authentication, for a service that authenticates its users itself.
  public var token: String?

  /// The longest accepted body of a request, in bytes. Clients without authentication can make a server keep a body of
  /// this size for each connection.
  public var maximumBodySize = 64 << 10

  /// The longest accepted path with its query, in bytes.
  public var maximumTargetSize = 16 << 10

  /// The number of requests that are answered concurrently. Others wait, at most sixteen times as many. After
  /// ``requestTimeLimit`` they get 503.
  public var maximumConcurrentRequests = 64

  /// The number of concurrent live updates, each of which is a response that does not end.
  public var maximumOpenStreams = 256

  /// The time after which a page, such as a sort without an index, is cancelled with a message that names a remedy.
  public var requestTimeLimit = Duration.seconds(2)

  /// The time after which a change of the store, or the plan of a rollback, is cancelled. Jobs have no time limit.
  public var longRequestTimeLimit = Duration.seconds(60)

  /// Versions of the model to which the store could be migrated, from the earliest to the latest: the explorer shows
  /// their differences, and plans of the migrations.
  public var modelVersions: [ManagedObjectModel] = []

  /// Creates options for a read-only explorer without authentication.
  public init() {}
}
