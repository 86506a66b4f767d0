import KVCloneTestSupport

/// Decides whether a history is linearizable: the operations took effect one after the other, each between its call and
/// its return.
struct LinearizabilityChecker {
  private let events: [RegisterEvent]

  /// - Parameter events: the complete history; every register begins with 0.
  init(_ events: [RegisterEvent]) {
    self.events = events.sorted { $0.invoked < $1.invoked }
  }

  // MARK: Any order

  /// Searches, for each register, an order of the operations that agrees with their times and observed values, by Wing
  /// and Gong's algorithm with Lowe's memoization: no set of operations is tried twice with the same value.
  ///
  /// - Returns: the first register without an order, or nil.
  func registerWithoutOrder() -> Int? {
    Set(events.flatMap { Array($0.observed.keys) + Array($0.written.keys) }).sorted().first { register in
      var search = Search(
        events.compactMap { event in
          let (observed, written) = (event.observed[register], event.written[register])
          if observed == nil && written == nil { return nil }
          return Search.Step(
            invoked: event.invoked, returned: event.returned, observed: observed, written: written)
        })
      return !search.findsOrder()
    }
  }

  private struct Search {
    struct Step {
      let invoked: UInt64
      let returned: UInt64
      let observed: Int64?
      let written: Int64?
    }

    /// The remaining operations: all from `first` on, except for `done`.
    private struct Place: Hashable {
      var first = 0
      var done: Set<Int> = []
      var value: Int64 = 0
    }

    /// In the order of their calls.
    private let steps: [Step]
    private var tried: Set<Place> = []

    init(_ steps: [Step]) {
      self.steps = steps
    }

    mutating func findsOrder() -> Bool {
      var places = [afterReads(Place())]
      while let place = places.popLast() {
        if place.first == steps.count { return true }
        guard tried.insert(place).inserted else { continue }
        for index in candidates(place) where isPossible(steps[index], place) {
          places.append(afterReads(following(place, index)))
        }
      }
      return false
    }

    private func isPossible(_ step: Step, _ place: Place) -> Bool { step.observed ?? place.value == place.value }

    private func following(_ place: Place, _ index: Int) -> Place {
      var next = place
      next.value = steps[index].written ?? place.value
      next.done.insert(index)
      while next.done.remove(next.first) != nil { next.first += 1 }
      return next
    }

    /// Appends reads that can be next, which does not restrict the other operations.
    private func afterReads(_ place: Place) -> Place {
      var place = place
      while let read = candidates(place).first(where: { steps[$0].written == nil && isPossible(steps[$0], place) }) {
        place = following(place, read)
      }
      return place
    }

    /// Returns the operations that can be next, because they were called before any other remaining one returned. The
    /// one that returned first is the last of them, which is tried first.
    private func candidates(_ place: Place) -> [Int] {
      var candidates: [Int] = []
      var end = UInt64.max
      for index in place.first..<steps.count where !place.done.contains(index) {
        if steps[index].invoked > end { break }
        end = min(end, steps[index].returned)
        candidates.append(index)
      }
      return candidates.filter { steps[$0].invoked <= end }.sorted { steps[$0].returned > steps[$1].returned }
    }
  }

  // MARK: The order of the commits

  /// Checks that the order of the commit numbers is a valid order of all registers at once.
  ///
  /// - Returns: a contradiction, or nil.
  func contradiction() -> String? {
    contradictionOfValues() ?? contradictionOfTimes()
  }

  private func contradictionOfValues() -> String? {
    // A read follows the commit that it observed.
    let ordered = events.sorted { ($0.commit, $0.written.isEmpty ? 1 : 0) < ($1.commit, $1.written.isEmpty ? 1 : 0) }
    var values: [Int: Int64] = [:]
    var last: UInt64?
    for event in ordered {
      for (register, value) in event.observed where value != values[register] ?? 0 {
        return "at commit \(event.commit), register \(register) is \(values[register] ?? 0), but \(value) was seen"
      }
      if event.written.isEmpty { continue }
      if event.commit == last { return "commit \(event.commit) exists twice" }
      last = event.commit
      values.merge(event.written) { $1 }
    }
    return nil
  }

  private func contradictionOfTimes() -> String? {
    let byReturn = events.sorted { $0.returned < $1.returned }
    var (next, latest) = (0, UInt64(0))
    for event in events {
      while next < byReturn.count, byReturn[next].returned < event.invoked {
        latest = max(latest, byReturn[next].commit)
        next += 1
      }
      if event.written.isEmpty ? event.commit < latest : event.commit <= latest {
        return "an operation at commit \(event.commit) was called when commit \(latest) had been seen"
      }
    }
    return nil
  }
}
