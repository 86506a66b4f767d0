import Foundation
import KVCloneModel

@testable import KVCloneCoreData

/// Reads a `contents` file given as text.
func read(_ xml: String) throws(ModelFileError) -> LoadedModel { try read(Data(xml.utf8)) }

func read(_ bytes: Data) throws(ModelFileError) -> LoadedModel {
  try ManagedObjectModel.load(
    contents: bytes, file: "contents", name: "M", version: "M 2", userInfoKeys: .standard)
}

/// Reads a model of one entity `E` given by its children.
func readEntity(_ children: String) throws(ModelFileError) -> LoadedModel {
  try read("<model><entity name=\"E\">\(children)</entity></model>")
}

/// A temporary folder that exists as long as this value.
final class TemporaryFolder {
  let path = FileManager.default.temporaryDirectory.appendingPathComponent("kvclone-\(UUID().uuidString)").path

  init() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func write(_ text: String, to name: String) throws {
    let file = URL(fileURLWithPath: path).appendingPathComponent(name)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  /// Writes a version with a single entity of the given name.
  func writeVersion(_ name: String, entity: String, in bundle: String = "X.xcdatamodeld") throws {
    try write("<model><entity name=\"\(entity)\"/></model>", to: "\(bundle)/\(name).xcdatamodel/contents")
  }

  func writeCurrent(_ name: String?, in bundle: String = "X.xcdatamodeld") throws {
    let entry = name.map { "<key>_XCCurrentVersionName</key><string>\($0)</string>" } ?? ""
    let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\"><dict>"
    try write("\(head)\(entry)</dict></plist>", to: "\(bundle)/.xccurrentversion")
  }
}

/// SplitMix64: the same numbers for the same seed, everywhere.
struct SeededNumbers: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// A model with one of everything that a `contents` file can hold.
let everything = """
  <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
  <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
      <entity name="Base" representedClassName="" isAbstract="YES" syncable="YES" versionHashModifier="2">
          <attribute name="id" attributeType="UUID" defaultValueString="empy">
              <userInfo><entry key="rebuild" value="uuid"/><entry key="sync.remoteKey" value="remote id"/></userInfo>
          </attribute>
          <attribute name="made" optional="true" attributeType="Date" defaultDateTimeInterval="388411200"
              defaultValueString="January 1, 2010" minDateTimeInterval="0" minValueString="x"/>
      </entity>
      <entity name="Note" representedClassName=".Note" parentEntity="Base" elementID="OldNote"
          codeGenerationType="class">
          <attribute name="title" optional="YES" attributeType="String" minValueString="1" maxValueString="64"
              regularExpressionString="^a*$" elementID="name" indexed="YES"/>
          <attribute name="count" attributeType="Integer 16" defaultValueString="NO" usesScalarValueType="YES"/>
          <attribute name="flag" attributeType="Boolean" defaultValueString="0.0"/>
          <attribute name="price" attributeType="Decimal" defaultValueString="12.50"/>
          <attribute name="ratio" attributeType="Float" defaultValueString="0.1"/>
          <attribute name="link" optional="YES" attributeType="URI" defaultValueString="https://a.b"/>
          <attribute name="photo" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
          <attribute name="color" optional="YES" attributeType="Transformable"
              valueTransformerName="T" customClassName="C"/>
          <attribute name="place" optional="YES" attributeType="Composite" composite="Point"/>
          <attribute name="cached" transient="YES" syncable="YES"/>
          <attribute name="total" optional="YES" attributeType="Integer 64"
              derived="YES" derivationExpression="items.@count"/>
          <relationship name="items" optional="YES" toMany="YES" deletionRule="Cascade" ordered="YES"
              destinationEntity="Item" inverseName="note" inverseEntity="Item"/>
          <relationship name="pair" minCount="1" maxCount="1" deletionRule="Deny" destinationEntity="Note"
              inverseName="pair" inverseEntity="Note"/>
          <fetchedProperty name="recent" optional="YES">
              <fetchRequest name="r" entity="Note" predicateString="count &gt; 1"/>
          </fetchedProperty>
          <compoundIndexes><compoundIndex><index value="title"/><index value="count"/></compoundIndex></compoundIndexes>
          <fetchIndex name="byMade"><fetchIndexElement property="made" type="Binary" order="descending"/></fetchIndex>
          <uniquenessConstraints>
              <uniquenessConstraint><constraint value="title"/><constraint value="count"/></uniquenessConstraint>
          </uniquenessConstraints>
          <userInfo><entry key="JSONKeyPath" value="a.b c"/></userInfo>
      </entity>
      <entity name="Item">
          <relationship name="note" optional="YES" minCount="0" maxCount="1" deletionRule="No Action"
              destinationEntity="Base" inverseName="items" inverseEntity="Note"/>
      </entity>
      <fetchRequest name="all" entity="Note" fetchLimit="100" resultType="2" includeSubentities="YES"
          includesPendingChanges="YES"/>
      <configuration name="Cloud"><memberEntity name="Note"/></configuration>
      <composite name="Point"><attribute name="lat" attributeType="Double" defaultValueString="0.0"/></composite>
      <elements><element name="Note" positionX="1" positionY="1" width="1" height="1"/></elements>
  </model>
  """
