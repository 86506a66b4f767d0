/// The numbers of what a run of histories has covered.
struct OracleTally: CustomStringConvertible {
  var histories = 0
  var merged = 0
  /// Merges with conflicts that have no answer.
  var open = 0
  /// Merges of which the result breaks a rule of the model.
  var broken = 0
  var conflicts: [DictionaryConflict.Kind: Int] = [:]
  var answers: [String: Int] = [:]

  mutating func note(_ merge: DictionaryMerge) {
    if merge.hasOpenConflicts { open += 1 } else if merge.broken.isEmpty { merged += 1 } else { broken += 1 }
    for (conflict, answer) in merge.conflicts {
      conflicts[conflict.kind, default: 0] += 1
      answers[answer?.name ?? "none", default: 0] += 1
    }
  }

  var description: String {
    func list(_ numbers: [String: Int]) -> String {
      numbers.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }
    let kinds = Dictionary(uniqueKeysWithValues: conflicts.map { ($0.key.rawValue, $0.value) })
    return "\(histories) histories in both directions: \(merged) merges, \(open) with open conflicts, \(broken) with "
      + "broken rules; conflicts: \(list(kinds)); answers: \(list(answers))"
  }
}

extension DictionaryAnswer {
  fileprivate var name: String {
    switch self {
    case .ours: "ours"
    case .theirs: "theirs"
    case .refuse: "refuse"
    case .value: "value"
    case .nothing: "nothing"
    }
  }
}
