import Foundation
import KVCloneModel
import Testing

@testable import KVCloneCoreData

/// Reads a `xcmapping.xml` file given as text.
func readMapping(_ xml: String) throws(ModelFileError) -> LoadedMappingModel {
  try MappingModel.load(contents: Data(xml.utf8), file: "xcmapping.xml", name: "M")
}

/// An object of a mapping model's file.
func object(
  _ kind: String, _ id: String, _ values: KeyValuePairs<String, String> = [:],
  _ references: KeyValuePairs<String, String> = [:]
) -> String {
  let values = values.map { "<attribute name=\"\($0.key)\" type=\"string\">\($0.value)</attribute>" }
  let references = references.map { "<relationship name=\"\($0.key)\" type=\"0/0\" idrefs=\"\($0.value)\"/>" }
  return "<object type=\"XDDEV\(kind)\" id=\"\(id)\">\n\((values + references).joined(separator: "\n"))\n</object>\n"
}

/// A mapping model's file with these objects.
func mappingFile(_ objects: String...) -> String {
  """
  <?xml version="1.0" standalone="yes"?>
  <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

  <database><databaseInfo><version>134481920</version></databaseInfo>
  \(objects.joined())</database>
  """
}

/// A mapping model's file with one entity mapping `e`, from Note to Memo, and these objects.
func mappingOfNotes(_ objects: String, attributes: String = "", relationships: String = "") -> String {
  mappingFile(
    object("MAPPINGMODEL", "m", [:], ["entitymappings": "e"]),
    object(
      "ENTITYMAPPING", "e", ["sourcename": "Note", "destinationname": "Memo", "mappingtypename": "Undefined"],
      ["attributemappings": attributes, "relationshipmappings": relationships, "mappingmodel": "m"]),
    objects)
}

private func base64(_ expression: TestExpression) -> String {
  // In lines, like Xcode's.
  Data(ArchiveWriter.archive(expression)).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
}

