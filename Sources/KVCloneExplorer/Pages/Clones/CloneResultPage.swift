import KVClone
import KVCloneCore

/// The result of a clone that the explorer ran, with links to the clones, and its undo.
struct CloneResultPage: Page {
  /// The name of the source, which may no longer exist.
  let source: String
  let path: [String]
  let key: String
  let result: CloneResult
  let roots: [DisplayName]
  let deleted: [String]
  let affected: [String]
  /// Whether the objects of the clone are known, to delete them.
  let isKnown: Bool
  /// The number of objects of the clone that still exist; nil if they are not known, or too many to count for a page.
  let remaining: Int?
  /// The automatic snapshots before the clone and before its undo, if they still exist.
  let snapshots: [SnapshotInfo]

  /// The number of listed clones.
  private static let rootLimit = 100

  static func read(_ context: PageContext) async throws -> CloneResultPage {
    let store = context.store
    let reader = ClonePreviewReader(context: context)
    let path = try reader.path()
    guard let key = context.query["key"], let result = try CloneResult.stored(for: key, in: store) else {
      throw ExplorerError(.notFound, "no clone has this idempotency key; open the preview of the object again")
    }
    let made = CloneRecords.of(store).clones(key)
    let model = store.model
    var remaining: Int?
    if let made { remaining = try await count(made, context) }
    let known = remaining
    let page = try await BoundedReader(store: store, deadline: context.deadline).read(at: nil) { transaction in
      var roots: [DisplayName] = []
      for id in result.roots.prefix(rootLimit) where try transaction.exists(id) {
        roots.append(try DisplayName.read(id, in: model, transaction))
      }
      return CloneResultPage(
        source: "\(path[1])/\(path[2])", path: path, key: key, result: result, roots: roots,
        deleted: try result.deletedRoots.map { try transaction.nameOfAny($0) },
        affected: try result.affectedObjectIDs.map { try transaction.nameOfAny($0) },
        isKnown: made != nil, remaining: known,
        snapshots: try store.snapshots().filter { $0.userInfo[CloneRun.keyName] == key })
    }
    return page
  }

  /// Counts the objects of a clone that exist; nil if that takes more than half of the time of the request.
  private static func count(_ clones: CreatedClones, _ context: PageContext) async throws -> Int? {
    let half = BoundedReader(store: context.store, deadline: Deadline(after: context.options.requestTimeLimit / 2))
    do {
      return try await half.read(at: nil) { transaction in try clones.count(in: transaction) }
    } catch let error as ExplorerError where error.kind == .timeLimit {
      return nil
    }
  }

  var title: String { "Clone of \(source)" }

  var section: PageSection { .entities }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    [("Entities", context.link([])), ("Preview", context.link(path))]
  }

  func html(_ context: PageContext) -> HTML {
    var html = HTML.empty
    if roots.isEmpty {
      html += Components.notice("The clone no longer exists.")
    } else {
      html += Components.notice(
        "Cloned \(Text.count(result.objectCount, "object")) in \(Text.seconds(result.duration.inSeconds)).")
      let items = roots.map { root -> HTML in
        "<li><a class=\"object\" href=\"\(context.link(root.path, [("at", nil)]))\">\(root.title)</a> \(Components.code(root.id))</li>"
      }
      html += Components.section(roots.count == 1 ? "The clone" : "The clones", "<ul>\(items)</ul>")
    }
    html += Components.figures([
      ("Objects", Components.number(result.objectCount)), ("Written", Components.bytes(result.bytesWritten)),
      ("Blobs copied", Components.bytes(result.bytesCopied)), ("Blobs shared", Components.bytes(result.bytesShared)),
      ("Other objects changed", Components.number(result.affectedObjectCount)),
    ])
    let counts = result.counts.sorted { $0.key < $1.key }.map { entity, count -> [HTML] in
      [Components.code(entity), Components.number(count)]
    }
    html += Components.table("Objects by entity", columns: [("Entity", false), ("Objects", true)], rows: counts)
    return html + undo(context)
  }

  /// The ways to undo the clone, and their effects.
  private func undo(_ context: PageContext) -> HTML {
    guard context.options.allowsWrites else { return .empty }
    var html = HTML.empty
    if isKnown, remaining != 0 {
      let objects = remaining.map { Text.count($0, "object") } ?? "the objects"
      let number: HTML = remaining.map { "\(Components.number($0)) " } ?? .empty
      html += """
        <form class="stack" method="post" action="\(context.link(path + ["undo"]))">\(Components.hidden([("key", key)]))\
        <p>Deletes exactly the \(number)objects of the clone that still exist, and the links to them. Other objects \
        and later changes remain.\(remaining == 1 ? nil : " An automatic snapshot is created first." as HTML)</p>\
        \(Components.button("Delete \(objects)", "danger"))</form>
        """
    }
    for snapshot in snapshots {
      let change = snapshot.userInfo[CloneRun.changeName] ?? "change"
      let target = context.link(["rollback", snapshot.name], [("at", nil)])
      html += """
        <p>\(Components.link("Roll back the whole store to the snapshot before the \(change)", target)) – this also \
        undoes all later changes of the store. The plan is shown first.</p>
        """
    }
    if html.isEmpty, remaining != 0, !roots.isEmpty {
      html = """
        <p>The explorer no longer knows the objects of the clone, and the snapshot before it no longer exists. Delete \
        the objects with <code>kvclone delete</code>, or roll back to an earlier snapshot of the \
        \(Components.link("list of snapshots", context.link(["time"], [("at", nil)]))).</p>
        """
    }
    return html.isEmpty ? html : Components.section("Undo", html)
  }

  func write(to json: inout JSONWriter) {
    json.cloneResult(result, roots: roots.map(\.id), touched: affected, deleted: deleted)
    json.nullable("remaining", remaining)
    json.member("snapshots", snapshots.map(\.name))
  }

  var table: PageTable {
    PageTable(
      columns: ["entity", "objects"], rows: result.counts.sorted { $0.key < $1.key }.map { [$0.key, "\($0.value)"] })
  }
}
