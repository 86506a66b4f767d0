#if Explorer
  import Testing

  @testable import KVCloneTool

  @Suite("kvclone: memory of responses of explore")
  struct ResponseBudgetTests {
    @Test("long responses share a budget, and give it back when they end; short ones always fit")
    func budget() {
      let length = ResponseBudget.shortLength + 1
      let budget = ResponseBudget(limit: 2 * length)
      var held = [budget.reserve(length), budget.reserve(length)]
      #expect(held.allSatisfy { $0 != nil })
      #expect(budget.reserve(length) == nil && budget.reserve(ResponseBudget.shortLength) != nil)
      held.removeLast()
      let next = budget.reserve(length)
      #expect(next != nil && budget.reserve(length) == nil)
      held.removeAll()
      #expect(budget.reserve(length) != nil)
      withExtendedLifetime(next) {}
    }

    @Test("a response that is longer than the whole budget is refused")
    func tooLong() {
      #expect(ResponseBudget(limit: 1 << 20).reserve((1 << 20) + 1) == nil)
    }
  }
#endif
