import KVClone
import KVCloneCore

/// The members of a relationship that were added or removed between two states, in the order of their ids.
struct ChangedMembersPage: Page {
  enum Side: String, Sendable, CaseIterable { case added, removed }

  let object: ObjectName
  let relationship: String
  let side: Side
  let from: StoreState
  let to: StoreState
  let names: [ObjectName]
  /// The number of all members of the side.
  let count: Int
  let isFirst: Bool
  /// The last listed member, if others follow.
  let last: ObjectID?

  /// - Parameter name: of the relationship.
  static func read(_ name: String, _ context: PageContext) throws -> ChangedMembersPage {
    guard let side = context.query["side"].flatMap({ Side(rawValue: $0) }) else {
      throw ExplorerError(.badRequest, "side is not added or removed; correct it")
    }
    let object = try ObjectComparisonPage.object(context)
    let after = try ListPosition.parse(context.query["after"])
    let limit = try context.rowLimit()
    let store = context.store
    let (from, to) = (
      try StoreState(store, named: context.query["from"]), try StoreState(store, named: context.query["to"])
    )
    return try from.read(store) { old in
      try to.read(store) { new in
        let id = try ObjectComparison.id(object, old, new)
        let difference = try StoreState.difference(of: id, store, from: from, to: to)
        guard let change = difference?.relationships.first(where: { $0.name == name }) else {
          throw ExplorerError(.notFound, "the relationship has the same members in both states; choose another one")
        }
        let all = side == .added ? change.added : change.removed
        let rest = after.map { after in all.drop { $0 <= after } } ?? all[...]
        let shown = rest.prefix(limit)
        let names = try shown.map { try side == .added ? new.nameOfAny($0) : old.nameOfAny($0) }
        return ChangedMembersPage(
          object: object, relationship: name, side: side, from: from, to: to,
          names: names.compactMap { ObjectName($0) }, count: all.count, isFirst: after == nil,
          last: rest.count > shown.count ? shown.last : nil)
      }
    }
  }

  var title: String { "\(relationship) of \(object.text): \(side.rawValue)" }

  var section: PageSection { .time }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    [
      ("Time", context.link(["time"], [("at", nil)])),
      ("Changes from \(from.title) to \(to.title)", context.link(comparing: from.name, to.name)),
      (object.text, context.link(comparing: from.name, to.name, object: object)),
    ]
  }

  private func next(_ context: PageContext) -> String? {
    last.map { context.link(replacing: [("after", ListPosition.text($0))]) }
  }

  func html(_ context: PageContext) -> HTML {
    if names.isEmpty { return Components.empty("No member is on this page.") }
    let state = side == .added ? to : from
    let items = names.map { name -> HTML in
      "<li>\(Components.link(name.text, context.link(to: name, in: state.name)))</li>"
    }
    return "<ul class=\"members\">\(items)</ul>"
      + Components.pager(
        "\(Components.number(names.count)) of \(Components.number(count)) members",
        first: isFirst ? nil : context.link(replacing: [("after", nil)]), next: next(context))
  }

  func write(to json: inout JSONWriter) {
    json.nullable("from", from.name.nonEmpty)
    json.nullable("to", to.name.nonEmpty)
    json.member("object", object.text)
    json.member("relationship", relationship)
    json.member("side", side.rawValue)
    json.member("count", count)
    json.member("objects", names.map(\.text))
    json.nullable("next", last.map(ListPosition.text))
  }

  var table: PageTable { PageTable(columns: ["object"], rows: names.map { [$0.text] }) }
}
