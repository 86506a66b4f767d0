import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// Properties of merges of drafts with random changes.
@Suite("Drafts: random changes") struct DraftPropertyTests {
  private let count = PropertySeeds.count(40)

  private func forEachSeed(_ body: (UInt64, inout DraftEditor) throws -> Void) throws {
    for start in PropertySeeds.seeds {
      for index in 0..<UInt64(count) {
        let seed = start &+ index
        var editor = DraftEditor(seed)
        try body(seed, &editor)
      }
    }
  }

  @Test("P2 to P5: after changes of the draft alone, its sources look like the draft") func draftAlone() throws {
    try forEachSeed { seed, editor in
      let fixture = try DraftFixture(.memory)
      try editor.change(fixture.document, in: fixture.store, commits: 2)
      // The clones of sections follow their document.
      try fixture.store.write { tx in
        let uid = try tx.value(fixture.document, "uid")
        for section in try tx.members(fixture.document, "sections") { try tx.set(section, "documentUID", uid) }
      }
      let draft = try fixture.draft()
      let text = try fixture.text(draft)
      #expect(try text == fixture.text(fixture.document), "seed \(seed)")
      try editor.change(draft, in: fixture.store, commits: 4)
      let (changed, uid) = (try fixture.text(draft), try fixture.value(fixture.document, "uid"))
      let plan = try fixture.store.drafts.planMerge(draft)
      #expect(plan.canMerge, "seed \(seed): \(plan.conflicts) \(plan.issues)")
      if !plan.canMerge { return }
      try fixture.store.drafts.merge(draft)
      #expect(try fixture.text(fixture.document) == changed, "seed \(seed)")
      #expect(try fixture.value(fixture.document, "uid") == uid, "seed \(seed)")
      let blobs: UInt64 = try fixture.store.data(fixture.document, "picture") == nil ? 0 : 1
      try fixture.expectNothingLeft(blobs: blobs)
    }
  }

  @Test("P2: after changes of the sources alone, a merge changes nothing of them") func sourcesAlone() throws {
    try forEachSeed { seed, editor in
      let fixture = try DraftFixture(.memory)
      let draft = try fixture.draft()
      try editor.change(fixture.document, in: fixture.store, commits: 4)
      let text = try fixture.text(fixture.document)
      let plan = try fixture.store.drafts.planMerge(draft)
      #expect(plan.canMerge, "seed \(seed): \(plan.conflicts) \(plan.issues)")
      if !plan.canMerge { return }
      try fixture.store.drafts.merge(draft)
      #expect(try fixture.text(fixture.document) == text, "seed \(seed)")
      let blobs: UInt64 = try fixture.store.data(fixture.document, "picture") == nil ? 0 : 1
      try fixture.expectNothingLeft(blobs: blobs)
    }
  }

  @Test("P7, P8: after changes of both, a merge is as planned, or changes nothing") func bothSides() throws {
    try forEachSeed { seed, editor in
      let fixture = try DraftFixture(.memory)
      let draft = try fixture.draft()
      for _ in 0..<3 {
        try editor.change(draft, in: fixture.store, commits: 1)
        try editor.change(fixture.document, in: fixture.store, commits: 1)
      }
      var options = MergeOptions(policy: [nil, .ours, .theirs][Int(seed % 3)])
      options.keepsClones = seed % 5 == 0
      let plan = try fixture.store.drafts.planMerge(draft, options: options)
      let lines = try fixture.lines()
      do {
        let planned = try plan.canMerge ? plan.read { tx in try DraftText.of(fixture.document, tx) } : []
        let result = try fixture.store.drafts.merge(draft, options: options)
        #expect(plan.canMerge && result.counts == plan.counts, "seed \(seed)")
        #expect(try fixture.text(fixture.document) == planned, "seed \(seed)")
        #expect(try fixture.store.exists(draft) == options.keepsClones, "seed \(seed)")
      } catch let error as MergeError {
        #expect(!plan.canMerge && (options.policy == nil || error.kind == .brokenRules), "seed \(seed): \(error)")
        #expect(try fixture.lines() == lines, "seed \(seed)")
        try fixture.check()
        return
      }
      let pictures = try Set(
        [fixture.document, draft].filter { try fixture.store.exists($0) }.map { id in
          try fixture.store.data(id, "picture")
        }
      ).subtracting([nil])
      // The two may have a picture of the same bytes that were stored twice.
      if !options.keepsClones { try fixture.expectNothingLeft(blobs: UInt64(pictures.count)) }
      try fixture.check()
    }
  }
}

