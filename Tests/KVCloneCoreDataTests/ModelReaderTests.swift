import Foundation
import KVCloneModel
import Testing

@testable import KVCloneCoreData

/// Unusual content of real `contents` files.
struct ModelReaderTests {
  @Test func everythingArrives() throws {
    let loaded = try read(everything)
    let model = loaded.model
    #expect(model.name == "M" && model.versionIdentifier == "M 2")
    let base = try #require(model.entity(named: "Base"))
    #expect(base.isAbstract && base.managedObjectClassName == nil && base.versionHashModifier == "2")
    let note = try #require(model.entity(named: "Note"))
    #expect(note.managedObjectClassName == ".Note" && note.superentityName == "Base")
    #expect(note.renamingIdentifier == "OldNote" && note.codeGenerationType == "class")
    #expect(note.uniquenessConstraints == [["title", "count"]])
    #expect(note.userInfo == ["JSONKeyPath": "a.b c"])
    #expect(note.indexes.map(\.name) == ["indexed:title", "compound:title,count", "byMade"])
    #expect(note.indexes.map(\.origin) == [.indexedAttribute, .compoundIndex, .fetchIndex])
    #expect(note.indexes[2].elements == [.init("made", ascending: false)])
    #expect(note.fetchedProperties[0].fetchRequest.predicateString == "count > 1")
    #expect(model.configurations == ["Cloud": ["Note"]])
    let request = model.fetchRequestTemplates[0]
    #expect(request.fetchLimit == 100 && request.resultType == 2)
    // Options that the file omits have Core Data's defaults.
    #expect(request.includesSubentities && request.includesPendingChanges && request.includesPropertyValues)
    #expect(request.returnsObjectsAsFaults && !request.returnsDistinctResults)
    #expect(model.attribute("place", of: "Note")?.elements.map(\.name) == ["lat"])
  }

