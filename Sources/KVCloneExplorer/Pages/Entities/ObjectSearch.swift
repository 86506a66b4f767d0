import KVClone
import KVCloneCore

/// Finds the page of an object by its id.
enum ObjectSearch {
  static func form(_ context: PageContext, value: String = "") -> HTML {
    let field = Components.field(
      "Find an object by its id", name: "id", value: value, type: "search", placeholder: "Note/12", isMonospaced: true)
    return """
      <form class="row" method="get" action="\(context.target(["find"]))" role="search" aria-label="Object">\
      \(Components.hidden(context.stateItems))\(field)\(Components.button("Find"))</form>
      """
  }

  /// Redirects to the page of an object, or of an entity.
  static func answer(_ context: PageContext) async throws -> Route.Reply {
    let text = String((context.query["id"] ?? "").trimmingPrefix(while: \.isWhitespace).prefix(1000))
      .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    if let entity = context.model.entity(named: text) {
      return .redirect(context.link(["entities", entity.name]))
    }
    do {
      let path = try await context.read { tx in
        let id = try tx.objectID(named: text)
        return DisplayName(entity: try tx.entityName(of: id), serial: id.serial).path
      }
      return .redirect(context.link(path))
    } catch let error as StoreError
      where [.objectNotFound, .invalidObjectName, .unknownEntity].contains(error.kind)
    {
      return .page(SearchPage(text, error, context))
    }
  }
}

/// The hints for an id that names no object.
struct SearchPage: Page {
  let text: String
  let reason: String
  /// The entity that the id names, and the serial.
  let entity: String?
  let serial: UInt64?
  /// The states that have the object, if it was not found in this one.
  let states: ObjectStates?
  /// Entities with similar names.
  let similar: [String]

  init(_ text: String, _ error: StoreError, _ context: PageContext) {
    self.text = text
    reason = text.isEmpty ? "no id was given; write Entity/serial, such as Note/12" : error.message
    let parts = text.split(separator: "/")
    // A URI has the store before the entity.
    let name = parts.count < 2 ? "" : String(text.hasPrefix("x-kvclone:") ? parts[parts.count - 2] : parts[0])
    entity = context.model.entity(named: name)?.name
    serial = parts.last.flatMap { UInt64($0.drop { $0 == "p" }) }
    if error.kind == .objectNotFound, let entity, let serial {
      states = ObjectStates(of: ObjectName(entity: entity, serial: serial), context)
    } else {
      states = nil
    }
    let wanted = (name.isEmpty ? text : name).lowercased()
    similar = context.model.entities.map(\.name).filter { candidate in
      !wanted.isEmpty && candidate != name
        && (candidate.lowercased().contains(wanted) || wanted.contains(candidate.lowercased()))
    }.sorted()
  }

  var title: String { "Object not found" }
  var section: PageSection { .entities }
  var status: Int { 404 }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] { [("Entities", context.link([]))] }

  func html(_ context: PageContext) -> HTML {
    var hints: [HTML] = []
    if let entity {
      if let serial, serial > 0, serial <= ObjectID.maximumSerial {
        let next = context.link(["entities", entity], [("after", "\(serial)")])
        hints.append(Components.link("Objects of \(entity) after this id", next))
      }
      hints.append(Components.link("All objects of \(entity)", context.link(["entities", entity])))
    }
    if context.snapshotName == nil, states == nil {
      hints.append(Components.link("Snapshots, which may contain a deleted object", context.link(["time"])))
    }
    for name in similar.prefix(10) { hints.append(Components.link(name, context.link(["entities", name]))) }
    return Components.notice(reason, "warning") + (states?.html(context) ?? .empty)
      + ObjectSearch.form(context, value: text)
      + Components.toolbar(hints, label: "Hints")
  }

  func write(to json: inout JSONWriter) {
    json.member("message", reason)
    json.nullable("entity", entity)
    json.member("similar", similar)
    if let states { json.member("snapshots", states.snapshots) }
  }

  var table: PageTable { PageTable(columns: ["message"], rows: [[reason]]) }
}
