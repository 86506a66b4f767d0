import Foundation
import KVClone
import KVCloneModel

@testable import KVCloneCore
@testable import KVCloneCoreData

/// Texts from users: model files, dates and JSON.
let textTargets: [FuzzTarget] = [
  FuzzTarget(name: "model-xml", seeds: [Array(modelText.utf8)], run: modelXML),
  FuzzTarget(name: "model-json", seeds: modelJSONSeed, run: modelJSON),
  FuzzTarget(
    name: "json",
    seeds: [#"{"id":"Note/1","attributes":{"a":1.5e3,"b":[true,null,"\u00e9\n"]}}"#].map { Array($0.utf8) },
    run: json),
  FuzzTarget(
    name: "date", seeds: ["2021-11-15T08:10:00.25Z", "0001-01-01T00:00:00Z"].map { Array($0.utf8) }, run: date),
]

private let modelText = """
  <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
  <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" sourceLanguage="Swift">
    <entity name="Note" representedClassName="Note" syncable="YES">
      <attribute name="title" optional="YES" attributeType="String" defaultValueString="x"/>
      <attribute name="count" attributeType="Integer 16" minValueString="0" maxValueString="9" usesScalarValueType="YES"/>
      <relationship name="items" optional="YES" toMany="YES" ordered="YES" deletionRule="Cascade" destinationEntity="Item" inverseName="note" inverseEntity="Item"/>
      <uniquenessConstraints><uniquenessConstraint><constraint value="title"/></uniquenessConstraint></uniquenessConstraints>
      <userInfo><entry key="exclude" value="YES"/></userInfo>
    </entity>
    <entity name="Item" parentEntity="Note" isAbstract="NO">
      <relationship name="note" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Note" inverseName="items" inverseEntity="Note"/>
    </entity>
  </model>
  """

private let modelJSONSeed: [[UInt8]] = {
  let loaded = try? ManagedObjectModel.load(
    contents: Data(modelText.utf8), file: "contents", name: "Model", version: "Model", userInfoKeys: .standard)
  return [(try? loaded?.model.encodedJSON()) ?? []]
}()

/// Checks that a model that can be read can be encoded and decoded again.
@Sendable private func modelXML(_ bytes: UnsafeRawBufferPointer) {
  guard
    let loaded = try? ManagedObjectModel.load(
      contents: Data(bytes), file: "contents", name: "Model", version: "Model", userInfoKeys: .standard)
  else { return }
  let again = (try? loaded.model.encodedJSON()).flatMap { try? ManagedObjectModel(encodedJSON: $0) }
  precondition(again == loaded.model, "a model written down and read again is another one")
}

@Sendable private func modelJSON(_ bytes: UnsafeRawBufferPointer) {
  guard let model = try? ManagedObjectModel(encodedJSON: Array(bytes)) else { return }
  _ = try? model.validate()
  _ = model.modelHash
}

@Sendable private func json(_ bytes: UnsafeRawBufferPointer) {
  let text = Array(bytes.bindMemory(to: UInt8.self))
  guard case .some(.object(let object)) = try? JSONParser.parse(text.span) else { return }
  for member in object.members {
    for type in AttributeType.allCases {
      var attributes = AttributeJSON.Attributes()
      let attribute = AttributeDescription(member.name, type)
      try? AttributeJSON.read(member.value, for: attribute, into: &attributes)
    }
  }
}

/// Checks that a date survives formatting and parsing.
@Sendable private func date(_ bytes: UnsafeRawBufferPointer) {
  let text = String(decoding: bytes, as: UTF8.self)
  if let seconds = CalendarText.secondsSince2001(text), let again = CalendarText.text(secondsSince2001: seconds) {
    precondition(
      CalendarText.secondsSince2001(again)?.bitPattern == seconds.bitPattern, "a date's text is another date")
  }
  guard bytes.count >= 8 else { return }
  let seconds = Double(bitPattern: bytes.loadUnaligned(as: UInt64.self))
  if let text = CalendarText.text(secondsSince2001: seconds) {
    precondition(CalendarText.secondsSince2001(text)?.bitPattern == seconds.bitPattern, "a date's text is another date")
  }
}
