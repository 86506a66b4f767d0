#if Service
  /// The health of a store for a supervisor: whether to restart the process, and whether to send it work.
  public struct StoreHealth: Sendable, Hashable {
    /// Whether the store can be read, or a restart of the process would not make it readable.
    public var isLive: Bool
    /// Whether the service accepts work: it is running, is not stopping, and no writer exceeds
    /// ``StoreServiceConfiguration/writerPatience``.
    public var isReady: Bool
    /// The reasons for not being live or ready, one per line, without names or values of objects; empty if it is both.
    public var problems: [String]
  }
#endif
