import KVClone
import KVCloneCore

/// The content of a clone's preview, as read from the store.
struct ClonePreviewContent: Sendable {
  var root: DisplayName
  /// The path of the page: of the objects' entity as in the URL.
  var path: [String]
  var form: CloneForm
  var preview: ClonePreview
  var names: [ObjectID: DisplayName]
  /// The object at the top of the tree, if it is not the root.
  var top: DisplayName?
  /// The only listed relationship of the top.
  var list: String?
  /// The latest snapshots, to clone from.
  var snapshots: [String]
  /// The names of the objects that gain links.
  var affected: [String]

  func name(_ id: ObjectID, _ entity: String) -> DisplayName {
    names[id] ?? DisplayName(entity: entity, serial: id.serial)
  }
}

/// Reads the preview of a clone for a request.
struct ClonePreviewReader: Sendable {
  private static let snapshotLimit = 100

  let context: PageContext

  /// The segments of the path of the page.
  func path() throws -> [String] { ["clone", try context.parameter("entity"), try context.parameter("serial")] }

  /// Returns the object to clone.
  ///
  /// - Parameter includesDeleted: also returns an object that was deleted.
  /// - Throws: `objectNotFound`.
  func object(includesDeleted: Bool = false) async throws -> ObjectID {
    let name = "\(try context.parameter("entity"))/\(try context.parameter("serial"))"
    return try await context.read { transaction in
      do throws(StoreError) {
        return try transaction.objectID(named: name)
      } catch {
        if includesDeleted, let id = transaction.objectID(ofDeleted: name) { return id }
        throw error
      }
    }
  }

  /// The snapshot to clone from; nil for the present state.
  func snapshot() throws -> Snapshot? {
    guard let name = context.snapshotName else { return nil }
    if name == StateName.base {
      throw ExplorerError(
        .badRequest, "a branch cannot clone from its base, which is a state of the store; clone on the store or branch")
    }
    return try context.store.snapshot(named: name)
  }

  /// The end of the planning. The rest of the time is for reading names.
  var planDeadline: ContinuousClock.Instant { .now + context.options.requestTimeLimit * 3 / 4 }

  /// Reads the preview for options.
  func content(_ form: CloneForm) async throws -> ClonePreviewContent {
    let id = try await object()
    var window = CloneTree.Window()
    if let name = context.query["open"] {
      window.top = try await context.read { try $0.objectID(named: name) }
      window.relationship = context.query["list"]
      if window.relationship != nil, let after = context.query["after"] {
        window.after = try await context.read { try $0.objectID(named: after) }
      }
    }
    let topEntity = context.query["open"].map { String($0.prefix { $0 != "/" }) } ?? ""
    let preview = try ClonePreview.of(
      [id], in: context.store, from: try snapshot(), options: form.options, window: window, deadline: planDeadline)
    let ids = Self.objects(of: preview)
    let (root, names) = try await context.read { transaction in
      // A snapshot may have another model than the store.
      let model = transaction._withSession { session in session.schema.model }
      var names: [ObjectID: DisplayName] = [:]
      for other in ids where try transaction.exists(other) {
        names[other] = try DisplayName.read(other, in: model, transaction)
      }
      return (try DisplayName.read(id, in: model, transaction), names)
    }
    let affected = preview.plan?.affectedObjectIDs ?? []
    let affectedNames = try await context.store.read { tx in try affected.map { try tx.nameOfAny($0) } }
    let top = window.top == id ? nil : window.top
    return ClonePreviewContent(
      root: root, path: try path(), form: form, preview: preview, names: names,
      top: top.map { top in names[top] ?? DisplayName(entity: topEntity, serial: top.serial) },
      list: window.relationship,
      snapshots: try context.store.snapshots().suffix(Self.snapshotLimit).reversed().map(\.name),
      affected: affectedNames)
  }

  /// The objects that the page names.
  private static func objects(of preview: ClonePreview) -> Set<ObjectID> {
    var ids = Set(preview.gains.map(\.object))
    for node in preview.tree.nodes {
      ids.insert(node.object)
      for edge in node.edges { for link in edge.links { ids.insert(link.target) } }
    }
    return ids
  }
}
