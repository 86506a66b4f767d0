import KVClone

/// The URLs of an object and its parts, at the state of the page.
struct ObjectLinks: Sendable {
  private let context: PageContext
  private let entity: String
  private let serial: String

  init(_ name: DisplayName, _ context: PageContext) {
    self.context = context
    entity = name.entity
    serial = String(name.serial)
  }

  var object: String { page([]) }
  var raw: String { page(["raw"]) }
  var history: String { page(["history"]) }
  var model: String { context.link(modelOf: entity) }
  var grid: String { context.link(["entities", entity]) }
  var clone: String { context.link(["clone", entity, serial]) }
  var graph: String { context.link(["graph", entity, serial]) }

  func blob(_ attribute: String, isDownload: Bool = false) -> String {
    page(["blob", attribute], [("download", isDownload ? "1" : nil)])
  }

  func text(_ attribute: String, offset: UInt64 = 0, line: Int = 1) -> String {
    page(
      ["text", attribute],
      [("offset", offset == 0 ? nil : String(offset)), ("line", line == 1 ? nil : String(line))])
  }

  func bytes(_ attribute: String, offset: UInt64 = 0) -> String {
    page(["bytes", attribute], [("offset", offset == 0 ? nil : String(offset))])
  }

  func members(_ link: LinkFacts, from cursor: MemberCursor? = nil) -> String {
    page(
      link.isIncoming ? ["referrers", link.declaringEntity, link.description.name] : ["members", link.title],
      [("after", cursor?.text)])
  }

  func rawPage(offset: Int) -> String { page(["raw"], [("offset", offset == 0 ? nil : String(offset))]) }

  func history(before commit: UInt64) -> String { page(["history"], [("before", String(commit))]) }

  /// This object compared with a snapshot.
  func comparison(from snapshot: String) -> String {
    context.link(["compare", entity, serial], [("from", snapshot), ("to", context.snapshotName), ("at", nil)])
  }

  private func page(_ rest: [String], _ items: [(name: String, value: String?)] = []) -> String {
    context.link(["objects", entity, serial] + rest, items)
  }
}
