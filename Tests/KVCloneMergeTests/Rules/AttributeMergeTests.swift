import Foundation
import KVCloneMerge
import KVCloneModel
import Testing

@Suite struct AttributeMergeTests {
  /// A person that both sides have.
  private func fixture(_ values: [String: AttributeValue] = [:]) throws -> (MergeFixture, ObjectID) {
    let fixture = try MergeFixture()
    let id = fixture.base.insert("Person", 1, values)
    fixture.fork()
    return (fixture, id)
  }

  @Test("M1: an attribute takes the value of the side that changed it") func m1OneSide() throws {
    let (fixture, id) = try fixture(["name": "Ann", "email": "a"])
    fixture.ours.set(id, "name", "Anna")
    fixture.theirs.set(id, "email", nil)
    let plan = try fixture.plan()
    #expect(plan.conflicts.isEmpty)
    let result = fixture.result(plan)
    #expect(result.value(id, "name") == "Anna")
    #expect(result.value(id, "email") == nil)
    #expect(plan.counts["Person"]?.updated == 1 && plan.counts.count == 1)
  }

  @Test("M1: an attribute that both changed alike is no conflict") func m1Alike() throws {
    let (fixture, id) = try fixture(["name": "Ann"])
    fixture.ours.set(id, "name", "Eve")
    fixture.theirs.set(id, "name", "Eve")
    let plan = try fixture.plan()
    #expect(plan.conflicts.isEmpty && plan.operations.isEmpty)
  }

  @Test("M1: an attribute that both changed differently is a conflict with three values") func m1Conflict() throws {
    let (fixture, id) = try fixture(["name": "Ann"])
    fixture.ours.set(id, "name", "Eve")
    fixture.theirs.set(id, "name", nil)
    let plan = try fixture.plan()
    let conflict = try #require(plan.openConflicts.first)
    #expect(plan.conflictTexts == ["bothChanged Person/1 name"])
    #expect(conflict.base == .attribute("Ann"))
    #expect(conflict.ours == .attribute("Eve"))
    #expect(conflict.theirs == .attribute(nil))
    #expect(throws: MergeError.self) { try plan.requireMergeable() }
    #expect(fixture.result(plan).value(id, "name") == "Eve")
  }

  @Test("M5: composites are merged element by element") func m5Composites() throws {
    let (fixture, id) = try fixture(["place.x": 1, "place.y": 2])
    fixture.ours.set(id, "place.x", 10)
    fixture.theirs.set(id, "place.y", 20)
    let result = try fixture.merged()
    #expect(result.value(id, "place.x") == 10)
    #expect(result.value(id, "place.y") == 20)
    fixture.theirs.set(id, "place.x", 11)
    #expect(try fixture.plan().conflictTexts == ["bothChanged Person/1 place.x"])
  }

  @Test("M5: derived attributes are not compared") func m5Derived() throws {
    let (fixture, id) = try fixture(["noteCount": 1])
    fixture.ours.set(id, "noteCount", 2)
    fixture.theirs.set(id, "noteCount", 3)
    let plan = try fixture.plan()
    #expect(plan.conflicts.isEmpty && plan.operations.isEmpty)
  }

  @Test("M5, M14: blobs are compared by serial, else by length and digest") func m5Blobs() throws {
    func blob(_ serial: UInt64, _ count: UInt64) -> AttributeValue {
      .blob(BlobReference(id: serial, byteCount: count))
    }
    let (fixture, id) = try fixture(["photo": blob(1, 5000)])
    for state in [fixture.base, fixture.ours, fixture.theirs] { state.digests = [1: 7, 2: 7, 3: 8, 4: 8] }
    // The same bytes again are no change.
    fixture.ours.set(id, "photo", blob(2, 5000))
    fixture.theirs.set(id, "photo", blob(3, 5000))
    let plan = try fixture.plan()
    #expect(plan.conflicts.isEmpty)
    #expect(fixture.result(plan).value(id, "photo") == blob(3, 5000))
    // Both changed alike: that of ours stays.
    fixture.ours.set(id, "photo", blob(4, 5000))
    let alike = try fixture.plan()
    #expect(alike.conflicts.isEmpty && alike.operations.isEmpty)
    fixture.ours.set(id, "photo", blob(4, 6000))
    #expect(try fixture.plan().conflictTexts == ["bothChanged Person/1 photo"])
  }

  @Test("M14: a value that was set and set back is no change") func m14SetBack() throws {
    let (fixture, id) = try fixture(["name": "Ann"])
    fixture.theirs.set(id, "name", "Eve")
    fixture.theirs.set(id, "name", "Ann")
    fixture.ours.set(id, "name", "Bob")
    #expect(try fixture.plan().conflicts.isEmpty)
    #expect(try fixture.merged().value(id, "name") == "Bob")
  }
}
