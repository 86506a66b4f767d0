import KVClone

/// The counts and the rules of a plan by entity.
struct CloneRulesView {
  let plan: ClonePlan
  let root: DisplayName

  var html: HTML {
    if plan.counts.isEmpty { return .empty }
    let counts = plan.counts.sorted { $0.key < $1.key }.map { entity, count -> [HTML] in
      [Components.code(entity), Components.number(count)]
    }
    let table = Components.table(
      "Objects by entity", columns: [("Entity", false), ("Objects", true)], rows: counts)
    return Components.section("Entities", Components.columns([table, tree]))
  }

  /// The tree of entities, each expanded once.
  private var tree: HTML {
    var seen: Set<String> = []
    return Components.tree("Rules by entity", [node(root.entity, isRoot: true, "", &seen)])
  }

  private func node(_ entity: String, isRoot: Bool, _ label: HTML, _ seen: inout Set<String>) -> Components.TreeNode {
    let name: HTML = "\(label)\(Components.code(entity)) × \(Components.number(plan.counts[entity] ?? 0))"
    let branches = plan.branches.filter { $0.entity == entity }
    let differs = branches.contains { $0.rule != $0.rootRule }
    guard seen.insert(isRoot && differs ? "\(entity) as a root" : entity).inserted, seen.count <= 100 else {
      return Components.TreeNode("\(name) \(Components.muted("see above"))")
    }
    let names = Set(branches.map(\.relationship))
    var children = plan.rules.filter { $0.entity == entity && !names.contains($0.property) }.map { rule in
      Components.TreeNode("\(Components.code(rule.property)) \(Components.muted(rule.rule))")
    }
    for branch in branches {
      let action = isRoot ? branch.rootAction : branch.action
      let arrow = Components.code("\(branch.relationship) \(branch.isToMany ? "→→" : "→")")
      let rule: HTML = """
        \(arrow) \(Components.badge(action.text, action.kind)) \(Components.muted(isRoot ? branch.rootRule : branch.rule))
        """
      let cloned = action == .follow ? branch.destinations.filter { plan.counts[$0] != nil } : []
      var below: [Components.TreeNode] = []
      for destination in cloned { below.append(node(destination, isRoot: false, .empty, &seen)) }
      let others = branch.destinations.prefix(3).joined(separator: ", ") + (branch.destinations.count > 3 ? ", …" : "")
      children.append(Components.TreeNode(below.isEmpty ? "\(rule) \(others)" : rule, below))
    }
    return Components.TreeNode(name, children)
  }
}
