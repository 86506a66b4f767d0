public import KVCloneModel

/// Writes Swift for a model: a struct for each entity and composite attribute, and the model itself.
///
/// The text depends on the model and the options alone, so that generating it again changes nothing.
public struct ModelGenerator {
  /// How the Swift is to be written.
  public struct Options: Sendable {
    /// Who can see what is generated.
    public enum Access: String, Sendable, CaseIterable {
      /// Other modules too.
      case `public`
      /// The module that it is part of.
      case `internal`
    }

    /// Who can see what is generated.
    public var access: Access
    /// An enum that everything is put into; nil is the module itself.
    public var namespace: String?

    /// Options; nothing is put into an enum, and other modules see everything, where nothing else is said.
    public init(access: Access = .public, namespace: String? = nil) {
      self.access = access
      self.namespace = namespace
    }
  }

  let context: GeneratorContext

  /// Looks at a model that has passed its validation.
  ///
  /// - Throws: ``GeneratorError`` for names that Swift cannot tell apart, and for annotations that cannot be understood.
  public init(_ model: ManagedObjectModel, options: Options = Options()) throws(GeneratorError) {
    context = try GeneratorContext(model, options)
  }

  /// A file for each entity and composite, sorted by name, and one for the model.
  public func files() throws(GeneratorError) -> [GeneratedFile] {
    var files: [GeneratedFile] = []
    for (name, body) in try bodies() {
      files.append(file(name + ".swift", nested(body)))
    }
    return files
  }

  /// Everything as one file.
  public func singleFile(named name: String) throws(GeneratorError) -> GeneratedFile {
    let text = try bodies().map { nested($0.body) }.joined(separator: "\n")
    return file(name, text)
  }

  private func bodies() throws(GeneratorError) -> [(name: String, body: String)] {
    var bodies: [(name: String, body: String)] = []
    for composite in context.model.composites {
      bodies.append((context.typeName(ofComposite: composite.name), try compositeSource(composite)))
    }
    for entity in context.model.entities {
      bodies.append((context.typeName(of: entity.name), try entitySource(entity)))
    }
    bodies.sort { $0.name < $1.name }
    bodies.append((context.modelFileName, modelSource()))
    return bodies
  }

  private func file(_ name: String, _ body: String) -> GeneratedFile {
    let access = context.access
    // Foundation is imported where it is used, because an import that is not would be a warning.
    let foundation = ValueSource.usesFoundation(body) ? "\(access)import Foundation\n" : ""
    let model = context.model.name.split(whereSeparator: \.isNewline).joined(separator: " ")
    let header = """
      // Written by `kvclone model generate` for the model \(model); changes are lost when it runs again.

      \(foundation)\(access)import KVClone


      """
    return GeneratedFile(name: name, text: header + body)
  }

  /// The text within the namespace.
  private func nested(_ body: String) -> String {
    guard let namespace = context.options.namespace else { return body }
    let lines = body.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    let inner = lines.map { $0.isEmpty ? "" : "  " + $0 }.joined(separator: "\n")
    let name = namespace.split(separator: ".").map { SwiftName.quoted(String($0)) }.joined(separator: ".")
    return "extension \(name) {\n\(inner)\n}\n"
  }
}

/// A file of Swift.
public struct GeneratedFile: Sendable, Hashable {
  /// The file's name, without a folder.
  public let name: String
  /// What is in it.
  public let text: String
}

/// Why no Swift can be written for a model.
public struct GeneratorError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The entity or composite concerned.
  public let entity: String
  /// The property concerned.
  public let property: String?
  /// What is wrong and what to do.
  public let message: String

  init(_ message: String, entity: String, property: String? = nil) {
    self.message = message
    self.entity = entity
    self.property = property
  }

  /// Where and what.
  public var description: String { "\([entity, property].compactMap { $0 }.joined(separator: ".")): \(message)" }
}
