import Testing

@testable import KVCloneModel

/// Renames through intermediate versions that neither end names, and identifiers without a match.
@Suite("Renaming identifiers across versions")
struct RenameChainTests {
  private static func model(_ version: String, @ModelBuilder _ components: () -> [ModelComponent]) -> ManagedObjectModel
  {
    ManagedObjectModel("Music", version: version, components)
  }

  private static let first = model("1") {
    EntityDescription("Track") {
      AttributeDescription("title", .string)
      RelationshipDescription("album", toOne: "Album", inverse: "tracks")
    }
    EntityDescription("Album") { RelationshipDescription("tracks", toMany: "Track", inverse: "album") }
  }
  private static let second = model("2") {
    EntityDescription("Song", renamingIdentifier: "Track") {
      AttributeDescription("name", .string, renamingIdentifier: "title")
      RelationshipDescription("record", toOne: "Record", inverse: "songs", renamingIdentifier: "album")
    }
    EntityDescription("Record", renamingIdentifier: "Album") {
      RelationshipDescription("songs", toMany: "Song", inverse: "record", renamingIdentifier: "tracks")
    }
  }
  private static let third = model("3") {
    EntityDescription("Piece", renamingIdentifier: "Song") {
      AttributeDescription("heading", .string, renamingIdentifier: "name")
      RelationshipDescription("disc", toOne: "Disc", inverse: "pieces", renamingIdentifier: "record")
    }
    EntityDescription("Disc", renamingIdentifier: "Record") {
      RelationshipDescription("pieces", toMany: "Piece", inverse: "disc", renamingIdentifier: "songs")
    }
  }

  @Test("a to b to c in one step, there and back")
  func bothWays() {
    let there = ModelMatching(from: Self.first, to: Self.third, through: [Self.second])
    #expect(there.entities == ["Piece": "Track", "Disc": "Album"])
    #expect(there.attribute("heading", of: "Piece")?.name == "title")
    #expect(there.relationship("disc", of: "Piece")?.name == "album")
    #expect(there.relationship("pieces", of: "Disc")?.name == "tracks")
    #expect(there.renamingWarnings().isEmpty)
    let back = ModelMatching(from: Self.third, to: Self.first, through: [Self.third, Self.second, Self.first])
    #expect(back.entities == ["Track": "Piece", "Album": "Disc"])
    #expect(back.attribute("title", of: "Track")?.name == "heading")
    #expect(back.relationship("tracks", of: "Album")?.name == "pieces")
  }

  @Test("without the version in between, objects are lost and the identifiers are named")
  func missingVersion() {
    let difference = ModelDifference(from: Self.first, to: Self.third)
    #expect(difference.changes.count { $0.work == .deletion } == 2)
    // One warning for each entity: its properties are new with it.
    #expect(difference.warnings.map(\.entity) == ["Piece", "Disc"])
    #expect(difference.warnings.allSatisfy { $0.kind == .unmatchedRenamingIdentifier && $0.property == nil })
    #expect(difference.warnings[0].message.contains("'Song' matches nothing in 1"))
  }

  @Test("an identifier of a property that matches nothing, or only a name")
  func properties() {
    let old = Self.model("1") { EntityDescription("Note") { AttributeDescription("text", .string) } }
    let new = Self.model("2") {
      EntityDescription("Note") {
        AttributeDescription("text", .string, renamingIdentifier: "txet")
        AttributeDescription("body", .string, renamingIdentifier: "bdoy")
      }
    }
    let difference = ModelDifference(from: old, to: new)
    #expect(difference.warnings.map(\.property) == ["text", "body"])
    #expect(difference.warnings[0].message.hasSuffix("it is matched by its name; correct or remove the identifier"))
    #expect(difference.warnings[1].message.contains("a new property without values"))
    #expect(new.versionWarnings(since: old).count { $0.kind == .unmatchedRenamingIdentifier } == 2)
    // An identifier that both versions have, or that a later version still has, is valid.
    let same = Self.model("3") {
      EntityDescription("Note") {
        AttributeDescription("text", .string, renamingIdentifier: "txet")
        AttributeDescription("body", .string, renamingIdentifier: "bdoy")
      }
    }
    #expect(ModelDifference(from: new, to: same).warnings.isEmpty)
  }

