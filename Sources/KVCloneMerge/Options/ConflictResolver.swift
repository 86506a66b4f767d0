import KVCloneModel

extension ObjectConflict {
  /// The answers that the conflict takes, in words.
  fileprivate var answers: String {
    if kind == .order { return "a side, or an order of all members" }
    return switch ours {
    case .attribute?: "a side, or a value of the attribute"
    case .object?: "a side, or an object"
    case .members?, nil: "a side only"
    }
  }
}

/// Finds the answers of conflicts, and keeps all conflicts of a plan with their answers.
struct ConflictResolver {
  private let closure: (@Sendable (ObjectConflict) throws -> ConflictAnswer?)?
  private let exchangesSides: Bool
  private var waiting: [ObjectConflict.Place: AnsweredConflict]
  let resolved: ConflictLog
  private var stale: [ObjectConflict] = []

  init(_ options: MergeOptions, _ log: ConflictLog) {
    resolved = log
    closure = options.resolve
    exchangesSides = options.exchangesSides
    waiting = Dictionary(options.answers.map { ($0.conflict.place, $0) }, uniquingKeysWith: { $1 })
  }

  /// Notes a conflict and returns its answer; nil if the merge has to be refused.
  ///
  /// - Parameter side: the side that the rules of the call and of the model prefer.
  /// - Throws: the error of the closure; `invalidAnswer`.
  mutating func answer(_ conflict: ObjectConflict, side: MergeSide?) throws -> ConflictAnswer? {
    guard exchangesSides else { return try answerOfCaller(conflict, side) }
    return try answerOfCaller(conflict.exchanged, side?.other)?.exchanged
  }

  private mutating func answerOfCaller(_ conflict: ObjectConflict, _ side: MergeSide?) throws -> ConflictAnswer? {
    var answer: ConflictAnswer?
    if let given = waiting.removeValue(forKey: conflict.place) {
      if given.conflict.fingerprint == conflict.fingerprint {
        answer = given.answer
      } else {
        stale.append(given.conflict)
      }
    }
    if answer == nil, let closure { answer = try closure(conflict) }
    if answer == nil { answer = side.map { .side($0) } }
    if answer == .refuse { answer = nil }
    if let answer { try check(answer, of: conflict) }
    try resolved.append(ResolvedConflict(conflict: conflict, answer: answer))
    return answer
  }

  /// Returns the conflicts with answers that no longer fit.
  func staleConflicts() -> [ObjectConflict] {
    (stale + waiting.values.map(\.conflict)).sorted { $0.place < $1.place }
  }

  private func check(_ answer: ConflictAnswer, of conflict: ObjectConflict) throws(MergeError) {
    let fits =
      switch answer {
      case .side, .refuse: true
      case .attribute: if case .attribute = conflict.ours { true } else { false }
      case .object: if case .object = conflict.ours { true } else { false }
      case .order: conflict.kind == .order
      }
    if !fits { throw conflict.invalidAnswer("this conflict takes \(conflict.answers)") }
  }
}
