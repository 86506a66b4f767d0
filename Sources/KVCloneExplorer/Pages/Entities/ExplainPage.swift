import KVClone
import KVCloneCore

/// The query plan of a grid.
struct ExplainPage: Page {
  let query: GridQuery
  let plan: [String]
  let advice: String?

  static func read(_ context: PageContext) async throws -> ExplainPage {
    let query = try GridQuery(context)
    if let problem = query.problem { throw problem.error }
    var request = query.request
    request.fetchLimit = query.limit
    let planned = request
    let plan = try await context.read { tx in try tx.explain(planned) }
    let isSlow = plan.contains { $0.hasPrefix("sort by ") || $0.hasPrefix("scan all objects") }
    let hasIndexAdvice = isSlow && (query.predicate != nil || !query.sort.isEmpty)
    return ExplainPage(
      query: query, plan: plan, advice: hasIndexAdvice ? IndexAdvice.text(query, in: context.model) : nil)
  }

  var title: String { "Query plan of \(query.entity.name)" }
  var section: PageSection { .entities }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    let items = context.query.items.filter { $0.name != "at" }.map { ($0.name, Optional($0.value)) }
    return [
      ("Entities", context.link([])), (query.entity.name, context.link(["entities", query.entity.name], items)),
    ]
  }

  func html(_ context: PageContext) -> HTML {
    let facts: [(name: String, value: HTML)] = [
      ("Predicate", query.predicateText.isEmpty ? "none" : Components.code(query.predicateText)),
      ("Order", query.sort.isEmpty ? "by id" : Components.code(GridSort.text(query.sort))),
    ]
    return Components.definitions(facts) + Self.content(plan, advice)
  }

  /// The steps of a plan, and the index that would help.
  static func content(_ plan: [String], _ advice: String?) -> HTML {
    var html: HTML = "<ol class=\"lines\">"
    for line in plan { html += "<li>\(Components.code(Excerpt.beginning(of: line, 1000)))</li>" }
    return html + "</ol>\(advice.map { Components.notice($0) })"
  }

  func write(to json: inout JSONWriter) {
    json.member("entity", query.entity.name)
    json.member("steps", plan)
    json.nullable("advice", advice)
  }

  var table: PageTable { PageTable(columns: ["step"], rows: plan.map { [$0] }) }
}
