import Foundation
import KVCloneModel

extension ModelWriter {
  mutating func write(_ attribute: AttributeDescription, isIndexed: Bool) throws(ModelFileError) {
    property = attribute.name
    defer { property = nil }
    let value = try text(of: attribute.defaultValue, "default value")
    let minimum = try text(of: attribute.minValue, "minimum")
    let maximum = try text(of: attribute.maxValue, "maximum")
    try open(
      "attribute",
      [
        "name": attribute.name, "optional": flag(attribute.isOptional), "transient": flag(attribute.isTransient),
        "attributeType": attribute.type == .undefined ? nil : attribute.type.rawValue,
        "composite": attribute.compositeName, "valueTransformerName": attribute.valueTransformerName,
        "customClassName": attribute.attributeValueClassName, "minValueString": minimum?.text,
        "minDateTimeInterval": minimum?.interval, "maxValueString": maximum?.text,
        "maxDateTimeInterval": maximum?.interval, "defaultValueString": value?.text,
        "defaultDateTimeInterval": value?.interval, "regularExpressionString": attribute.regularExpression,
        "allowsExternalBinaryDataStorage": flag(attribute.allowsExternalBinaryDataStorage),
        "usesScalarValueType": scalarFlag(attribute), "derived": flag(attribute.isDerived),
        "derivationExpression": attribute.derivationExpression, "elementID": attribute.renamingIdentifier,
        "versionHashModifier": attribute.versionHashModifier, "indexed": flag(isIndexed),
        "spotlightIndexingEnabled": flag(attribute.isIndexedBySpotlight),
        "preserveAfterDeletion": flag(attribute.preservesValueInHistoryOnDeletion),
        "allowsCloudEncryption": flag(attribute.allowsCloudEncryption),
      ], isEmpty: attribute.userInfo.isEmpty)
    try close("attribute", after: attribute.userInfo)
  }

  mutating func write(_ relationship: RelationshipDescription) throws(ModelFileError) {
    property = relationship.name
    defer { property = nil }
    let inverseEntity = relationship.inverseEntityName ?? relationship.destinationEntityName
    try open(
      "relationship",
      [
        "name": relationship.name, "optional": flag(relationship.isOptional),
        "transient": flag(relationship.isTransient), "toMany": flag(relationship.isToMany),
        "minCount": count(relationship.minCount), "maxCount": count(relationship.maxCount),
        "deletionRule": relationship.deleteRule.rawValue, "ordered": flag(relationship.isOrdered),
        "destinationEntity": relationship.destinationEntityName, "inverseName": relationship.inverseName,
        "inverseEntity": relationship.inverseName == nil ? nil : inverseEntity,
        "elementID": relationship.renamingIdentifier, "versionHashModifier": relationship.versionHashModifier,
      ], isEmpty: relationship.userInfo.isEmpty)
    try close("relationship", after: relationship.userInfo)
  }

  mutating func write(_ fetched: FetchedPropertyDescription) throws(ModelFileError) {
    property = fetched.name
    defer { property = nil }
    try open(
      "fetchedProperty",
      [
        "name": fetched.name, "optional": flag(fetched.isOptional), "elementID": fetched.renamingIdentifier,
        "versionHashModifier": fetched.versionHashModifier,
      ])
    try write(fetched.fetchRequest)
    try write(userInfo: fetched.userInfo)
    close("fetchedProperty")
  }

  mutating func write(_ request: FetchRequestTemplate) throws(ModelFileError) {
    try open(
      "fetchRequest",
      [
        "name": request.name, "entity": request.entityName, "predicateString": request.predicateString,
        "fetchLimit": count(request.fetchLimit), "fetchBatchSize": count(request.fetchBatchSize),
        // An absent flag has Core Data's default.
        "resultType": count(request.resultType), "includeSubentities": request.includesSubentities ? "YES" : "NO",
        "includePropertyValues": request.includesPropertyValues ? "YES" : "NO",
        "includesPendingChanges": request.includesPendingChanges ? "YES" : "NO",
        "returnObjectsAsFaults": request.returnsObjectsAsFaults ? "YES" : "NO",
        "returnDistinctResults": flag(request.returnsDistinctResults),
      ], isEmpty: true)
  }

  mutating func write(userInfo: [String: String]) throws(ModelFileError) {
    if userInfo.isEmpty { return }
    try open("userInfo")
    for (key, value) in userInfo.sorted(by: { $0.key < $1.key }) {
      try open("entry", ["key": key, "value": value], isEmpty: true)
    }
    close("userInfo")
  }

  private mutating func close(_ name: String, after userInfo: [String: String]) throws(ModelFileError) {
    if userInfo.isEmpty { return }
    try write(userInfo: userInfo)
    close(name)
  }

  /// Xcode writes NO for what could be a scalar and is not; an absent flag means NO everywhere.
  private func scalarFlag(_ attribute: AttributeDescription) -> String? {
    if attribute.usesScalarValueType { return "YES" }
    return switch attribute.type {
    case .integer16, .integer32, .integer64, .double, .float, .boolean, .date, .uuid: "NO"
    default: nil
    }
  }

  /// Formats a default value or bound: as text, or, for a Date, as seconds since 2001.
  private func text(
    of value: AttributeValue?, _ role: String
  ) throws(ModelFileError) -> (text: String?, interval: String?)? {
    guard let value else { return nil }
    switch value {
    case .integer(let number): return (String(number), nil)
    case .boolean(let isOn): return (isOn ? "YES" : "NO", nil)
    case .string(let text), .uri(let text): return (text, nil)
    case .uuid(let uuid): return (uuid.uuidString, nil)
    case .decimal(let number) where !number.isNaN: return (number.description, nil)
    case .double(let number) where number.isFinite: return (number.description, nil)
    case .float(let number) where number.isFinite: return (Self.text(of: number), nil)
    case .date(let date) where date.timeIntervalSinceReferenceDate.isFinite:
      return (nil, Self.interval(date.timeIntervalSinceReferenceDate))
    case .decimal, .double, .float, .date:
      throw inexpressible(
        "has a \(role) that is not a finite number, which a contents file cannot express; choose another one")
    case .binary, .transformable, .composite, .blob:
      throw inexpressible("has a \(role) of bytes or elements, which a contents file cannot express; remove it")
    }
  }

  /// The shortest text that parses to an equal Float, even through a Double.
  private static func text(of number: Float) -> String {
    let short = number.description
    return Double(short).map { Float($0) }?.bitPattern == number.bitPattern ? short : Double(number).description
  }

  /// Whole seconds without a fraction, like Xcode.
  private static func interval(_ seconds: Double) -> String {
    let isWhole = seconds.rounded() == seconds && abs(seconds) < 1e15 && !(seconds == 0 && seconds.sign == .minus)
    return isWhole ? String(Int64(seconds)) : seconds.description
  }
}