  @Test func attributesKeepWhatTheySay() throws {
    let model = try read(everything).model
    func attribute(_ name: String) throws -> AttributeDescription { try #require(model.attribute(name, of: "Note")) }
    let title = try attribute("title")
    #expect(title.minValue == 1 && title.maxValue == 64 && title.regularExpression == "^a*$")
    #expect(title.renamingIdentifier == "name")
    #expect(try attribute("id").userInfo == ["rebuild": "uuid", "sync.remoteKey": "remote id"])
    #expect(try attribute("id").isOptional == false)
    #expect(try attribute("made").isOptional == true)
    #expect(try attribute("photo").allowsExternalBinaryDataStorage)
    #expect(try attribute("color").valueTransformerName == "T")
    #expect(try attribute("color").attributeValueClassName == "C")
    #expect(try attribute("cached").type == .undefined)
    #expect(try attribute("total").derivationExpression == "items.@count")
    #expect(try attribute("total").isDerived)
  }

  @Test func dirtyDefaultsAreReadAsFarAsTheyGo() throws {
    let loaded = try read(everything)
    func value(_ name: String) -> AttributeValue? { loaded.model.attribute(name, of: "Note")?.defaultValue }
    #expect(value("id") == nil)
    #expect(value("count") == 0)
    #expect(value("flag") == false)
    #expect(value("price") == .decimal(Decimal(string: "12.5")!))
    #expect(value("ratio") == .float(0.1))
    #expect(value("link") == .uri("https://a.b"))
    #expect(value("made") == .date(Date(timeIntervalSinceReferenceDate: 388_411_200)))
    let made = loaded.model.attribute("made", of: "Note")
    #expect(made?.minValue == .date(Date(timeIntervalSinceReferenceDate: 0)))
    let doubtful = loaded.warnings.filter { $0.kind == .unreadableValue }.map(\.property)
    #expect(doubtful == ["id", "count"])
    #expect(loaded.warnings.allSatisfy { $0.file == "contents" && !$0.message.isEmpty })
  }

  private static func decimal(_ text: String) -> AttributeValue { .decimal(Decimal(string: text) ?? .nan) }

  @Test(
    arguments: [
      (AttributeType.boolean, "YES", AttributeValue.boolean(true), false), (.boolean, "0", false, false),
      (.boolean, "0.0", false, false), (.boolean, "1", true, false), (.boolean, "maybe", nil, true),
      (.integer32, "0.0", 0, false), (.integer32, "1.5", nil, true), (.integer16, "70000", nil, true),
      (.integer64, "YES", 1, true), (.integer64, "1e300", nil, true), (.double, "0x10", nil, true),
      (.double, "nan", nil, true), (.decimal, "12abc", nil, true), (.uuid, "", nil, true), (.string, "", "", false),
      (.date, "January 1, 2010", nil, true), (.date, "today", nil, true), (.date, "2001-02-30x", nil, true),
      (.date, "2001-02-30 12:00", nil, true), (.date, "2001-01-02 24:00", nil, true),
      (.date, "2001-01-02 00:00:60", nil, true),
      (.date, "2001-01-02 00:00 +2500", nil, true), (.date, "2001-01-02 00:00 01000", nil, true),
      (.date, "2001-01-02T00:00:00Zjunk", nil, true), (.date, "2001-+1-02", nil, true),
      (.date, "2001-01-02T01:00:05+01:00", .date(Date(timeIntervalSinceReferenceDate: 86_405)), false),
      (.date, "2001-01-02", .date(Date(timeIntervalSinceReferenceDate: 86_400)), false),
      (.decimal, "12345678901234567890.12345678901234567", decimal("12345678901234567890.12345678901234567"), false),
      (.decimal, ".5", decimal("0.5"), false), (.decimal, "123456789012345678901234567890123456789", nil, true),
      (.integer64, "9007199254740993.0", .integer(9_007_199_254_740_993), false), (.double, "1e400", nil, true),
      (.integer64, "9223372036854775808", nil, true), (.double, "5.", 5.0, false),
      (.date, "2001-01-02 01:00:05 +0100", .date(Date(timeIntervalSinceReferenceDate: 86_405)), false),
      (.date, "2013-04-23 12:00:00 +0000", .date(Date(timeIntervalSinceReferenceDate: 388_411_200)), false),
      (.binary, "x", nil, true), (.transformable, "", nil, false),
    ] as [(AttributeType, String, AttributeValue?, Bool)])
  func valuesAreReadByType(type: AttributeType, text: String, value: AttributeValue?, isDoubtful: Bool) {
    let parsed = ValueParser.parse(text, interval: nil, type: type)
    #expect(parsed == ParsedValue(value: value, isDoubtful: isDoubtful))
  }

  @Test(
    "seconds that are no number are warned of, whatever the text beside them says",
    arguments: [
      ("defaultDateTimeInterval='abc'", 1), ("minDateTimeInterval='abc'", 1), ("maxDateTimeInterval='1e400'", 1),
      ("defaultDateTimeInterval='nan'", 1), ("defaultDateTimeInterval='0x10' defaultValueString='2001-01-02'", 1),
      ("defaultDateTimeInterval='' defaultValueString=''", 0),
      ("defaultDateTimeInterval='0' defaultValueString='x'", 0),
      ("defaultDateTimeInterval='-1.5e3'", 0),
    ])
  func intervals(_ text: String, _ count: Int) throws {
    let loaded = try readEntity("<attribute name='a' attributeType='Date' optional='YES' \(text)/>")
    #expect(loaded.warnings.filter { $0.kind == .unreadableValue && $0.property == "a" }.count == count)
    let other = try readEntity(
      "<attribute name='a' attributeType='Double' optional='YES' defaultDateTimeInterval='abc'/>")
    #expect(!other.warnings.contains { $0.kind == .unreadableValue })
  }

  @Test func relationshipsKeepWhatTheySay() throws {
    let loaded = try read(everything)
    let items = try #require(loaded.model.relationship("items", of: "Note"))
    #expect(items.isToMany && items.isOrdered && items.isOptional && items.deleteRule == .cascade)
    #expect(items.minCount == 0 && items.maxCount == 0 && items.inverseEntityName == nil)
    let pair = try #require(loaded.model.relationship("pair", of: "Note"))
    #expect(!pair.isToMany && !pair.isOptional && pair.minCount == 1 && pair.maxCount == 1)
    let note = try #require(loaded.model.relationship("note", of: "Item"))
    #expect(note.destinationEntityName == "Base" && note.inverseEntityName == "Note" && note.deleteRule == .noAction)
    #expect(loaded.model.inverse(of: "note", in: "Item")?.entityName == "Note")
    #expect(loaded.model.inverse(of: "items", in: "Note")?.entityName == "Item")
  }

  @Test func nothingIsLostSilently() throws {
    let loaded = try read(
      """
      <model shiny="YES"><entity name="E" glow="1"><attribute name="a" attributeType="String" optional="MAYBE" hue="2">
      <validation/></attribute><method/></entity><entity name="F"><attribute name="b"/>
      <relationship name="r" maxCount="5" minCount="-1" deletionRule="Explode" destinationEntity="E"/></entity></model>
      """)
    let texts = loaded.warnings.map(\.description)
    for part in ["'shiny'", "E: attribute 'glow'", "E.a: attribute 'hue'", "<validation>", "<method>", "'optional'"] {
      #expect(texts.contains { $0.contains(part) }, "\(part)")
    }
    #expect(loaded.warnings.contains { $0.kind == .untypedAttribute && $0.property == "b" })
    #expect(loaded.warnings.contains { $0.kind == .meaninglessFlag && $0.property == "r" })
    #expect(loaded.model.relationship("r", of: "F")?.maxCount == 1)
    #expect(loaded.model.relationship("r", of: "F")?.deleteRule == .nullify)
    #expect(loaded.model.attribute("b", of: "F")?.isTransient == true)
  }

  @Test func whatCannotBeUsedIsAnError() throws {
    #expect(throws: ModelFileError.notAModel(path: "contents")) { try read("<plist/>") }
    #expect(
      throws: ModelFileError.unknownAttributeType(path: "contents", entity: "E", property: "a", type: "Quaternion")
    ) { try readEntity("<attribute name='a' attributeType='Quaternion'/>") }
    #expect(
      throws: ModelFileError.missingAttribute(path: "contents", line: 1, element: "attribute", attribute: "name")
    ) { try readEntity("<attribute attributeType='String'/>") }
    #expect(
      throws: ModelFileError.invalidModel(path: "contents", .rebuildTypeMismatch(entity: "E", property: "a"))
    ) {
      try readEntity(
        "<attribute name='a' attributeType='String'><userInfo><entry key='rebuild' value='uuid'/></userInfo>"
          + "</attribute>"
      )
    }
    #expect(
      throws: ModelFileError.invalidModel(
        path: "contents", .unknownDestination(entity: "E", property: "r", destination: "X"))
    ) { try readEntity("<relationship name='r' destinationEntity='X' deletionRule='Nullify'/>") }
  }
}
