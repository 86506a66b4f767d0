public import KVCloneModel

/// A reference to a model version, like a managed object model reference of Core Data.
///
/// A string literal is the identifier of a version, such as `"Notes 2"`. Two versions with different content and the
/// same identifier need references by hash.
public struct ManagedObjectModelReference: Hashable, Sendable {
  private enum Name: Hashable, Sendable {
    case identifier(String)
    case checksum(ModelHash)
  }

  private let name: Name

  /// Creates a reference to the version with this `ManagedObjectModel.versionIdentifier`.
  public init(versionIdentifier: String) { name = .identifier(versionIdentifier) }

  /// Creates a reference to the version with this `ManagedObjectModel.modelHash`.
  public init(versionChecksum: ModelHash) { name = .checksum(versionChecksum) }

  /// Creates a reference to the version with the hash of the model.
  public init(_ model: ManagedObjectModel) { name = .checksum(model.modelHash) }

  func isReference(to model: ManagedObjectModel, _ hash: ModelHash) -> Bool {
    switch name {
    case .identifier(let identifier): identifier == model.versionIdentifier
    case .checksum(let checksum): checksum == hash
    }
  }
}

extension ManagedObjectModelReference: ExpressibleByStringLiteral {
  /// Creates a reference to the version with this identifier.
  public init(stringLiteral value: String) { self.init(versionIdentifier: value) }
}

extension ManagedObjectModelReference: CustomStringConvertible {
  /// The identifier, or the first digits of the hash.
  public var description: String {
    switch name {
    case .identifier(let identifier): "'\(identifier)'"
    case .checksum(let checksum): "with the hash \(checksum.hex.prefix(12))…"
    }
  }
}
