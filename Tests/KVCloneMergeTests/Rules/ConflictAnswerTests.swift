import Foundation
import KVCloneMerge
import KVCloneModel
import Testing

@Suite struct ConflictAnswerTests {
  private func fixture() throws -> (MergeFixture, person: ObjectID, note: ObjectID) {
    let fixture = try MergeFixture()
    let person = fixture.base.insert("Person", 1, ["name": "a"])
    let note = fixture.base.insert("Note", 1, ["text": "a"])
    fixture.fork()
    fixture.ours.set(person, "name", "b")
    fixture.theirs.set(person, "name", "c")
    fixture.ours.set(note, "text", "b")
    fixture.theirs.delete([note])
    return (fixture, person, note)
  }

  @Test("M12: answers are values that fit as long as the sides are unchanged") func m12Answers() throws {
    let (fixture, person, note) = try fixture()
    let conflicts = try fixture.plan().openConflicts
    #expect(conflicts.count == 2)
    let data = try JSONEncoder().encode(conflicts.map { AnsweredConflict($0, .theirs) })
    let answers = try JSONDecoder().decode([AnsweredConflict].self, from: data)
    let plan = try fixture.plan(MergeOptions(answers: answers))
    try plan.requireMergeable()
    let result = fixture.result(plan)
    #expect(result.value(person, "name") == "c" && result.entity(of: note) == nil)
  }

  @Test("M12: coded answers have texts for ids and fingerprints, which no reader of JSON rounds") func m12Coded() throws
  {
    let answers: [ConflictAnswer] = [
      .ours, .theirs, .refuse, .attribute(nil), .attribute(.string("a")), .object(nil),
      .object(ObjectID(rawValue: 1 << 60 | 1)), .order([ObjectID(rawValue: .max)]),
    ]
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let data = try encoder.encode(answers)
    let value = String(decoding: try encoder.encode(AttributeValue.string("a")), as: UTF8.self)
    #expect(
      String(decoding: data, as: UTF8.self) == #"["ours","theirs","refuse",{"attribute":null},{"attribute":\#(value)},"#
        + #"{"object":null},{"object":"1152921504606846977"},{"order":["18446744073709551615"]}]"#)
    #expect(try JSONDecoder().decode([ConflictAnswer].self, from: data) == answers)
    let conflict = ObjectConflict(
      .bothChanged, ObjectID(rawValue: 1 << 60 | 1), entity: "Note", property: "text", other: nil, fingerprint: .max)
    #expect(
      String(decoding: try encoder.encode(conflict), as: UTF8.self)
        == #"{"entity":"Note","fingerprint":"ffffffffffffffff","id":"1152921504606846977","kind":"bothChanged","#
        + #""property":"text"}"#)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(ConflictAnswer.self, from: Data("\"both\"".utf8)) }
  }

  @Test("M12: answers that no longer fit are refused and named") func m12Stale() throws {
    let (fixture, person, note) = try fixture()
    let answers = try fixture.plan().openConflicts.map { AnsweredConflict($0, .theirs) }
    fixture.ours.set(person, "name", "d")
    let changed = try fixture.plan(MergeOptions(policy: .ours, answers: answers))
    #expect(changed.staleAnswers.map(\.object) == ["Person/1"])
    #expect(throws: MergeError.self) { try changed.requireMergeable() }
    fixture.ours.set(person, "name", "b")
    fixture.ours.set(note, "text", "other")
    let other = try fixture.plan(MergeOptions(policy: .ours, answers: answers))
    #expect(other.staleAnswers.map(\.object) == ["Note/1"])
    // A conflict that is gone.
    fixture.ours.set(note, "text", "a")
    #expect(try fixture.plan(MergeOptions(answers: answers)).staleAnswers.map(\.object) == ["Note/1"])
  }

  @Test("M12: an answer that deletes an object along does not fit once that object has other values")
  func m12TakenAlong() throws {
    let fixture = try MergeFixture()
    let folder = fixture.base.insert("Folder", 1)
    fixture.fork()
    fixture.theirs.delete([folder])
    let note = fixture.ours.insert("Note", 1, ["text": "a"])
    fixture.ours.add(note, to: folder, "notes")
    var options = MergeOptions(rules: ["Folder": .theirs])
    let conflict = try #require(try fixture.plan(options).openConflicts.first)
    #expect(conflict.kind == .takenAlong && conflict.id == note)
    options.answers = [AnsweredConflict(conflict, .theirs)]
    try fixture.plan(options).requireMergeable()
    fixture.ours.set(note, "text", "b")
    #expect(try fixture.plan(options).staleAnswers.map(\.object) == ["Note/1"])
  }

  @Test("M15: a conflict names the last change of each side") func m15LastChanges() throws {
    let (fixture, person, _) = try fixture()
    fixture.ours.changes[person] = ObjectChange(commit: 4, author: "Ann")
    fixture.theirs.changes[person] = ObjectChange(commit: 7, author: "Bob")
    let conflict = try #require(try fixture.plan().openConflicts.first { $0.id == person })
    #expect(conflict.oursChange?.author == "Ann" && conflict.theirsChange?.commit == 7)
  }
}
