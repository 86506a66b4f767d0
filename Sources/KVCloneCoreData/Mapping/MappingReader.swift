import Foundation
import KVCloneModel

/// Converts the tree of a `xcmapping.xml` file to a mapping model, with warnings about everything unknown.
struct MappingReader {
  private let file: String
  private var context: ReadContext
  private var objects: [String: MappingObject] = [:]
  /// The number of archive bytes that may still be read: excludes the embedded models, and expressions are short.
  private var archiveBudget = MappingLimits.archiveBytes

  private init(file: String) {
    self.file = file
    context = ReadContext(file: file)
  }

  static func read(
    _ root: XMLNode, file: String, name: String
  ) throws(ModelFileError) -> (mapping: MappingModel, warnings: [ModelWarning]) {
    guard root.name == "database" else { throw .notAMapping(path: file) }
    var reader = MappingReader(file: file)
    let mapping = try reader.mapping(root, name: name)
    return (mapping, reader.context.warnings)
  }

  private mutating func mapping(_ root: XMLNode, name: String) throws(ModelFileError) -> MappingModel {
    let element = ElementReader(root, file: file)
    var model: MappingObject?
    for child in root.children {
      // The version of Xcode's own format.
      if child.name == "databaseInfo" { continue }
      guard child.name == "object" else {
        element.warnUnknown(child: child, &context)
        continue
      }
      let object = try MappingObject(child, file: file, &context)
      if objects[object.id] != nil { throw broken(child.line, "object '\(object.id)' occurs twice") }
      objects[object.id] = object
      guard object.kind == .mappingModel else { continue }
      if model != nil { throw broken(child.line, "the file has two mapping models") }
      model = object
    }
    element.finish(&context)
    guard var model else { throw .notAMapping(path: file) }
    objects[model.id] = nil
    var result = MappingModel([], name: name)
    result.sourceModelPath = model.text("sourcemodelpath")
    result.destinationModelPath = model.text("destinationmodelpath")
    // The models in Xcode's own form; the versions themselves contain the same.
    model.ignore("sourcemodeldata", "destinationmodeldata")
    result.entityMappings = try entityMappings(&model)
    model.finish(&context)
    noticeUnused()
    return result
  }

  private mutating func entityMappings(_ model: inout MappingObject) throws(ModelFileError) -> [EntityMapping] {
    var found: [(number: Int, mapping: EntityMapping)] = []
    for id in model.references("entitymappings") {
      var object = try take(id, .entityMapping, from: model)
      guard found.count < MappingLimits.entityMappings else {
        throw .limitExceeded(
          path: file, line: object.line, what: "entity mappings (\(MappingLimits.entityMappings))")
      }
      let number = object.text("mappingnumber")
      if number != nil && number.flatMap({ Int($0) }) == nil {
        context.warn(.unreadableValue, "the 'mappingnumber' in line \(object.line) is not a number, and is ignored")
      }
      guard let mapping = try entityMapping(&object) else { continue }
      found.append((number.flatMap { Int($0) } ?? Int.max, mapping))
    }
    // Mappings with equal or missing numbers stay in the file's order.
    let order = found.indices.sorted { (found[$0].number, $0) < (found[$1].number, $1) }
    let mappings = order.map { found[$0].mapping }
    var names: Set<String> = []
    for mapping in mappings where !names.insert(mapping.name).inserted {
      context.entity = mapping.name
      context.warn(.unusableMapping, "is the name of two entity mappings; rename one of them before a migration")
    }
    context.entity = nil
    return mappings
  }

