import Foundation
public import KVCloneModel

extension ManagedObjectModel {
  /// Returns the model as the text of a `contents` file, which Xcode, Core Data's model compiler and
  /// ``load(contentsOf:version:userInfoKeys:)`` can read.
  ///
  /// The text is parsed again before it is returned, and must yield the same model with the same
  /// `modelHash`. Some Swift declarations have only one form in the file. The elements of an attribute without a
  /// composite name become a composite `Entity_attribute`. An index of an old kind that an old file could not express
  /// becomes a fetch index.
  ///
  /// - Throws: `inexpressible`, with entity and property, if the file cannot express a value: a control character, a
  ///   default value of bytes, an infinite bound, an empty regular expression.
  public func contentsText() throws(ModelFileError) -> String {
    try contentsText(file: "contents")
  }

  /// Writes a model bundle, a `.xcdatamodeld` folder, with this version as its current version.
  ///
  /// A loaded model takes its name from the bundle. The version's folder is named after `versionIdentifier`. The files
  /// get the process's default permissions, because a model contains no data of objects.
  ///
  /// - Parameter path: The folder to create. Its parent must exist, and the path itself must not.
  /// - Throws: `alreadyExists`, `inexpressible` (see ``contentsText()``), and `unwritable` with the error of the file
  ///   system. After an error, no files remain.
  public func write(to path: String) throws(ModelFileError) {
    let files = try bundleFiles(path)
    let manager = FileManager.default
    // A dangling link exists, too.
    if (try? manager.attributesOfItem(atPath: path)) != nil { throw .alreadyExists(path: path) }
    do {
      try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
    } catch {
      throw .unwritable(path: path, reason: FileProblem.reason(error))
    }
    do {
      try manager.createDirectory(atPath: "\(path)/\(files.version)", withIntermediateDirectories: false)
      try Data(files.contents.utf8).write(to: URL(fileURLWithPath: "\(path)/\(files.version)/contents"))
      try Data(files.current.utf8).write(to: URL(fileURLWithPath: "\(path)/.xccurrentversion"))
    } catch {
      try? manager.removeItem(atPath: path)
      throw .unwritable(path: path, reason: FileProblem.reason(error))
    }
  }

  /// The content that ``write(to:)`` writes: the name of the version's folder, the text of `contents` in it, and that
  /// of `.xccurrentversion` in the bundle.
  package func bundleFiles(
    _ path: String
  ) throws(ModelFileError) -> (version: String, contents: String, current: String) {
    guard path.hasSuffix(".xcdatamodeld"), URL(fileURLWithPath: path).lastPathComponent != ".xcdatamodeld" else {
      throw .unwritable(path: path, reason: "the name of a model bundle must end in .xcdatamodeld")
    }
    guard Self.isFileName(versionIdentifier) else {
      throw .inexpressible(
        path: path, entity: nil, property: nil,
        reason: "the version's name '\(versionIdentifier)' is not a valid folder name; rename the version")
    }
    let version = "\(versionIdentifier).xcdatamodel"
    let text = try contentsText(file: "\(path)/\(version)/contents")
    return (version, text, try Self.currentVersionText(version, path))
  }

  private func contentsText(file: String) throws(ModelFileError) -> String {
    let expected = expressibleForm
    let text = try ModelWriter.write(expected, file: file)
    let root = try XMLTree.parse(Data(text.utf8), path: file)
    let read = try ModelReader.read(root, file: file, name: name, version: versionIdentifier).model
    if let (entity, property) = expected.firstDifference(from: read) {
      throw .inexpressible(
        path: file, entity: entity, property: property,
        reason:
          "has a value that a contents file cannot express, such as an empty optional text or a negative"
          + " count; correct it")
    }
    // The output has to be loadable: the file's form can introduce names that no store accepts.
    do {
      _ = try read.validate()
    } catch {
      throw .inexpressible(
        path: file, entity: error.entity, property: error.property, reason: "could not be loaded again: \(error)")
    }
    return text
  }

  /// The first difference between two models; nil if they are equal.
  private func firstDifference(from other: ManagedObjectModel) -> (entity: String?, property: String?)? {
    if self == other { return nil }
    for (entity, read) in zip(entities, other.entities) where entity != read {
      let attribute = zip(entity.attributes, read.attributes).first { $0 != $1 }?.0.name
      let relationship = zip(entity.relationships, read.relationships).first { $0 != $1 }?.0.name
      let fetched = zip(entity.fetchedProperties, read.fetchedProperties).first { $0 != $1 }?.0.name
      return (entity.name, attribute ?? relationship ?? fetched)
    }
    for (composite, read) in zip(composites, other.composites) where composite != read {
      return (composite.name, zip(composite.elements, read.elements).first { $0 != $1 }?.0.name)
    }
    let request = zip(fetchRequestTemplates, other.fetchRequestTemplates).first { $0 != $1 }?.0
    return (request?.entityName, request?.name)
  }