/// The content that Xcode writes, and other content of its files.
struct MappingReaderTests {
  private func attribute(_ values: KeyValuePairs<String, String>) throws -> (PropertyMapping, [ModelWarning]) {
    let loaded = try readMapping(mappingOfNotes(object("ATTRIBUTEMAPPING", "p", values), attributes: "p"))
    return (try #require(loaded.mapping.entityMappings.first?.attributeMappings.first), loaded.warnings)
  }

  private func relationship(_ values: KeyValuePairs<String, String>) throws -> (PropertyMapping, [ModelWarning]) {
    let loaded = try readMapping(mappingOfNotes(object("RELATIONSHIPMAPPING", "p", values), relationships: "p"))
    return (try #require(loaded.mapping.entityMappings.first?.relationshipMappings.first), loaded.warnings)
  }

  private func error(_ xml: String) -> ModelFileError? {
    do {
      _ = try readMapping(xml)
      return nil
    } catch { return error }
  }

  @Test func theOrderIsThatOfTheNumbers() throws {
    let loaded = try readMapping(
      mappingFile(
        object("ENTITYMAPPING", "b", ["destinationname": "New", "mappingnumber": "2"]),
        object(
          "MAPPINGMODEL", "m",
          [
            "sourcemodelpath": "App/M.xcdatamodeld/M.xcdatamodel",
            "destinationmodelpath": "App/M.xcdatamodeld/M 2.xcdatamodel", "sourcemodeldata": "####",
          ], ["entitymappings": "d c b a"]),
        object("ENTITYMAPPING", "a", ["sourcename": "A", "destinationname": "B", "mappingnumber": "10"]),
        object("ENTITYMAPPING", "c", ["sourcename": "Old", "mappingnumber": "1", "name": "Gone"]),
        object("ENTITYMAPPING", "d", ["sourcename": "A", "destinationname": "A", "migrationpolicyclassname": "P.Q"])))
    #expect(loaded.warnings.isEmpty, "\(loaded.warnings)")
    let mapping = loaded.mapping
    #expect(mapping.entityMappings.map(\.name) == ["Gone", "New", "AToB", "AToA"])
    #expect(mapping.entityMappings.map(\.mappingType) == [.remove, .add, .undefined, .custom])
    #expect(mapping.entityMapping(named: "AToA")?.entityMigrationPolicyClassName == "P.Q")
    #expect(mapping.entityMappings.allSatisfy { !$0.mapsUnlistedProperties && $0.sourceObjects == .all })
    #expect(mapping.name == "M" && mapping.sourceModelPath == "App/M.xcdatamodeld/M.xcdatamodel")
    #expect(mapping.sourceVersionName == "M" && mapping.destinationVersionName == "M 2")
  }

  @Test func attributes() throws {
    #expect(try attribute(["name": "title"]).0 == PropertyMapping("title", .automatic))
    let text = base64(.text("x"))
    #expect(try attribute(["name": "title", "valueexpressiondata": text]).0.valueExpression == .constant("x"))
    let generated = try attribute(["name": "title", "valueexpressiondata": text, "autogenerateexpression": "1"])
    #expect(generated.0.valueExpression == .constant("x") && generated.1.isEmpty)
    let cleared = try attribute(["name": "title", "autogenerateexpression": "0"])
    #expect(cleared.0.valueExpression == nil && cleared.1.isEmpty)
    #expect(try attribute(["name": "title", "sourcekeypath": "$source.a.b"]).0.valueExpression == .source("a.b"))
    let object = try attribute(["name": "title", "sourcekeypath": "$source"])
    #expect(object.0.valueExpression == .unsupported("$source") && object.1.map(\.kind) == [.unusableMapping])
    let info = Data(ArchiveWriter.archive(.texts([("k", .value(.string("v")))]))).base64EncodedString()
    #expect(try attribute(["name": "title", "userinfodata": info]).0.userInfo == ["k": "v"])
  }

  @Test func relationships() throws {
    let generated = try relationship(["name": "books", "autogenerateexpression": "1"])
    #expect(generated.0 == PropertyMapping("books", .automatic) && generated.1.isEmpty)
    // As in real files: the object itself, through the mapping that creates the relationship's objects from it.
    let split = try relationship([
      "name": "note", "sourcekeypath": "$source", "sourcemappingname": "NoteToNote", "autogenerateexpression": "1",
    ])
    #expect(split.0.valueExpression == .destinationInstances(mapping: "NoteToNote", of: .sourceObject))
    #expect(split.1.isEmpty)
    let through = try relationship(["name": "b", "sourcekeypath": "$source.books", "sourcemappingname": "BookToBook"])
    #expect(through.0.valueExpression == .destinationInstances(mapping: "BookToBook", of: .source("books")))
    let named = try relationship(["name": "b", "sourcemappingname": "BookToBook"])
    #expect(named.0.valueExpression == .destinationInstances(mapping: "BookToBook", of: .source("b")))
    let path = try relationship(["name": "b", "sourcekeypath": "$source.author.books"])
    #expect(path.0.valueExpression == .destinationInstancesForRelationship("books", of: .source("author.books")))
    for text in ["$source.a..b", "$source.", "$destination", "$manager.a", "$source.$source"] {
      let broken = try relationship(["name": "b", "sourcekeypath": text])
      #expect(broken.0.valueExpression == .unsupported(text) && broken.1.map(\.kind) == [.unusableMapping])
    }
  }

  @Test("an expression next to a set flag applies: ignoring it would set links to nil", arguments: ["0", "1", nil])
  func expressionsNextToTheFlag(flag: String?) throws {
    let data = base64(.function(.variable("manager"), MappingExpression.byMapping, [.text("A"), .variable("source")]))
    let values: KeyValuePairs<String, String> =
      flag.map { ["name": "b", "valueexpressiondata": data, "autogenerateexpression": $0] }
      ?? ["name": "b", "valueexpressiondata": data]
    let read = try relationship(values)
    #expect(read.0.valueExpression == .destinationInstances(mapping: "A", of: .sourceObject) && read.1.isEmpty)
  }

  @Test func whatCannotBeComputedIsKeptAsTextWithAWarning() throws {
    let data = base64(.function(.source("name"), "stringByAppendingString:", [.text("!")]))
    let (property, warnings) = try attribute(["name": "title", "valueexpressiondata": data])
    let text = "FUNCTION($source.name, \"stringByAppendingString:\", \"!\")"
    #expect(property.valueExpression == .unsupported(text))
    #expect(warnings.map(\.kind) == [.unusableMapping])
    #expect(
      warnings.first?.description
        == "xcmapping.xml: NoteToMemo.title: has an unsupported expression (\(text))")
    for data in ["####", "AAAA", "", " \n "] {
      let read = try attribute(["name": "title", "valueexpressiondata": data])
      // An empty text has no expression.
      #expect(read.0.valueExpression == (data.isEmpty ? .automatic : .unsupported("a corrupted archive")))
      #expect(read.1.count == (data.isEmpty ? 0 : 1))
    }
    let info = try attribute(["name": "title", "userinfodata": "AAAA"])
    #expect(info.0.userInfo.isEmpty && info.1.map(\.kind) == [.unreadableValue])
  }

  @Test func sourceObjects() throws {
    func objects(
      _ values: KeyValuePairs<String, String>
    ) throws -> (EntityMapping.SourceObjects?, [ModelWarning.Kind]) {
      var all = Array(values)
      all.append((key: "sourcename", value: "Note"))
      let text = all.map { "<attribute name=\"\($0.key)\">\($0.value)</attribute>" }.joined()
      let loaded = try readMapping(
        mappingFile(
          object("MAPPINGMODEL", "m", [:], ["entitymappings": "e"]),
          "<object type=\"XDDEVENTITYMAPPING\" id=\"e\">\(text)</object>"))
      return (loaded.mapping.entityMappings.first?.sourceObjects, loaded.warnings.map(\.kind))
    }
    func fetch(_ entity: String) -> String {
      base64(
        .fetch(
          .function(
            .variable("manager"), "fetchRequestForSourceEntityNamed:predicateString:",
            [.text(entity), .text("rank > 3")])))
    }
    let predicate = try QueryPredicate(format: "rank > 3")
    let filtered = try objects(["sourcefilterpredicatestring": "rank &gt; 3", "autogenerateexpression": "1"])
    #expect(filtered.0 == .matching(predicate) && filtered.1.isEmpty)
    let wrong = try objects(["sourcefilterpredicatestring": "rank &gt;"])
    #expect(wrong.0 == .unsupported("rank >") && wrong.1 == [.unusableMapping])
    let fetched = try objects(["sourceexpressiondata": fetch("Note"), "autogenerateexpression": "0"])
    #expect(fetched.0 == .matching(predicate) && fetched.1.isEmpty)
    let other = try objects(["sourceexpressiondata": fetch("Memo")])
    #expect(other.0 == .unsupported("FETCH of Memo") && other.1 == [.unusableMapping])
    let generated = try objects(["sourceexpressiondata": fetch("Memo"), "autogenerateexpression": "1"])
    #expect(generated.0 == .unsupported("FETCH of Memo") && generated.1 == [.unusableMapping])
    let both = try objects([
      "sourceexpressiondata": fetch("Memo"), "autogenerateexpression": "1",
      "sourcefilterpredicatestring": "rank &gt; 3",
    ])
    #expect(both.0 == .matching(predicate) && both.1.isEmpty)
    let damaged = try objects(["sourceexpressiondata": "AAAA"])
    #expect(damaged.0 == .unsupported("a corrupted archive") && damaged.1 == [.unusableMapping])
  }

  @Test func oddThingsAreNoticed() throws {
    let loaded = try readMapping(
      mappingFile(
        object("MAPPINGMODEL", "m", ["new": "1"], ["entitymappings": "e f", "newer": "x"]),
        object(
          "ENTITYMAPPING", "e",
          [
            "sourcename": "A", "destinationname": "B", "mappingtypename": "Odd", "mappingnumber": "one",
            "autogenerateexpression": "maybe",
          ]),
        object("ENTITYMAPPING", "f", ["sourcename": "A", "destinationname": "B", "mappingtypename": "Transform"]),
        object("ATTRIBUTEMAPPING", "p", ["name": "lost"]), object("OTHER", "o"), "<other/>"))
    let kinds = loaded.warnings.map(\.kind).sorted { $0.rawValue < $1.rawValue }
    #expect(
      kinds == Array(repeating: .unknownContent, count: 5) + Array(repeating: .unreadableValue, count: 3)
        + [.unusableMapping], "\(loaded.warnings)")
    #expect(loaded.mapping.entityMappings.map(\.mappingType) == [.undefined, .transform])
  }