  /// Nil for a mapping without entities, which does nothing: Xcode leaves it when entities are removed.
  private mutating func entityMapping(_ object: inout MappingObject) throws(ModelFileError) -> EntityMapping? {
    let (source, destination) = (object.text("sourcename"), object.text("destinationname"))
    guard source != nil || destination != nil else {
      context.warn(
        .unusableMapping,
        "the entity mapping in line \(object.line) names neither a source nor a destination entity, and is ignored")
      for id in object.references("attributemappings") + object.references("relationshipmappings") { objects[id] = nil }
      return nil
    }
    var mapping = EntityMapping(
      from: source, to: destination, name: object.text("name"), mapsUnlistedProperties: false)
    context.entity = mapping.name
    defer { context.entity = nil }
    mapping.mappingType = type(&object)
    mapping.entityMigrationPolicyClassName = object.text("migrationpolicyclassname")
    if mapping.mappingType == .undefined { mapping.mappingType = Self.inferredType(of: mapping) }
    mapping.sourceObjects = try sourceObjects(&object, entity: source)
    mapping.userInfo = try userInfo(&object)
    for id in object.references("attributemappings") {
      var property = try take(id, .attributeMapping, from: object)
      mapping.attributeMappings.append(try propertyMapping(&property))
    }
    for id in object.references("relationshipmappings") {
      var property = try take(id, .relationshipMapping, from: object)
      mapping.relationshipMappings.append(try propertyMapping(&property))
    }
    object.ignore("mappingmodel")
    object.finish(&context)
    return mapping
  }

  /// Xcode writes "Undefined" for every type, whatever its editor shows.
  private mutating func type(_ object: inout MappingObject) -> EntityMappingType {
    switch object.text("mappingtypename") {
    case nil, "Undefined": return .undefined
    case "Custom": return .custom
    case "Add": return .add
    case "Remove": return .remove
    case "Copy": return .copy
    case "Transform": return .transform
    case let name?:
      context.warn(.unreadableValue, "the type '\(name)' is unknown; it is inferred")
      return .undefined
    }
  }

  /// The type according to the mapping alone; only the models show whether two entities are equal.
  private static func inferredType(of mapping: EntityMapping) -> EntityMappingType {
    if mapping.entityMigrationPolicyClassName != nil { return .custom }
    if mapping.sourceEntityName == nil { return .add }
    return mapping.destinationEntityName == nil ? .remove : .undefined
  }

  // MARK: Expressions

  private mutating func sourceObjects(
    _ object: inout MappingObject, entity: String?
  ) throws(ModelFileError) -> EntityMapping.SourceObjects {
    let format = object.text("sourcefilterpredicatestring")
    let archive = object.text("sourceexpressiondata")
    let isGenerated = object.flag("autogenerateexpression", &context) ?? (archive == nil)
    var result: EntityMapping.SourceObjects = .all
    // Xcode keeps the flag set next to an expression; only a predicate replaces the expression.
    if let archive, !(isGenerated && format != nil) {
      do {
        let found = try ExpressionArchive.sourceObjects(in: try bytes(of: archive, line: object.line) ?? [])
        result = found.objects
        if let name = found.entity, name != entity { result = .unsupported("FETCH of \(name)") }
      } catch {
        if let error = error as? ModelFileError { throw error }
        result = .unsupported("a corrupted archive")
      }
    } else if let format {
      result = ExpressionArchive.sourceObjects(format: format)
    }
    if case .unsupported(let text) = result {
      context.warn(
        .unusableMapping, "has an unsupported selection of source objects (\(Self.shown(text)))")
    }
    return result
  }

  private mutating func propertyMapping(_ object: inout MappingObject) throws(ModelFileError) -> PropertyMapping {
    var property = PropertyMapping(try object.required("name"), nil)
    context.property = property.name
    defer { context.property = nil }
    property.userInfo = try userInfo(&object)
    let archive = object.text("valueexpressiondata")
    let keyPath = object.text("sourcekeypath")
    let mapping = object.text("sourcemappingname")
    let isGenerated = object.flag("autogenerateexpression", &context)
    // An expression applies regardless of the flag: Xcode leaves it set in most files that have one.
    if let archive {
      property.valueExpression = try expression(archive, line: object.line)
    } else if keyPath != nil || mapping != nil {
      property.valueExpression = expression(
        keyPath: keyPath ?? "$source.\(property.name)", mapping: mapping,
        isRelationship: object.kind == .relationshipMapping)
    } else if isGenerated != false {
      // Xcode shows `$source.name` in its editor, and omits it in the file.
      property.valueExpression = .automatic
    }
    if case .unsupported(let text)? = property.valueExpression {
      context.warn(.unusableMapping, "has an unsupported expression (\(Self.shown(text)))")
    }
    object.ignore("entitymapping")
    object.finish(&context)
    return property
  }

