import KVClone

/// The form of a clone's options: a GET form, so that every choice has a URL.
struct CloneOptionsForm {
  private let content: ClonePreviewContent
  private let options: CloneOptions
  /// The relationships of the objects that would be cloned, with the rule of each.
  private let relationships: [(entity: String, name: String, rule: String)]

  init(_ content: ClonePreviewContent) {
    self.content = content
    options = content.form.options
    var found: [(entity: String, name: String, rule: String)] = []
    for branch in content.preview.plan?.branches ?? [] {
      found.append((branch.entity, branch.relationship, branch.rule))
    }
    var seen = Set(found.map { "\($0.entity).\($0.name)" })
    for node in content.preview.tree.nodes {
      for edge in node.edges where seen.insert("\(node.entity).\(edge.relationship)").inserted {
        found.append((node.entity, edge.relationship, edge.rule))
      }
    }
    relationships = found
  }

  func html(_ context: PageContext) -> HTML {
    let isChanged = !content.form.items.isEmpty
    var fields: HTML = "<input type=\"hidden\" name=\"form\" value=\"1\">"
    fields += Components.select(
      "State to clone", name: "from",
      options: [("", "present")] + snapshots(context).map { ($0, "snapshot \($0)") },
      selected: context.snapshotName ?? "")
    fields += excluded + rules + values + limits + keys
    let reset: HTML? = isChanged ? Components.link("Reset", context.link(content.path)) : nil
    let form: HTML = """
      <form class="stack" method="get" action="\(context.target(content.path))">\
      \(Components.hidden(context.branchItems))\(fields)\
      <p>\(Components.button("Show the plan", "primary")) \(reset)</p></form>
      """
    return Components.details("Options", form, isOpen: isChanged || (content.preview.plan?.errorCount ?? 0) > 0)
  }

  private func snapshots(_ context: PageContext) -> [String] {
    guard let name = context.snapshotName, !content.snapshots.contains(name) else { return content.snapshots }
    return [name] + content.snapshots
  }

  /// Fields side by side.
  private func row(_ fields: [HTML]) -> HTML { "<div class=\"row\">\(fields)</div>" }

  private var excluded: HTML {
    var names: [String] = []
    for relationship in relationships where !names.contains(relationship.name) { names.append(relationship.name) }
    for name in content.form.excluded where !names.contains(name) { names.append(name) }
    if names.isEmpty { return .empty }
    return Components.checkboxes(
      "Exclude", name: "exclude",
      options: names.map { (value: $0, title: Components.code($0), isChecked: content.form.excluded.contains($0)) })
      + Components.checkboxes(
        "Exclusions", name: "passing",
        options: [("1", "apply to all levels, not only to the root", options.passingExclusionList)])
  }

  private var rules: HTML {
    let given = content.form.rules
    var names = relationships.map { item in
      let name = "\(item.entity).\(item.name)"
      return (name: name, hint: given[name] == nil ? item.rule : "the rule of the model")
    }
    for name in content.form.rules.keys.sorted() where !names.contains(where: { $0.name == name }) {
      names.append((name, "the rule of the model"))
    }
    if names.isEmpty { return .empty }
    let selects = names.map { item in
      Components.select(
        item.name, name: CloneForm.rulePrefix + item.name,
        options: [
          ("", item.hint), ("follow", "follow: clone the targets"), ("reference", "reference: share the targets"),
          ("skip", "skip: no link"),
        ], selected: content.form.rules[item.name]?.rawValue ?? "")
    }
    return Components.details("Rules", row(selects), isOpen: !content.form.rules.isEmpty)
  }

  private var values: HTML {
    row([
      Components.field("Copies", name: "count", value: "\(options.count)", type: "number"),
      Components.select(
        "Links between cloned objects", name: "references",
        options: [("remap", "refer to the clones"), ("keep", "refer to the originals")],
        selected: options.references == .remap ? "remap" : "keep"),
      Components.select(
        "Blobs", name: "blobs", options: [("share", "share"), ("copy", "copy")],
        selected: options.blobs == .share ? "share" : "copy"),
      Components.checkboxes(
        "Provenance", name: "provenance",
        options: [("1", "record the source of each clone", options.recordsProvenance)]),
      Components.checkboxes(
        "Draft", name: "keeps-base",
        options: [("1", "keep the base, to merge the clone back", options.keepsBase)]),
    ])
  }

  private var limits: HTML {
    let fields = [
      ("objects", options.maxObjects.map(String.init)), ("depth", options.maxDepth.map(String.init)),
      ("bytes", options.maxBytes.map(String.init)),
    ].map { name, limit in
      Components.field(
        "Maximum \(name)", name: "max-\(name)", value: limit ?? "", type: "number", hint: "no limit if empty")
    }
    return row(fields)
  }

  private var keys: HTML {
    let standard = CloneUserInfoKeys.standard
    let fields = CloneUserInfoKeys.roles.map { role, path in
      let key = options.userInfoKeys[keyPath: path]
      return Components.field(
        "Key of \(role)", name: "key-\(role)", value: key == standard[keyPath: path] ? "" : key,
        placeholder: standard[keyPath: path], isMonospaced: true)
    }
    return Components.details(
      "Keys of the userInfo", row(fields), isOpen: options.userInfoKeys != standard)
  }
}
