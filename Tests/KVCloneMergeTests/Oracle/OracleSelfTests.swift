import Testing

/// The oracle against properties that every merge has.
@Suite("Merge oracle")
struct OracleSelfTests {
  @Test("M1, M17: with one changed side the oracle gives that side, and both directions have the same conflicts")
  func properties() {
    let first = UInt64.random(in: 0 ... .max)
    for offset in 0..<500 {
      let history = OracleHistory(seed: first &+ UInt64(offset))
      let (base, ours, theirs) = (history.base, history.ours, history.theirs)
      let label = Comment(rawValue: "seed \(history.seed)")
      let kept = DictionaryMerge(base: base, ours: ours, theirs: base)
      #expect(kept.conflicts.isEmpty && kept.result.difference(to: ours) == nil, label)
      let roles = history.model.entities.flatMap { $0.attributes.map(\.role) + $0.relationships.map(\.role) }
      guard !roles.contains(where: { $0 == .skip || $0?.side != nil }) else { continue }
      let taken = DictionaryMerge(base: base, ours: base, theirs: theirs)
      #expect(taken.conflicts.isEmpty && taken.result.difference(to: theirs) == nil, label)
      let one = DictionaryMerge(base: base, ours: ours, theirs: theirs, options: DictionaryOptions(policy: .ours))
      let two = DictionaryMerge(base: base, ours: theirs, theirs: ours, options: DictionaryOptions(policy: .theirs))
      #expect(Set(one.conflicts.keys.map(\.exchanged)) == Set(two.conflicts.keys), label)
      if one.united.isEmpty { #expect(one.result.difference(to: two.result, isOrdered: false) == nil, label) }
    }
  }
}