  private mutating func expression(_ archive: String, line: Int) throws(ModelFileError) -> MappingExpression {
    do {
      return try ExpressionArchive.expression(in: try bytes(of: archive, line: line) ?? [])
    } catch {
      if let error = error as? ModelFileError { throw error }
      return .unsupported("a corrupted archive")
    }
  }

  /// The expression that Xcode's editor generates from a key path and from the mapping of a relationship's objects.
  ///
  /// - Parameter keyPath: `$source`, or a path from it, such as `$source.note`; one without a variable starts at the
  ///   source object.
  private func expression(keyPath: String, mapping: String?, isRelationship: Bool) -> MappingExpression {
    let source = QueryExpression.variable("source")
    let parts = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let names = parts.first == "$source" ? Array(parts.dropFirst()) : parts
    if names.contains(where: { $0.isEmpty || $0.hasPrefix("$") }) { return .unsupported(keyPath) }
    // An object is not a valid value of an attribute.
    if names.isEmpty, !isRelationship { return .unsupported(keyPath) }
    var value = source
    if !names.isEmpty {
      let path = names.joined(separator: ".")
      guard let inner = try? QueryExpression(format: "%@.%K", .expression(source), .string(path)) else {
        return .unsupported(keyPath)
      }
      value = inner
    }
    guard isRelationship else { return .value(value) }
    if let mapping { return .destinationInstances(mapping: mapping, of: .value(value)) }
    return .destinationInstancesForRelationship(names.last ?? keyPath, of: .value(value))
  }

  private mutating func userInfo(_ object: inout MappingObject) throws(ModelFileError) -> [String: String] {
    guard let archive = object.text("userinfodata") else { return [:] }
    do {
      let info = try ExpressionArchive.userInfo(in: try bytes(of: archive, line: object.line) ?? [])
      if !info.isWhole {
        context.warn(.unreadableValue, "the user info has entries that are not texts; they are ignored")
      }
      return info.texts
    } catch {
      if let error = error as? ModelFileError { throw error }
      context.warn(.unreadableValue, "the user info cannot be read, and is ignored")
      return [:]
    }
  }

  /// Decodes base 64 with line breaks; nil if it is invalid.
  private mutating func bytes(of text: String, line: Int) throws(ModelFileError) -> [UInt8]? {
    archiveBudget -= text.utf8.count
    guard archiveBudget >= 0 else {
      throw .limitExceeded(path: file, line: line, what: "bytes of expressions (\(MappingLimits.archiveBytes))")
    }
    let digits = Data(text.utf8.filter { !" \t\r\n".utf8.contains($0) })
    return Data(base64Encoded: digits).map { [UInt8]($0) }
  }

  private static func shown(_ text: String) -> String { text.utf8.count <= 200 ? text : String(text.prefix(200)) + "…" }

  // MARK: Objects

  /// Returns the object that a reference names. Each has one owner, as in Xcode's model of mappings.
  private mutating func take(
    _ id: String, _ kind: MappingObject.Kind, from owner: MappingObject
  ) throws(ModelFileError) -> MappingObject {
    guard let object = objects[id] else {
      throw broken(owner.line, "object '\(owner.id)' refers to '\(id)', which is missing or belongs to another object")
    }
    guard object.kind == kind else {
      throw broken(owner.line, "object '\(owner.id)' refers to '\(id)', which has another type")
    }
    objects[id] = nil
    return object
  }

  /// Warns once of all unused objects in the file: Xcode leaves dozens when properties are removed from a model.
  private mutating func noticeUnused() {
    let lines = objects.values.filter { $0.kind != nil }.map(\.line).sorted()
    guard let first = lines.first else { return }
    let message =
      lines.count == 1
      ? "the mapping in line \(first) does not belong to an entity mapping, and is ignored"
      : "\(lines.count) mappings, the first in line \(first), do not belong to an entity mapping, and are ignored"
    context.warn(.unknownContent, message)
  }

  private func broken(_ line: Int, _ reason: String) -> ModelFileError {
    .brokenMapping(path: file, line: line, reason: reason)
  }
}

/// The maximum sizes of a mapping model. The largest known one has 16 entity mappings.
enum MappingLimits {
  /// As many as a model may have entities.
  static let entityMappings = ModelLimits.entities
  /// The size of all expressions and user infos in base 64; real ones have some hundred bytes each.
  static let archiveBytes = 8 << 20
}