  @Test("where identifiers leave a choice, nothing is guessed; and what ends name comes first")
  func choices() {
    func version(_ name: String, _ entities: (String, String?)...) -> ManagedObjectModel {
      ManagedObjectModel(
        name: "M", versionIdentifier: name,
        entities: entities.map { name, identifier in EntityDescription(name, renamingIdentifier: identifier) {} })
    }
    let (old, new) = (version("1", ("A", nil), ("B", nil)), version("9", ("D", "C")))
    let (isA, isB) = (version("2", ("C", "A")), version("3", ("C", "B")))
    #expect(ModelMatching(from: old, to: new, through: [isA]).entities == ["D": "A"])
    #expect(ModelMatching(from: old, to: new, through: [isA, isB]).entities.isEmpty)
    // Both descend from a third name.
    let twig = version("4", ("E", "A"), ("D", "C"))
    #expect(ModelMatching(from: version("5", ("E", "A")), to: new, through: [isA, twig]).entities == ["D": "E"])
    // For a reused name, the identifiers of the two ends decide.
    let swapped = version("6", ("A", "B"), ("B", "A"))
    #expect(ModelMatching(from: old, to: swapped, through: [isA, isB]).entities == ["A": "B", "B": "A"])
    // A later version reuses the name for an entity that the wanted version calls differently.
    let again = version("8", ("A", "D"), ("B", "D2"))
    #expect(ModelMatching(from: old, to: version("9", ("D", nil)), through: [again]).entities.isEmpty)
    // Cycles terminate.
    let circle = version("7", ("C", "X"), ("X", "Y"), ("Y", "C"))
    #expect(ModelMatching(from: old, to: new, through: [circle]).entities.isEmpty)
  }

  @Test("a relationship all of whose targets are removed is a new one, and not refused")
  func removedTargets() {
    let old = Self.model("1") {
      EntityDescription("Vehicle") { RelationshipDescription("events", toMany: "MaintenaceEvent", inverse: "vehicle") }
      EntityDescription("MaintenaceEvent") { RelationshipDescription("vehicle", toOne: "Vehicle", inverse: "events") }
      EntityDescription("Base") {}
      EntityDescription("Kept", parent: "Base") {}
      EntityDescription("Owner") { RelationshipDescription("things", toMany: "Base") }
    }
    let new = Self.model("2") {
      EntityDescription("Vehicle") { RelationshipDescription("events", toMany: "MaintenanceEvent", inverse: "vehicle") }
      EntityDescription("MaintenanceEvent") { RelationshipDescription("vehicle", toOne: "Vehicle", inverse: "events") }
      EntityDescription("Kept") {}
      EntityDescription("Owner") { RelationshipDescription("things", toMany: "Kept") }
    }
    let difference = ModelDifference(from: old, to: new)
    #expect(difference.refusals.isEmpty, "\(difference.refusals)")
    let events = difference.changes.filter { $0.property == "events" }.map(\.kind)
    #expect(Set(events) == [.added, .removed])
    // Remaining entities of a hierarchy stay linked.
    #expect(difference.changes.contains { $0.property == "things" && $0.aspect == "destination" })
    // A mandatory link that is removed with its target cannot be inferred.
    let strict = Self.model("3") {
      EntityDescription("Vehicle") {
        RelationshipDescription("events", toMany: "MaintenanceEvent", inverse: "vehicle", optional: false, min: 1)
      }
      EntityDescription("MaintenanceEvent") { RelationshipDescription("vehicle", toOne: "Vehicle", inverse: "events") }
    }
    #expect(ModelDifference(from: old, to: strict).refusals.map(\.property) == ["events"])
  }
}
