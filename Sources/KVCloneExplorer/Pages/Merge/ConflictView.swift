import KVClone
import KVCloneCore
import KVCloneMerge

/// A conflict of a plan: the values side by side, and the choices of its answer.
struct ConflictView {
  private let content: MergeContent
  private let item: MergeContent.Conflict
  private let context: PageContext

  /// The number of members of a list up to which a page can answer with an order.
  private static let maximumOrder = 200

  private var conflict: ObjectConflict { item.conflict }
  private var sides: (ours: String, theirs: String) { content.target.sides }

  init(_ item: MergeContent.Conflict, _ content: MergeContent, _ context: PageContext) {
    (self.item, self.content, self.context) = (item, content, context)
  }

  /// - Parameter number: of the conflict in its form.
  func html(_ number: Int) -> HTML {
    let state = item.answer == nil ? Components.badge("open", "bad") : Components.badge("answered", "good")
    let object = ObjectName(entity: conflict.entity, serial: conflict.id.serial)
    let property: HTML? = conflict.property.map { ".\(Components.code($0))" }
    let link = Components.link(object.text, context.link(["objects"] + object.segments, items(of: shownSide)))
    return """
      <h3>\(link)\(property) \(Components.badge(Self.title(conflict.kind), "warning")) \(state)</h3>\
      <p>\(explanation)</p>\(table(object))\(choices(number))
      """
  }

  /// The object with the property.
  private var place: String { conflict.property.map { "\(conflict.object).\($0)" } ?? conflict.object }

  /// The side that has the object.
  private var shownSide: MergeSide { conflict.kind == .deletedOurs ? .theirs : .ours }

  private func items(of side: MergeSide) -> [(name: String, value: String?)] {
    content.states.items(context, of: side == .ours ? content.states.ours : content.states.theirs)
  }

  // MARK: Text

  static func title(_ kind: ObjectConflict.Kind) -> String {
    switch kind {
    case .bothChanged: "both changed"
    case .order: "order"
    case .inverseTaken: "partner taken"
    case .deletedOurs, .deletedTheirs: "deleted and changed"
    case .takenAlong: "deleted along"
    case .notUnique: "not unique"
    }
  }

  private var explanation: HTML {
    let (ours, theirs) = sides
    let other: HTML = item.other.map { Components.code($0) } ?? "another object"
    return switch conflict.kind {
    case .bothChanged: "Both sides changed the value differently."
    case .order: "Both sides changed the order of the list differently."
    case .inverseTaken: "The sides gave the object different partners, and it can have only one."
    case .deletedOurs: "\(ours) deleted the object, and \(theirs) changed it."
    case .deletedTheirs: "\(theirs) deleted the object, and \(ours) changed it."
    case .takenAlong:
      "\(conflict.side == .theirs ? theirs : ours) deleted \(other), and a delete rule would also delete this object."
    case .notUnique: "Both sides have an object with the same unique values; \(other) is the other one."
    }
  }

  /// The meaning of the answers `ours` and `theirs`.
  private func meaning(_ side: MergeSide) -> String {
    let name = content.target.title(of: side)
    return switch (conflict.kind, side) {
    case (.bothChanged, _): "the value of \(name)"
    case (.order, _): "the order of \(name)"
    case (.inverseTaken, _): "the partner of \(name)"
    case (.deletedOurs, .ours), (.deletedTheirs, .theirs): "deleted, as in \(name)"
    case (.deletedOurs, _), (.deletedTheirs, _): "kept, as in \(name)"
    case (.takenAlong, _) where side == conflict.side: "deleted along, as in \(name)"
    case (.takenAlong, _): "kept without the link, as in \(name)"
    case (.notUnique, _): "united, with the values of \(name) where both have some"
    }
  }

  // MARK: Values

  private func table(_ object: ObjectName) -> HTML {
    var rows: [(name: HTML, values: [HTML?])] = []
    if let values = item.values {
      rows.append((Components.code(values.name), MergeValues(values, conflict.id, object, content, context).cells))
    }
    if conflict.oursChange != nil || conflict.theirsChange != nil {
      rows.append(("Last change", ["", Self.change(conflict.oursChange), Self.change(conflict.theirsChange)]))
    }
    if rows.isEmpty { return .empty }
    return Components.comparison(
      "Values of \(object.text)",
      states: [("base", ""), ("ours: \(sides.ours)", "ours"), ("theirs: \(sides.theirs)", "theirs")], rows: rows)
  }

  private static func change(_ change: ObjectChange?) -> HTML {
    guard let change else { return Components.muted("unknown") }
    let author: HTML? = change.author.isEmpty ? nil : " by \(Excerpt.beginning(of: change.author, 80))"
    let time: HTML? = change.date.map { ", \(Components.time($0.timeText))" }
    return "commit \(Components.number(Int(clamping: change.commit)))\(author)\(time)"
  }

  // MARK: Choices

