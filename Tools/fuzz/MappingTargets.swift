import Foundation
import KVCloneModel

@testable import KVCloneCoreData

/// Xcode's mapping models, and separately the archives in them, because the fuzzer rarely passes the base64 encoding.
let mappingTargets: [FuzzTarget] = [
  FuzzTarget(name: "xcmapping", seeds: [Array(mappingText.utf8)], run: mappingXML),
  FuzzTarget(name: "xcmapping-archive", seeds: [archivedPath, []], run: archive),
]

/// The expression `$source.color` as archived by Xcode.
private let archivedText =
  "YnBsaXN0MDDUAQIDBAUGODlYJHZlcnNpb25YJG9iamVjdHNZJGFyY2hpdmVyVCR0b3ASAAGGoKwHCBMUGRoiJywtMDRVJG51bGzV"
  + "CQoLDA0ODxAREllOU09wZXJhbmReTlNTZWxlY3Rvck5hbWVfEBBOU0V4cHJlc3Npb25UeXBlW05TQXJndW1lbnRzViRjbGFzc4AD"
  + "gAIQBIAGgAtfEBB2YWx1ZUZvcktleVBhdGg60xULDRYXGFpOU1ZhcmlhYmxlgAQQAoAFVnNvdXJjZdIbHB0eWiRjbGFzc25hbWVY"
  + "JGNsYXNzZXNfEBROU1ZhcmlhYmxlRXhwcmVzc2lvbqMfICFfEBROU1ZhcmlhYmxlRXhwcmVzc2lvblxOU0V4cHJlc3Npb25YTlNP"
  + "YmplY3TSIw0kJlpOUy5vYmplY3RzoSWAB4AK0w0LKCkqK1lOU0tleVBhdGiACRAKgAhVY29sb3LSGxwuL18QHE5TS2V5UGF0aFNw"
  + "ZWNpZmllckV4cHJlc3Npb26jLiAh0hscMTJeTlNNdXRhYmxlQXJyYXmjMTMhV05TQXJyYXnSGxw1Nl8QE05TS2V5UGF0aEV4cHJl"
  + "c3Npb26kNTcgIV8QFE5TRnVuY3Rpb25FeHByZXNzaW9uXxAPTlNLZXllZEFyY2hpdmVy0To7VHJvb3SAAQAIABEAGgAjAC0AMgA3"
  + "AEQASgBVAF8AbgCBAI0AlACWAJgAmgCcAJ4AsQC4AMMAxQDHAMkA0ADVAOAA6QEAAQQBGwEoATEBNgFBAUMBRQFHAU4BWAFaAVwB"
  + "XgFkAWkBiAGMAZEBoAGkAawBsQHHAcwB4wH1AfgB/QAAAAAAAAIBAAAAAAAAADwAAAAAAAAAAAAAAAAAAAH/"

private let archivedPath = [UInt8](Data(base64Encoded: archivedText) ?? Data())

private let mappingText = """
  <?xml version="1.0" standalone="yes"?>
  <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">
  <database>
    <object type="XDDEVMAPPINGMODEL" id="z1">
      <attribute name="sourcemodelpath" type="string">App/M.xcdatamodeld/M.xcdatamodel</attribute>
      <relationship name="entitymappings" type="0/0" destination="XDDEVENTITYMAPPING" idrefs="z2"></relationship>
    </object>
    <object type="XDDEVENTITYMAPPING" id="z2">
      <attribute name="sourcename" type="string">Post</attribute>
      <attribute name="destinationname" type="string">Post</attribute>
      <attribute name="mappingnumber" type="int16">1</attribute>
      <attribute name="sourcefilterpredicatestring" type="string">a == 1</attribute>
      <relationship name="attributemappings" type="0/0" idrefs="z3"></relationship>
      <relationship name="relationshipmappings" type="0/0" idrefs="z4"></relationship>
    </object>
    <object type="XDDEVATTRIBUTEMAPPING" id="z3">
      <attribute name="valueexpressiondata" type="binary">\(archivedText)</attribute>
      <attribute name="name" type="string">hexColor</attribute>
    </object>
    <object type="XDDEVRELATIONSHIPMAPPING" id="z4">
      <attribute name="sourcekeypath" type="string">a.b</attribute>
      <attribute name="name" type="string">author</attribute>
    </object>
  </database>
  """

/// Checks that a mapping model that can be read can be described and resolved against models.
@Sendable private func mappingXML(_ bytes: UnsafeRawBufferPointer) {
  guard let loaded = try? MappingModel.load(contents: Data(bytes), file: "xcmapping.xml", name: "M") else { return }
  let mapping = loaded.mapping
  for property in mapping.entityMappings.flatMap({ $0.attributeMappings + $0.relationshipMappings }) {
    _ = property.valueExpression?.description
  }
  for path in [mapping.sourceModelPath, mapping.destinationModelPath] {
    _ = path.flatMap { MappingModel.modelVersion(at: $0, near: ".") }
  }
  let names = Set(mapping.entityMappings.flatMap { [$0.sourceEntityName, $0.destinationEntityName] }.compactMap { $0 })
  let model = ManagedObjectModel(name: "M", entities: names.sorted().map { EntityDescription(name: $0) })
  if let resolved = try? mapping.resolved(from: model, to: model) {
    precondition((try? resolved.resolved(from: model, to: model)) == resolved, "what is resolved resolves to itself")
  }
}

/// Checks that an archived expression in the predicate language can be printed and parsed again.
@Sendable private func archive(_ bytes: UnsafeRawBufferPointer) {
  let bytes = Array(bytes)
  _ = try? ExpressionArchive.sourceObjects(in: bytes)
  _ = try? ExpressionArchive.userInfo(in: bytes)
  guard let expression = try? ExpressionArchive.expression(in: bytes) else { return }
  _ = expression.description
  if case .value(let value) = expression {
    let again = try? QueryExpression(format: value.expressionFormat, arguments: [])
    precondition(again == value, "an archived expression, printed and parsed, is another one")
  }
}