  /// Xcode leaves an entity mapping without entities after both were removed, and dozens of property mappings.
  @Test func leftoversAreOneWarningEach() throws {
    let file = mappingFile(
      object("MAPPINGMODEL", "m", [:], ["entitymappings": "e f"]),
      object("ENTITYMAPPING", "e", ["name": "gone"], ["attributemappings": "p"]),
      object("ENTITYMAPPING", "f", ["sourcename": "A", "destinationname": "B"]),
      object("ATTRIBUTEMAPPING", "p", ["name": "of the empty one"]),
      object("ATTRIBUTEMAPPING", "q", ["name": "left"]), object("RELATIONSHIPMAPPING", "r", ["name": "left"]),
      object("ATTRIBUTEMAPPING", "s", ["name": "left"]))
    let loaded = try MappingModel.load(contents: Data(file.utf8), file: "xcmapping.xml", name: "M")
    #expect(loaded.mapping.entityMappings.map(\.sourceEntityName) == ["A"])
    #expect(loaded.warnings.map(\.kind) == [.unusableMapping, .unknownContent], "\(loaded.warnings)")
    #expect(loaded.warnings.last?.message.contains("3 mappings") == true)
  }

  @Test func partsThatDoNotFitAreErrors() throws {
    let model = object("MAPPINGMODEL", "m", [:], ["entitymappings": "e"])
    let entity = object("ENTITYMAPPING", "e", ["sourcename": "A"])
    #expect(error("<model/>") == .notAMapping(path: "xcmapping.xml"))
    #expect(error(mappingFile(entity)) == .notAMapping(path: "xcmapping.xml"))
    #expect(
      error(mappingFile(model))
        == .brokenMapping(
          path: "xcmapping.xml", line: 5,
          reason: "object 'm' refers to 'e', which is missing or belongs to another object"))
    #expect(
      error(mappingFile(model, object("ATTRIBUTEMAPPING", "e", ["name": "a"])))
        == .brokenMapping(
          path: "xcmapping.xml", line: 5, reason: "object 'm' refers to 'e', which has another type"))
    #expect(
      error(mappingFile(model, entity, entity))
        == .brokenMapping(path: "xcmapping.xml", line: 11, reason: "object 'e' occurs twice"))
    #expect(
      error(mappingFile(model, entity, object("MAPPINGMODEL", "n")))
        == .brokenMapping(path: "xcmapping.xml", line: 11, reason: "the file has two mapping models"))
    #expect(
      error(mappingFile(object("MAPPINGMODEL", "m", [:], ["entitymappings": "e e"]), entity))?.kind == .brokenMapping)
    #expect(error(mappingFile(object("MAPPINGMODEL", "m", [:], ["entitymappings": "m"])))?.kind == .brokenMapping)
    #expect(
      error(mappingOfNotes(object("ATTRIBUTEMAPPING", "p"), attributes: "p"))
        == .missingAttribute(path: "xcmapping.xml", line: 16, element: "object", attribute: "name"))
    #expect(error(mappingFile("<object id=\"x\"/>"))?.kind == .missingAttribute)
    #expect(error(mappingFile("<object type=\"XDDEVMAPPINGMODEL\"/>"))?.kind == .missingAttribute)
    let text = ModelFileError.brokenMapping(path: "p", line: 3, reason: "r").description
    #expect(text == "p: line 3: r; create the mapping model again with Xcode")
  }

  @Test func onlyTheOneDocumentTypeIsOverlooked() {
    let known = "<!DOCTYPE database SYSTEM \"file:///System/Library/DTDs/CoreData.dtd\">"
    #expect(error("\(known)<database/>")?.kind == .notAMapping)
    for text in [
      "\(known)\(known)<database/>", "<!DOCTYPE database SYSTEM \"file:///etc/passwd\"><database/>",
      "<!DOCTYPE database [<!ENTITY a \"b\">]><database>&a;</database>", "<!DOCTYPE x><database/>",
      "<?x?>\(known)<database/>", "\(String(repeating: " ", count: 2_000))\(known)<database/>",
      "<!DOCTYPE database SYSTEM \"\(known)\"><database/>", "<!DOC\(known)TYPE database><database/>",
    ] {
      #expect([.forbiddenDeclaration, .malformed].contains(error(text)?.kind), "\(text)")
    }
    // A model has no declarations.
    #expect(throws: ModelFileError.forbiddenDeclaration(path: "contents")) { try read("\(known)<model/>") }
  }

  @Test func sizesAreLimited() {
    let archive = String(repeating: "A", count: MappingLimits.archiveBytes / 2 + 1)
    let properties = ["p", "q"].map { object("ATTRIBUTEMAPPING", $0, ["name": $0, "valueexpressiondata": archive]) }
    #expect(error(mappingOfNotes(properties.joined(), attributes: "p q"))?.kind == .limitExceeded)
    let many = (0...MappingLimits.entityMappings).map {
      "<object type=\"XDDEVENTITYMAPPING\" id=\"e\($0)\"><attribute name=\"sourcename\">A</attribute></object>"
    }
    let ids = (0...MappingLimits.entityMappings).map { "e\($0)" }.joined(separator: " ")
    #expect(
      error(mappingFile(object("MAPPINGMODEL", "m", [:], ["entitymappings": ids]), many.joined()))?.kind
        == .limitExceeded)
  }

  @Test func mutationsNeverTrap() {
    let seed: UInt64 = 20_241_123
    var numbers = SeededNumbers(state: seed)
    let data = base64(.function(.variable("manager"), MappingExpression.byMapping, [.text("A"), .source("b.c")]))
    let source = Array(
      mappingOfNotes(
        object("RELATIONSHIPMAPPING", "p", ["name": "a", "valueexpressiondata": data])
          + object("ATTRIBUTEMAPPING", "q", ["name": "b", "sourcekeypath": "$source.c.d"]),
        attributes: "q", relationships: "p"
      ).utf8)
    let words = ["<", ">", "\"", "&", "idrefs=\"p q\"", "</object>", "XDDEVMAPPINGMODEL", "<![CDATA[", "\u{0}"].map {
      Array($0.utf8)
    }
    var accepted = 0
    for _ in 0..<3_000 {
      var bytes = source
      for _ in 0..<Int.random(in: 1...4, using: &numbers) {
        let place = Int.random(in: 0..<bytes.count, using: &numbers)
        let end = min(bytes.count, place + Int.random(in: 0...40, using: &numbers))
        switch Int.random(in: 0..<4, using: &numbers) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &numbers)
        case 1: bytes.removeSubrange(place..<min(end, place + 10))
        case 2: bytes.insert(contentsOf: words[Int.random(in: 0..<words.count, using: &numbers)], at: place)
        default: bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &numbers))
        }
      }
      if (try? MappingModel.load(contents: Data(bytes), file: "f", name: "M")) != nil { accepted += 1 }
    }
    #expect(accepted > 0 && accepted < 3_000, "seed \(seed)")
  }
}
