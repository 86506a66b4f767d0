import KVClone
import KVCloneExplorer

/// A plan as a tree of entities: below an entity its attributes and relationships, with the rule for each, and below a
/// followed relationship the entity that it leads to.
///
/// Each entity is expanded once; later occurrences refer to it. The tree consists of entities instead of objects, so
/// its length depends on the model and not on the number of objects.
struct ClonePlanText {
  private static let width = 80
  private static let greatestLeft = 42
  private let plan: ClonePlan
  private let style: Style

  private struct Line {
    let trunk: String
    /// The indentation of following lines.
    let below: String
    let text: String
    let rule: String
  }

  /// A pending node.
  private struct Task {
    let text: String
    let rule: String
    /// The entity of the properties that follow.
    var entity: String?
    var isRoot = false
    var children: [Task] = []
  }

  private var lines: [Line] = []
  private var seen: Set<String> = []
  private let branchesByEntity: [String: [CloneBranch]]
  private let rulesByEntity: [String: [AppliedRule]]

  private init(_ plan: ClonePlan, _ style: Style) {
    self.plan = plan
    self.style = style
    branchesByEntity = Dictionary(grouping: plan.branches, by: \.entity)
    rulesByEntity = Dictionary(grouping: plan.rules, by: \.entity)
  }

  /// - Parameter roots: the names of the objects to clone, as `Note/1`.
  static func tree(_ plan: ClonePlan, roots: [String], _ style: Style) -> String {
    var text = ClonePlanText(plan, style)
    var entities: [String] = []
    for root in roots {
      let entity = String(root.prefix { $0 != "/" })
      if !entities.contains(entity) { entities.append(entity) }
    }
    for entity in entities where plan.counts[entity] != nil {
      let own = roots.filter { $0.prefix { $0 != "/" } == entity }
      let shown = own.prefix(3).joined(separator: " ") + (own.count > 3 ? " and \(own.count - 3) more" : "")
      text.walk(Task(text: shown, rule: "", entity: entity, isRoot: true))
    }
    return text.layout()
  }

  /// Depth first, with an explicit stack: a model may be any number of entities deep.
  private mutating func walk(_ root: Task) {
    lines.append(Line(trunk: "", below: "", text: style.bold(root.text), rule: ""))
    var stack: [(task: Task, trunk: String, isLast: Bool)] = []
    func push(_ tasks: [Task], below trunk: String) {
      for (index, task) in tasks.enumerated().reversed() { stack.append((task, trunk, index == tasks.count - 1)) }
    }
    push(children(of: root), below: "")
    while let (task, trunk, isLast) = stack.popLast() {
      let below = trunk + (isLast ? "  " : "│ ")
      let isRepeated = task.entity.map(seen.contains) ?? false
      let text = task.text + (isRepeated ? " (see above)" : "")
      lines.append(Line(trunk: trunk + (isLast ? "└ " : "├ "), below: below, text: text, rule: task.rule))
      if !isRepeated { push(children(of: task), below: below) }
    }
  }

  private mutating func children(of task: Task) -> [Task] {
    guard let entity = task.entity else { return task.children }
    let branches = branchesByEntity[entity] ?? []
    let differs = branches.contains { $0.rule != $0.rootRule }
    seen.insert(task.isRoot && differs ? entity + " as a root" : entity)
    let relationships = Set(branches.map(\.relationship))
    var tasks = (rulesByEntity[entity] ?? []).filter { !relationships.contains($0.property) }.map {
      Task(text: $0.property, rule: $0.rule)
    }
    for branch in branches { tasks.append(self.task(for: branch, isRoot: task.isRoot)) }
    return tasks
  }

  private func task(for branch: CloneBranch, isRoot: Bool) -> Task {
    let action = isRoot ? branch.rootAction : branch.action
    let rule = isRoot ? branch.rootRule : branch.rule
    let arrow = "\(branch.relationship) \(branch.isToMany ? "→→" : "→")"
    let cloned = branch.destinations.filter { plan.counts[$0] != nil }
    guard action == .follow, !cloned.isEmpty else {
      let names = branch.destinations.prefix(3).joined(separator: ", ") + (branch.destinations.count > 3 ? ", …" : "")
      return Task(text: "\(arrow) \(names)", rule: rule)
    }
    if cloned.count == 1 { return self.task(for: cloned[0], before: "\(arrow) ", rule) }
    var task = Task(text: arrow, rule: rule)
    task.children = cloned.map { self.task(for: $0, before: "", "") }
    return task
  }

  private func task(for entity: String, before: String, _ rule: String) -> Task {
    Task(text: "\(before)\(entity) × \(plan.counts[entity] ?? 0)", rule: rule, entity: entity)
  }

  /// Formats rules in a column of their own; below their subject if a line would be too long.
  private func layout() -> String {
    let lefts = lines.map { $0.rule.isEmpty ? 0 : $0.trunk.count + $0.text.count }
    let width = min(lefts.max() ?? 0, Self.greatestLeft)
    var text = ""
    for line in lines {
      let left = line.trunk + line.text
      if line.rule.isEmpty {
        text += left + "\n"
      } else if left.count <= width, width + 2 + line.rule.count <= Self.width {
        text += Text.padded(left, width + 2) + style.dim(line.rule) + "\n"
      } else {
        text += left + "\n" + line.below + "    " + style.dim(line.rule) + "\n"
      }
    }
    return text
  }
}
