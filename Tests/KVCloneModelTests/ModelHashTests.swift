import Testing

@testable import KVCloneModel

struct ModelHashTests {
  private func model(
    name: String = "M", reversed: Bool = false, _ change: (inout EntityDescription) -> Void = { _ in }
  ) -> ManagedObjectModel {
    var note = EntityDescription(
      name: "Note",
      attributes: [.init("title", .string), .init("size", .integer32), .init("place", .composite, composite: "P")],
      relationships: [.init("items", toMany: "Item", inverse: "note")])
    change(&note)
    let item = EntityDescription(name: "Item", relationships: [.init("note", toOne: "Note", inverse: "items")])
    let sub = EntityDescription(name: "Sub", superentityName: "Note")
    let entities = [note, item, sub]
    return ManagedObjectModel(
      name: name, entities: reversed ? entities.reversed() : entities,
      composites: [.init("P", elements: [.init("x", .double), .init("y", .double)])])
  }

  @Test func whatDoesNotTouchStoredDataDoesNotCount() {
    let hash = model().modelHash
    #expect(model(name: "Other").modelHash == hash)
    #expect(model(reversed: true).modelHash == hash)
    #expect(model { $0.attributes.reverse() }.modelHash == hash)
    #expect(model { $0.attributes[0].defaultValue = "x" }.modelHash == hash)
    #expect(model { $0.attributes[0].userInfo["exclude"] = "" }.modelHash == hash)
    #expect(model { $0.uniquenessConstraints = [["title"]] }.modelHash == hash)
    #expect(model { $0.renamingIdentifier = "Old" }.modelHash == hash)
    #expect(model { $0.managedObjectClassName = "Other" }.modelHash == hash)
  }

  @Test func whatTouchesStoredDataCounts() {
    var hashes: Set<ModelHash> = [model().modelHash]
    let changes: [(inout EntityDescription) -> Void] = [
      { $0.isAbstract = true }, { $0.versionHashModifier = "2" }, { $0.attributes[0].name = "titel" },
      { $0.attributes[0].type = .uri }, { $0.attributes[0].isOptional = false },
      { $0.attributes[0].isTransient = true },
      { $0.attributes.removeLast() }, { $0.relationships[0].destinationEntityName = "Note" },
      { $0.relationships[0].inverseName = nil }, { $0.relationships[0].deleteRule = .deny },
      { $0.relationships[0].minCount = 1 }, { $0.relationships[0].maxCount = 2 },
      { $0.relationships[0].isOrdered = true }, { $0.attributes[0].versionHashModifier = "2" },
    ]
    for change in changes { #expect(hashes.insert(model(change).modelHash).inserted) }
    let base = model().versionHash(of: "Sub")
    #expect(model { $0.isAbstract = true }.versionHash(of: "Sub") != base)
    #expect(model { $0.isAbstract = true }.versionHash(of: "Item") == model().versionHash(of: "Item"))
    #expect(model().versionHash(of: "Nobody") == nil)
    #expect(model().versionHashes["Sub"] == base)
  }

  /// The canonical form never changes: stores keep the hash.
  @Test func goldenHash() {
    let empty = ManagedObjectModel(name: "M", entities: [])
    // A list of length 0 after the tag: 8 bytes of length, the tag, 8 bytes of 0.
    let form = [0, 0, 0, 0, 0, 0, 0, 15] + Array("KVClone model 1".utf8) + [0, 0, 0, 0, 0, 0, 0, 0]
    #expect(empty.modelHash == SHA256.hash(form))
    #expect(model().modelHash.hex == "d709343a69c8e7f21e557eb9983d35631812fcfae6ed9d9f6ccabde867ccec05")
  }
}