/// Random changes of a document and of what it owns and shares.
struct DraftEditor {
  private var generator: SeededGenerator
  private var nameCount = 0

  init(_ seed: UInt64) { generator = SeededGenerator(seed: seed) }

  mutating func change(_ document: ObjectID, in store: ObjectStore, commits: Int) throws {
    for _ in 0..<commits {
      try store.write { tx in
        for _ in 0..<Int.random(in: 1...4, using: &generator) { try change(document, &tx) }
      }
    }
  }

  private mutating func name() -> AttributeValue {
    nameCount += 1
    return .string("n\(nameCount)")
  }

  private mutating func any(_ ids: [ObjectID]) -> ObjectID? { ids.randomElement(using: &generator) }

  private mutating func change(_ document: ObjectID, _ tx: inout WriteTransaction) throws {
    let sections = try tx.members(document, "sections")
    switch Int.random(in: 0..<12, using: &generator) {
    case 0: try tx.set(document, "title", name())
    case 1: try tx.set(document, "views", .integer(.random(in: 0..<100, using: &generator)))
    case 2:
      let byte = UInt8.random(in: 0...9, using: &generator)
      try tx.set(document, "picture", byte == 0 ? nil : .binary(Data(repeating: byte, count: 2_000)))
    case 3:
      let uid = try Bool.random(using: &generator) ? tx.value(document, "uid") : nil
      let section = try tx.insert("Section", ["text": name(), "documentUID": uid])
      try tx.link(document, "sections", [section], at: Int.random(in: 0...sections.count, using: &generator))
    case 4:
      guard let section = any(sections) else { return }
      try tx.insert("Note", ["text": name()], relationships: ["section": [section]])
    case 5:
      guard let section = any(sections) else { return }
      try tx.delete([section])
    case 6: try tx.setMembers(document, "sections", sections.shuffled(using: &generator))
    case 7: try tx.setToOne(document, "lead", any(sections))
    case 8: try changeShared(document, "tags", "Tag", &tx)
    case 9: try changeShared(document, "readers", "Reader", &tx)
    case 10:
      if let summary = try tx.toOne(document, "summary") {
        if Bool.random(using: &generator) {
          try tx.set(summary, "text", name())
        } else {
          try tx.delete([summary])
        }
      } else {
        try tx.insert("Summary", ["text": name()], relationships: ["document": [document]])
      }
    default:
      guard let section = any(sections), let note = any(try sections.flatMap { try tx.members($0, "notes") }) else {
        return
      }
      if Bool.random(using: &generator) {
        try tx.setToOne(note, "section", section)
      } else {
        try tx.delete([note])
      }
    }
  }

  /// Adds a shared object to a document, or removes one from it, from either end.
  private mutating func changeShared(
    _ document: ObjectID, _ relationship: String, _ entity: String, _ tx: inout WriteTransaction
  ) throws {
    let members = try tx.members(document, relationship)
    if let member = any(members), Bool.random(using: &generator) {
      if Bool.random(using: &generator) {
        try tx.unlink(document, relationship, [member])
      } else {
        try tx.unlink(member, "documents", [document])
      }
    } else {
      let added = try tx.insert(entity, ["name": name()])
      if Bool.random(using: &generator) {
        try tx.link(document, relationship, [added])
      } else {
        try tx.link(added, "documents", [document])
      }
    }
  }
}