  private func choices(_ number: Int) -> HTML {
    let given = content.form.answer(for: conflict)
    let schema = context.store.schema
    var selected = AnswerChoice.none
    switch given {
    case nil, .refuse?: break
    case .side(let side)?: selected = side.rawValue
    case .attribute(nil)?, .object(nil)?: selected = AnswerChoice.empty
    default: selected = AnswerChoice.value
    }
    var options: [(value: String, title: HTML)] = [(AnswerChoice.none, given == nil ? none : "no answer")]
    for side in MergeSide.allCases { options.append((side.rawValue, "\(side.rawValue): \(meaning(side))")) }
    let hasValue = takesValue
    if hasValue, conflict.kind != .order, isOptional(schema) { options.append((AnswerChoice.empty, "nil")) }
    if hasValue || selected == AnswerChoice.value { options.append((AnswerChoice.value, "the value below")) }
    let text = AnswerChoice.text(given ?? proposal, schema)
    return Components.hidden([("conflict.\(number)", AnswerText.text(conflict))])
      + Components.radios(
        "Answer for \(place)", name: "choice.\(number)",
        options: options.map { (value: $0.value, title: $0.title, isChecked: $0.value == selected) })
      + (hasValue ? field(number, text) : .empty)
  }

  /// The title of the choice without an answer of the form.
  private var none: HTML {
    guard case .side(let side)? = item.answer else { return "no answer" }
    return "by the rules: \(side.rawValue)"
  }

  private func field(_ number: Int, _ text: String) -> HTML {
    let hint =
      switch conflict.kind {
      case .order: "all members in their order, separated by spaces"
      case .inverseTaken: "an object, such as \(conflict.object)"
      default:
        AnswerChoice.attribute(of: conflict, context.store.schema).map { "\($0.type.rawValue), as in a dump" }
          ?? "an object, such as \(conflict.object)"
      }
    return Components.field(
      "Value of \(place)", name: "value.\(number)", value: text, hint: hint, isMonospaced: true,
      // A field of one line would remove line breaks of an answer that the page was opened with.
      hasLines: AnswerChoice.attribute(of: conflict, context.store.schema)?.type == .string)
  }

  /// Whether the kind of the conflict takes a value that a text can give.
  private var takesValue: Bool {
    switch (conflict.kind, conflict.ours) {
    case (.bothChanged, .attribute(let value)?):
      switch value ?? .boolean(true) {
      case .blob, .composite, .transformable: false
      default: true
      }
    case (.bothChanged, _), (.inverseTaken, _): true
    case (.order, .members(let ids)?): ids.count <= Self.maximumOrder
    default: false
    }
  }

  /// A list starts with the order of ours.
  private var proposal: ConflictAnswer? {
    if conflict.kind == .order, case .members(let ids)? = conflict.ours { .order(ids) } else { nil }
  }

  private func isOptional(_ schema: Schema) -> Bool {
    if let attribute = AnswerChoice.attribute(of: conflict, schema) { return attribute.isOptional }
    guard let property = conflict.property else { return false }
    return schema.model.relationship(property, of: conflict.entity)?.isOptional ?? true
  }
}

/// The values of a property in the states of a merge.
struct MergeValues {
  private let values: MergeContent.Values
  private let object: ObjectName
  /// The object in theirs: a clone, or the object itself.
  private let other: ObjectName
  private let content: MergeContent
  private let context: PageContext

  init(
    _ values: MergeContent.Values, _ id: ObjectID, _ object: ObjectName, _ content: MergeContent,
    _ context: PageContext
  ) {
    (self.values, self.object, self.content, self.context) = (values, object, content, context)
    other = ObjectName(entity: object.entity, serial: content.states.clones[id]?.serial ?? object.serial)
  }

  /// Base, ours, theirs, and the result if the plan has one. In texts, what differs from the base is marked.
  var cells: [HTML?] {
    let states = content.states
    var cells = [
      cell(values.base, object, states.base), cell(values.ours, object, states.ours),
      cell(values.theirs, other, states.theirs),
    ]
    if let result = values.result {
      let isOurs = values.isResultOfOurs
      cells.append(cell(result, isOurs ? object : other, isOurs ? states.ours : states.theirs, isMerged: true))
    }
    return cells
  }

  /// - Parameter state: nil for the base of a draft, which no page shows.
  private func cell(
    _ side: ObjectComparison.Side, _ object: ObjectName, _ state: StoreState?, isMerged: Bool = false
  ) -> HTML? {
    if case .bytes(let count, _) = side, state == nil { return Components.bytes(count) }
    let shown = state ?? content.states.ours
    var view = ComparedValue(
      object: object, property: values.name, state: shown.title, items: content.states.items(context, of: shown))
    view.hasMembers = state != nil && !isMerged
    return view.html(side, marked(side), context)
  }

  private func marked(_ side: ObjectComparison.Side) -> HTML? {
    guard case .text(let text) = side, case .text(let base) = values.base, text != base else { return nil }
    return TextDifference(from: base, to: text).newHTML
  }
}
