import KVClone
import KVCloneCore
import Synchronization

/// Clones that were requested with the form of a preview, and their undo.
struct CloneRun: Sendable {
  /// The keys of the `userInfo` of automatic snapshots.
  static let keyName = "explorer-key"
  static let changeName = "explorer-change"

  private let context: PageContext
  private let key: String

  init(_ context: PageContext) throws {
    guard context.options.allowsWrites else {
      throw ExplorerError(.readOnly, "the explorer does not change this store; start it with writes allowed")
    }
    guard let key = context.form["key"], (1...ChangeKey.maximumLength).contains(key.utf8.count) else {
      throw ExplorerError(.badRequest, "the form has no idempotency key; open the preview again")
    }
    self.context = context
    self.key = key
  }

  private var store: ObjectStore { context.store }

  /// Clones once for the key, and leads to the page of the result.
  func clone() async throws -> Route.Reply {
    let reader = ClonePreviewReader(context: context)
    let form = try CloneForm(context.form)
    let id = try await reader.object(includesDeleted: true)
    do {
      try await clone(id, try reader.snapshot(), form.options, reader.planDeadline)
    } catch let error as CloneError where context.format == .html {
      return .page(ClonePage(try await reader.content(form), failure: error))
    }
    return .redirect(context.link(try reader.path() + ["result"], [("key", key)]))
  }

  private func clone(
    _ id: ObjectID, _ source: Snapshot?, _ options: CloneOptions, _ deadline: ContinuousClock.Instant
  ) async throws {
    var options = options
    options.idempotencyKey = key
    let before = try await snapshot(of: id, source, options, deadline)
    let made = CloneRecords.of(store)
    let key = key
    options.didClone = { _, _, clone in made.insert(clone, key) }
    do {
      let result =
        if let source {
          try await store.clone([id], from: source, options: options)
        } else {
          try await store.clone([id], options: options)
        }
      if result.isRepeated, let before { try await store.deleteSnapshot(named: before.name) }
      // Otherwise the undo could delete objects of other transactions.
      if !result.isRepeated, let span = made.clones(key)?.span, span != UInt64(result.objectCount) { made.remove(key) }
    } catch {
      if try CloneResult.stored(for: key, in: store) == nil { made.remove(key) }
      if let before { try await store.deleteSnapshot(named: before.name) }
      throw error
    }
  }

  /// Creates the automatic snapshot before a clone; returns nil if the clone changes at most one object.
  ///
  /// - Throws: the first error of the plan.
  private func snapshot(
    of id: ObjectID, _ source: Snapshot?, _ options: CloneOptions, _ deadline: ContinuousClock.Instant
  ) async throws -> Snapshot? {
    var window = CloneTree.Window()
    window.nodeLimit = 1
    window.depthLimit = 0
    if try CloneResult.stored(for: key, in: store) != nil { return nil }
    let plan = try ClonePreview.of([id], in: store, from: source, options: options, window: window, deadline: deadline)
      .plan
    if let error = plan?.errors.first { throw error }
    if let plan, plan.objectCount + plan.affectedObjectCount <= 1 { return nil }
    return try await automaticSnapshot("clone")
  }

  private func automaticSnapshot(_ change: String) async throws -> Snapshot {
    try await store.createAutomaticSnapshot(userInfo: [Self.keyName: key, Self.changeName: change])
  }

  /// Deletes exactly the objects that the clone of the key created, and leads to the page of the result.
  func undo() async throws -> Route.Reply {
    let path = try ClonePreviewReader(context: context).path() + ["result"]
    guard let made = CloneRecords.of(store).clones(key) else {
      throw ExplorerError(
        .notFound, "the explorer no longer has the list of this clone's objects; roll back to the snapshot before it")
    }
    let count = try await store.read { try made.count(in: $0) }
    if count > 0 {
      if count > 1 { _ = try await automaticSnapshot("undo of a clone") }
      _ = try await store.write(label: "undo of a clone") { try $0.delete(made) }
    }
    return .redirect(context.link(path, [("key", key)]))
  }
}

/// The objects of the latest clones that the explorer ran in this process, by idempotency key.
final class CloneRecords: Attachment {
  private static let limit = 200

  private struct State {
    var clones: [String: CreatedClones] = [:]
    /// The keys, oldest first.
    var keys: [String] = []
  }

  private let state = Mutex(State())

  static func of(_ store: ObjectStore) -> CloneRecords { store.schema.attachments.value(of: CloneRecords.self) }

  func insert(_ clone: ObjectID, _ key: String) {
    state.withLock { state in
      if state.clones[key] == nil {
        state.keys.append(key)
        if state.keys.count > Self.limit { state.clones[state.keys.removeFirst()] = nil }
      }
      state.clones[key, default: CreatedClones()].insert(clone)
    }
  }

  func remove(_ key: String) {
    state.withLock { state in
      state.clones[key] = nil
      state.keys.removeAll { $0 == key }
    }
  }

  func clones(_ key: String) -> CreatedClones? { state.withLock { $0.clones[key] } }
}
