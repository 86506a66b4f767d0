import KVClone

/// The states that have an object, for a page that did not find it.
struct ObjectStates: Sendable {
  /// The number of snapshots that are searched, the newest ones.
  private static let snapshotLimit = 10

  private let object: ObjectName
  /// Whether the present has the object, and the page showed a snapshot.
  private let isPresent: Bool
  /// Newest first.
  let snapshots: [String]

  /// Returns nil if no other state has the object, or if the time of the request is over.
  init?(of object: ObjectName, _ context: PageContext) {
    let store = context.store
    self.object = object
    isPresent = context.snapshotName != nil && (try? store.read { try $0.objectID(named: object.text) }) != nil
    var found: [String] = []
    let newest = ((try? store.snapshots()) ?? []).suffix(Self.snapshotLimit).reversed()
    for name in newest.map(\.name) where name != context.snapshotName {
      if context.deadline.isOver || Task.isCancelled { return nil }
      let id = try? store.snapshot(named: name).read { try $0.objectID(named: object.text) }
      if id != nil { found.append(name) }
    }
    snapshots = found
    if !isPresent, found.isEmpty { return nil }
  }

  /// Links to the object in the states.
  func html(_ context: PageContext) -> HTML {
    let states = (isPresent ? [nil] : []) + snapshots.map { Optional($0) }
    let path = ["objects"] + object.segments
    let items = states.map { name in
      "<li>\(Components.link(name ?? "present", context.link(path, [("at", name)])))</li>" as HTML
    }
    return "<p>Other states have the object:</p><ul>\(items)</ul>"
  }
}
