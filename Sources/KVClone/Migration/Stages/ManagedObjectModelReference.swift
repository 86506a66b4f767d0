public import KVCloneModel

/// Names a version of the model: Core Data's managed object model reference.
///
/// A literal is a version's identifier, `"Notes 2"`; two versions of different content with one identifier cannot be told apart by
/// it, and need their hashes.
public struct ManagedObjectModelReference: Hashable, Sendable {
  private enum Name: Hashable, Sendable {
    case identifier(String)
    case checksum(ModelHash)
  }

  private let name: Name

  /// The version with this `ManagedObjectModel.versionIdentifier`.
  public init(versionIdentifier: String) { name = .identifier(versionIdentifier) }

  /// The version with this `ManagedObjectModel.modelHash`.
  public init(versionChecksum: ModelHash) { name = .checksum(versionChecksum) }

  /// The version with the same hash as a model.
  public init(_ model: ManagedObjectModel) { name = .checksum(model.modelHash) }

  func isReference(to model: ManagedObjectModel, _ hash: ModelHash) -> Bool {
    switch name {
    case .identifier(let identifier): identifier == model.versionIdentifier
    case .checksum(let checksum): checksum == hash
    }
  }
}

extension ManagedObjectModelReference: ExpressibleByStringLiteral {
  /// The version with this identifier.
  public init(stringLiteral value: String) { self.init(versionIdentifier: value) }
}

extension ManagedObjectModelReference: CustomStringConvertible {
  /// The identifier, or the hash's first digits.
  public var description: String {
    switch name {
    case .identifier(let identifier): "'\(identifier)'"
    case .checksum(let checksum): "with the hash \(checksum.hex.prefix(12))…"
    }
  }
}
