import KVClone
import KVCloneMerge

/// Routes of an object, its values, its relationships and its raw record.
enum ObjectRoutes {
  static let all: [Route] = [
    object("") { id, context in .page(try await page(id, context)) },
    object("/members/:relationship") { id, context in .page(try await MembersPage.ofRelationship(id, context)) },
    object("/referrers/:owner/:relationship") { id, context in .page(try await MembersPage.ofReferrers(id, context)) },
    object("/text/:attribute") { id, context in .page(try await TextPage.read(id, context)) },
    object("/bytes/:attribute") { id, context in .page(try await BytesPage.read(id, context)) },
    object("/blob/:attribute") { id, context in .response(try await blob(id, context)) },
    object("/history") { id, context in .page(try await HistoryPage.read(id, context)) },
    // Not by `object`: the page also shows records that cannot be read.
    .get("/objects/:entity/:serial/raw") { context in
      let name = "\(try context.parameter("entity"))/\(try context.parameter("serial"))"
      return .page(try await RawPage.read(name, context))
    },
  ]

  /// A route below the page of an object. Other names of the object, such as those of its super-entities and its URI,
  /// redirect to the name of its concrete entity.
  private static func object(
    _ rest: String, _ answer: @escaping @Sendable (ObjectID, PageContext) async throws -> Route.Reply
  ) -> Route {
    .get("/objects/:entity/:serial" + rest) { context in
      let (entity, serial) = (try context.parameter("entity"), try context.parameter("serial"))
      let (id, name) = try await context.read { transaction in
        let id = try transaction.objectID(named: "\(entity)/\(serial)")
        return (id, try transaction.entityName(of: id))
      }
      if name != entity || String(id.serial) != serial { return .redirect(target(name, id.serial, context)) }
      return try await answer(id, context)
    }
  }

  /// The URL of the same page of an object under its own name.
  private static func target(_ entity: String, _ serial: UInt64, _ context: PageContext) -> String {
    let rest = context.request.path.split(separator: "/").dropFirst(3).map { "/\($0)" }.joined()
    let suffix = context.format == .html ? "" : context.format.suffix
    let query = context.query.items.isEmpty ? "" : "?\(context.query.text)"
    return "\(context.options.basePath)/objects/\(PathSegment.encode(entity))/\(serial)\(rest)\(suffix)\(query)"
  }

  private static func page(_ id: ObjectID, _ context: PageContext) async throws -> ObjectPage {
    let reader = context.format == .html ? ObjectReader() : ObjectPage.dataReader
    var page = try await context.read { transaction in
      let facts = try reader.read(id, in: transaction)
      let (snapshots, tracksHistory) = try transaction._withSession { session in
        let all = try Snapshots.all(session.storage, session.schema.tables).filter { !$0.value.isHidden }
        return (all.suffix(100).reversed().map(\.name), try HistoryWriter.start(in: session) != nil)
      }
      return ObjectPage(
        facts: facts, links: ObjectLinks(facts.name, context), snapshots: snapshots, tracksHistory: tracksHistory)
    }
    if context.snapshotName == nil {
      if page.facts.provenance != nil { page.isDraft = try context.store.drafts.isDraft(id) }
      page.branches = try context.root.branches.list().suffix(100).map(\.name)
    }
    return page
  }

  private static func blob(_ id: ObjectID, _ context: PageContext) async throws -> ExplorerResponse {
    let attribute = try context.parameter("attribute")
    let source = try await context.read { transaction in try ValueSource.find(attribute, of: id, in: transaction) }
    guard let source else {
      throw ExplorerError(.notFound, "the object has no value of \(attribute); see its attributes")
    }
    return try await BlobResponse(source, context).response()
  }
}
