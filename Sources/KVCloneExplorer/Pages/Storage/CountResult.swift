import KVClone
import KVCloneCore

/// The result of counting all objects.
enum CountResult {
  /// - Parameter snapshot: nil for the present state, at the time of the count.
  static func html(_ counts: EntityCounts, _ snapshot: String?, _ context: PageContext) -> HTML {
    let state = snapshot.map { "the snapshot \($0)" } ?? "commit \(counts.commit)"
    let rows = names(counts).map { name -> [HTML] in
      [
        Components.link(name, context.link(["entities", name], [("at", snapshot)])), counts.total(of: name).html,
        counts.own(of: name).html,
      ]
    }
    return Components.table(
      "Objects in \(state)",
      columns: [
        Components.Column("Entity"), Components.Column("Objects", isNumeric: true),
        Components.Column("Without subentities", isNumeric: true),
      ], rows: rows)
      + Components.toolbar([Components.buttonLink("Entities", context.link([], [("at", snapshot)]))])
  }

  private static func names(_ counts: EntityCounts) -> [String] { counts.model.entities.map(\.name).sorted() }

  static func write(_ counts: EntityCounts, to json: inout JSONWriter) {
    json.member("commit", counts.commit)
    json.list("entities", names(counts)) { json, name in
      json.member("name", name)
      counts.total(of: name).write(to: &json, as: "objects")
      counts.own(of: name).write(to: &json, as: "ownObjects")
    }
  }

  static func table(_ counts: EntityCounts) -> PageTable {
    PageTable(
      columns: ["name", "objects", "ownObjects"],
      rows: names(counts).map { name in
        [name, counts.total(of: name).exact.map { "\($0)" }, counts.own(of: name).exact.map { "\($0)" }]
      })
  }
}