  /// Whether a name is valid for a folder, with its extension.
  private static func isFileName(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= 200 && !name.utf8.contains(0) && !name.contains("/")
  }

  private static func currentVersionText(_ version: String, _ path: String) throws(ModelFileError) -> String {
    var text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      <dict>
      \t<key>_XCCurrentVersionName</key>
      \t<string>
      """
    guard XMLText.append(version, to: &text) else {
      throw .inexpressible(
        path: path, entity: nil, property: nil,
        reason: "the version's name has a character that XML cannot express; rename the version")
    }
    return text + "</string>\n</dict>\n</plist>\n"
  }
}

extension ManagedObjectModel {
  /// The same model in the canonical form of a `contents` file.
  ///
  /// Inline elements of an attribute become a composite of the model, an inverse's entity that equals the destination
  /// is omitted, and indexes of old kinds come first, or become fetch indexes if an old file could not contain them.
  /// Models that were read from such files stay unchanged.
  var expressibleForm: ManagedObjectModel {
    var hoisting = CompositeHoisting(composites)
    let entities = self.entities.map { given -> EntityDescription in
      var entity = given
      entity.attributes = given.attributes.map { hoisting.attribute($0, of: given.name) }
      entity.relationships = given.relationships.map(Self.expressible)
      entity.uniquenessConstraints.removeAll(where: \.isEmpty)
      entity.indexes = Self.expressibleIndexes(of: given)
      return entity
    }
    return ManagedObjectModel(
      name: name, versionIdentifier: versionIdentifier, entities: entities, composites: hoisting.finish(),
      configurations: configurations, fetchRequestTemplates: fetchRequestTemplates)
  }

  private static func expressible(_ given: RelationshipDescription) -> RelationshipDescription {
    var relationship = given
    if given.inverseName == nil || given.inverseEntityName == given.destinationEntityName {
      relationship.inverseEntityName = nil
    }
    return relationship
  }

  private static func expressibleIndexes(of entity: EntityDescription) -> [FetchIndexDescription] {
    let flags = entity.attributes.map { attribute in
      FetchIndexDescription("indexed:\(attribute.name)", [.init(attribute.name)], origin: .indexedAttribute)
    }
    let others = entity.indexes.filter { !flags.contains($0) }.map { given -> FetchIndexDescription in
      var index = given
      let names = given.elements.compactMap(\.propertyName)
      let compound = FetchIndexDescription(
        "compound:" + names.joined(separator: ","), names.map { .init($0) }, origin: .compoundIndex)
      index.origin = !names.isEmpty && given == compound ? .compoundIndex : .fetchIndex
      return index
    }
    return flags.filter(entity.indexes.contains) + others
  }
}

/// Creates named composites from inline elements.
private struct CompositeHoisting {
  private var composites: [CompositeAttributeDescription]
  private var hoisted: [CompositeAttributeDescription] = []
  private var names: Set<String>

  init(_ composites: [CompositeAttributeDescription]) {
    self.composites = composites
    names = Set(composites.map(\.name))
  }

  mutating func attribute(_ given: AttributeDescription, of owner: String) -> AttributeDescription {
    var attribute = given
    // A named composite defines the elements.
    attribute.elements = []
    guard given.type == .composite, given.compositeName == nil, !given.elements.isEmpty else { return attribute }
    let place = hoisted.count
    var name = Self.name("\(owner)_\(given.name)")
    while !names.insert(name).inserted { name += "_" }
    let elements = given.elements.map { self.attribute($0, of: name) }
    // Reuses an equal composite: an entity that redeclares an inherited attribute has to name the same composite.
    if let known = hoisted.first(where: { $0.elements == elements && $0.name.hasSuffix("_\(given.name)") }) {
      hoisted.removeSubrange(place...)
      attribute.compositeName = known.name
      return attribute
    }
    attribute.compositeName = name
    hoisted.append(CompositeAttributeDescription(name, elements: elements))
    return attribute
  }

  /// Shortens a name to the maximum length.
  private static func name(_ wanted: String) -> String {
    wanted.utf8.count <= 200 ? wanted : "Composite"
  }

  mutating func finish() -> [CompositeAttributeDescription] {
    let own = composites.map { given -> CompositeAttributeDescription in
      var composite = given
      composite.elements = given.elements.map { attribute($0, of: given.name) }
      return composite
    }
    return own + hoisted
  }
}
