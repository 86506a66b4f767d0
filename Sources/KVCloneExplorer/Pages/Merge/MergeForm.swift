import KVClone
import KVCloneCore
import KVCloneMerge

/// The options of a merge in the query of a page, or in a form.
///
/// `policy` is a side, `rule` (`Entity.property=ours`) and `object` can occur several times, and so can `answer`: the
/// JSON of an `AnsweredConflict`. A form has the items `conflict.N`, `choice.N` and `value.N` for each conflict.
struct MergeForm: Sendable {
  private(set) var policy: MergeSide?
  private(set) var rules: [String: MergeRule] = [:]
  private(set) var answers: [AnsweredConflict] = []
  /// The names of the objects to publish; empty for all.
  private(set) var objects: [String] = []
  private(set) var keepsClones = false

  static let maximumObjects = 100
  private static let conflictPrefix = "conflict."

  /// - Throws: ``ExplorerError`` with `badRequest`; names of properties are checked by the plan.
  init(_ items: QueryItems, _ schema: Schema) throws(ExplorerError) {
    if let text = items["policy"].nonEmpty {
      guard let side = MergeSide(rawValue: text) else {
        throw ExplorerError(.badRequest, "policy is ours or theirs; correct it, or remove it")
      }
      policy = side
    }
    for text in items.all("rule").flatMap({ $0.split(whereSeparator: { $0.isWhitespace || $0 == "," }) }) {
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, let rule = MergeRule(rawValue: parts[1]) else {
        throw ExplorerError(
          .badRequest, "a rule is Entity.property=ours, =theirs, =sum, =max or =skip; correct it, or remove it")
      }
      rules[parts[0]] = rule
    }
    for name in items.all("object") where !name.isEmpty && !objects.contains(name) { objects.append(name) }
    guard objects.count <= Self.maximumObjects else {
      throw ExplorerError(
        .badRequest, "a page publishes at most \(Self.maximumObjects) objects; use `kvclone branch merge --only`")
    }
    keepsClones = items["keep"] == "1"
    for text in items.all("answer") where !text.isEmpty {
      answer(try AnswerText.decode(text, as: AnsweredConflict.self))
    }
    for item in items.items where item.name.hasPrefix(Self.conflictPrefix) {
      let number = item.name.dropFirst(Self.conflictPrefix.count)
      let conflict = try AnswerText.decode(item.value, as: ObjectConflict.self)
      let (choice, value) = (items["choice.\(number)"] ?? "", items["value.\(number)"] ?? "")
      let known = self.answer(for: conflict)
      remove(where: { $0.isSame(as: conflict) })
      if let given = try AnswerChoice.answer(conflict, choice, value, schema) {
        // A page shows signs for control characters, and a browser sends other line breaks.
        let isKnown = known.map { Escaping.lines(AnswerChoice.text($0, schema)) == value.withPlainLines } ?? false
        answer(AnsweredConflict(conflict, isKnown && choice == AnswerChoice.value ? known ?? given : given))
      }
    }
  }

  // MARK: Answers

  private mutating func answer(_ answered: AnsweredConflict) {
    remove(where: { $0.isSame(as: answered.conflict) })
    answers.append(answered)
  }

  /// Removes the answers for some conflicts, such as those that no longer fit.
  mutating func remove(where isRemoved: (ObjectConflict) -> Bool) { answers.removeAll { isRemoved($0.conflict) } }

  func answer(for conflict: ObjectConflict) -> ConflictAnswer? {
    answers.first { $0.conflict.isSame(as: conflict) }?.answer
  }

  var options: MergeOptions {
    var options = MergeOptions(policy: policy, rules: rules, answers: answers)
    options.keepsClones = keepsClones
    return options
  }

  /// The options as items of a query, without those that have their defaults.
  ///
  /// - Parameter isIncluded: the conflicts with answers that are included.
  func items(_ isIncluded: (ObjectConflict) -> Bool = { _ in true }) -> [(name: String, value: String)] {
    scope + answers.filter { isIncluded($0.conflict) }.map { ("answer", AnswerText.text($0)) }
      + (policy.map { [("policy", $0.rawValue)] } ?? [])
      + (rules.isEmpty ? [] : [("rule", rulesText)]) + (keepsClones ? [("keep", "1")] : [])
  }

  /// The chosen objects as items of a query.
  var scope: [(name: String, value: String)] { objects.map { ("object", $0) } }

  var rulesText: String { rules.sorted { $0.key < $1.key }.map { "\($0)=\($1.rawValue)" }.joined(separator: " ") }

  /// Returns the ids of the objects to publish; nil for all.
  func objects(of branch: String, _ context: PageContext) throws -> [ObjectID]? {
    if objects.isEmpty { return nil }
    let (names, store) = (objects, try context.root.branches.open(branch))
    return try StoreState.present.read(store) { transaction in
      try names.map { name in
        // An object that the branch deleted has an id, too.
        try transaction.objectID(ofDeleted: name) ?? transaction.objectID(named: name)
      }
    }
  }
}
