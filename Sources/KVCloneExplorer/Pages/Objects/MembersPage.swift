import KVClone

/// A page of the members of a relationship, or of the objects that refer to an object.
struct MembersPage: Page {
  /// The number of members of a page.
  static let limit = 100

  var name: DisplayName
  var link: LinkFacts
  var links: ObjectLinks
  var cursor: MemberCursor?

  var title: String { "\(link.title) of \(name.title)" }
  var section: PageSection { .entities }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    ObjectPage.trail(name, context) + [(name.id, links.object)]
  }

  func html(_ context: PageContext) -> HTML {
    let first = (cursor?.ordinal ?? 0) + 1
    let model = AttributeText.separated(LinkTable.model(link), by: " · ")
    if link.members.isEmpty { return "<p>\(model)</p>" + Components.empty("No members after this position.") }
    let last = Components.number(first + link.members.count - 1)
    let summary: HTML = "\(Components.number(first)) to \(last) of \(LinkTable.count(link.count))"
    return "<p>\(model)</p>" + LinkTable.list(link.members, isOrdered: link.isOrderedList, first: first, context)
      + Components.pager(
        summary, first: cursor == nil ? nil : links.members(link), next: link.next.map { links.members(link, from: $0) }
      )
  }

  func write(to json: inout JSONWriter) {
    json.member("id", name.id)
    json.member("relationship", link.title)
    json.member("count", link.count.value)
    json.member("isLowerBound", link.count.isLowerBound)
    json.list("objects", link.members) { json, member in
      json.member("id", member.name.id)
      json.nullable("name", member.name.text)
      json.member("problem", member.problem)
    }
    json.nullable("next", link.next.map { links.members(link, from: $0) })
  }

  var table: PageTable {
    PageTable(columns: ["id", "name"], rows: link.members.map { [$0.name.id, $0.name.text] })
  }
}

extension MembersPage {
  static func ofRelationship(_ id: ObjectID, _ context: PageContext) async throws -> MembersPage {
    let name = try context.parameter("relationship")
    return try await read(id, context) { session in
      let record = try session.existingRecord(id)
      let entity = try session.schema.entity(of: record, id: id)
      let relationship = try entity.relationship(name)
      let (list, count) = MemberReader.list(of: relationship, id, entity, in: record, session)
      let facts = LinkFacts(
        title: name, declaringEntity: relationship.declaringEntity, description: relationship.description,
        isIncoming: false, count: MemberCount(value: count), members: [], next: nil)
      return (facts, list)
    }
  }

  static func ofReferrers(_ id: ObjectID, _ context: PageContext) async throws -> MembersPage {
    let entityName = try context.parameter("owner")
    let name = try context.parameter("relationship")
    return try await read(id, context) { session in
      let known = IncomingRelationship.all(to: try session.entity(of: id), in: session.schema)
      guard let relationship = known.first(where: { $0.entity == entityName && $0.description.name == name }) else {
        throw ExplorerError(.notFound, "no relationship \(entityName).\(name) without an inverse leads to this object")
      }
      let list = session.address(id, relationship.code)
      let facts = LinkFacts(
        title: relationship.title, declaringEntity: relationship.entity, description: relationship.description,
        isIncoming: true, count: try MemberReader.count(list, in: session), members: [], next: nil)
      return (facts, .chunks(list, isOrdered: false))
    }
  }

  private static func read(
    _ id: ObjectID, _ context: PageContext,
    _ find: @Sendable (borrowing Session) throws -> (facts: LinkFacts, list: MemberReader.List)
  ) async throws -> MembersPage {
    var cursor: MemberCursor?
    if let text = context.query["after"] {
      guard let parsed = MemberCursor(text) else {
        throw ExplorerError(.badRequest, "after is not the position of a member; go to the first page")
      }
      cursor = parsed
    }
    let start = cursor
    return try await context.read { transaction in
      let (found, page) = try transaction._withSession { session in
        let found = try find(session)
        return (found, try MemberReader.page(found.list, from: start, limit: limit, in: session))
      }
      var link = found.facts
      link.next = page.next
      link.members = MemberReader.names(of: page.ids, in: transaction)
      let model = transaction._withSession { session in session.schema.model }
      let name = try DisplayName.read(id, in: model, transaction)
      return MembersPage(name: name, link: link, links: ObjectLinks(name, context), cursor: start)
    }
  }
}
