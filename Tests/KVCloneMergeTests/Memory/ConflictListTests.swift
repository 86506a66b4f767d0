import Foundation
import KVCloneMerge
import KVCloneModel
import KVCloneTestSupport
import Synchronization
import Testing

/// Lists of conflicts, which read each conflict from scratch space.
@Suite("Lists of conflicts") struct ConflictListTests {
  @Test("M6, M8: a plan lists the conflicts that the closure got, in ascending order") func m6Conflicts() throws {
    for start in PropertySeeds.seeds {
      for seed in (0..<50).map({ start &+ $0 }) {
        let fixture = try MergeFixture.random(seed, changes: 20)
        let asked = Mutex<[ObjectConflict]>([])
        let plan = try fixture.plan(
          MergeOptions { conflict in
            asked.withLock { $0.append(conflict) }
            return conflict.id.serial.isMultiple(of: 2) ? .ours : nil
          })
        let conflicts = plan.conflicts.map(\.conflict)
        let expected = asked.withLock { $0 }
        #expect(conflicts.count == expected.count && Set(conflicts) == Set(expected), "seed \(seed)")
        #expect(conflicts.map(\.id) == conflicts.map(\.id).sorted(), "seed \(seed)")
        #expect(
          plan.openConflicts.elementsEqual(conflicts.filter { !$0.id.serial.isMultiple(of: 2) }), "seed \(seed)")
        let decoded = try JSONDecoder().decode([ObjectConflict].self, from: JSONEncoder().encode(plan.openConflicts))
        #expect(plan.openConflicts == ConflictList(decoded), "seed \(seed)")
      }
    }
  }
}
