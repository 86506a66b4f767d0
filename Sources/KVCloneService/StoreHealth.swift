#if Service
  /// What a supervisor wants to know of a store: whether to restart the process, and whether to send it work.
  public struct StoreHealth: Sendable, Hashable {
    /// Whether the store can be read. Where it cannot, a restart may help; a readable store never asks for one.
    public var isLive: Bool
    /// Whether the service takes work: it runs, is not being stopped, and nobody holds the write lock for too long.
    public var isReady: Bool
    /// Why it is not live or not ready, a line each, without names or values of objects; empty where it is both.
    public var problems: [String]
  }
#endif
