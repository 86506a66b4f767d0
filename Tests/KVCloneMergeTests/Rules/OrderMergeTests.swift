import KVCloneMerge
import KVCloneTestSupport
import Testing

@Suite struct OrderMergeTests {
  private func merge(
    _ base: String, _ ours: String, _ theirs: String, _ result: String, _ side: MergeSide = .ours
  ) -> (list: String, isConflict: Bool) {
    let order = OrderMerge<Character>(
      oursBase: Array(base), ours: Array(ours), theirsBase: Array(base), theirs: Array(theirs), result: Set(result))
    return (String(order.merged(side)), order.isConflict)
  }

  @Test("M2: the order of the side that changed it is taken") func m2OrderOfTheChangedSide() {
    #expect(merge("abc", "abc", "cab", "abc") == ("cab", false))
    #expect(merge("abc", "cab", "abc", "abc") == ("cab", false))
    #expect(merge("abc", "cba", "cba", "abc") == ("cba", false))
  }

  @Test("M2: orders that were changed differently are one conflict") func m2OrderConflict() {
    #expect(merge("abc", "bac", "acb", "abc") == ("bac", true))
    #expect(merge("abc", "bac", "acb", "abc", .theirs) == ("acb", true))
  }

  @Test("M2: only members that all have count as reordered") func m2OrderOfCommonMembers() {
    #expect(merge("abc", "bac", "bc", "bc") == ("bc", false))
    #expect(merge("abcd", "bacd", "cbd", "bcd") == ("cbd", false))
  }

  @Test("M2: new members are behind their nearest predecessor, ours before theirs") func m2NewMembers() {
    #expect(merge("ab", "axb", "ayb", "abxy") == ("axyb", false))
    #expect(merge("ab", "xab", "yab", "abxy") == ("xyab", false))
    #expect(merge("ab", "axzb", "ba", "abxz") == ("baxz", false))
    #expect(merge("", "xy", "zw", "xyzw") == ("xyzw", false))
  }

  @Test("M2: a member that both added is where ours put it, and only once") func m2BothAdded() {
    #expect(merge("ab", "axb", "abx", "abx") == ("axb", false))
  }

  @Test("M2: a member that comes back is where the side with it has it") func m2ComesBack() {
    #expect(merge("abc", "ac", "cba", "abc") == ("cba", false))
    #expect(merge("abc", "ac", "abc", "abc") == ("abc", false))
  }

  @Test("M2: members that no list has come last") func m2MembersOfAnswers() {
    #expect(merge("ab", "ab", "ab", "abzq") == ("abqz", false))
  }

  @Test("M2, M17: random lists have each member once, keep each side's runs, and have symmetric conflicts")
  func m2RandomLists() {
    for seed in PropertySeeds.seeds {
      var random = SeededGenerator(seed: seed)
      for _ in 0..<2000 {
        let base = (0..<random.below(7)).map { $0 }
        func side(_ new: Int) -> [Int] {
          var list = base.filter { _ in !random.chance(in: 5) }
          if random.chance(in: 3) { list.shuffle(using: &random) }
          for member in new..<new + random.below(3) { list.insert(member, at: random.below(list.count + 1)) }
          return list
        }
        let (ours, theirs) = (side(10), side(random.chance(in: 3) ? 10 : 20))
        var result = Set(ours).intersection(theirs)
        result.formUnion(Set(ours).subtracting(base))
        result.formUnion(Set(theirs).subtracting(base))
        func order(_ ours: [Int], _ theirs: [Int]) -> OrderMerge<Int> {
          OrderMerge(oursBase: base, ours: ours, theirsBase: base, theirs: theirs, result: result)
        }
        let (one, other) = (order(ours, theirs), order(theirs, ours))
        #expect(one.isConflict == other.isConflict, "seed \(seed): \(base) \(ours) \(theirs)")
        let list = one.merged
        #expect(list.count == result.count && Set(list) == result, "seed \(seed): \(base) \(ours) \(theirs)")
        let common = result.intersection(base).intersection(ours).intersection(theirs)
        #expect(
          one.merged(.ours).filter(common.contains) == other.merged(.theirs).filter(common.contains),
          "seed \(seed): \(base) \(ours) \(theirs)")
        let alone = OrderMerge(
          oursBase: base, ours: base, theirsBase: base, theirs: theirs, result: Set(theirs))
        #expect(alone.merged == theirs, "seed \(seed): \(base) \(theirs)")
      }
    }
  }
}
