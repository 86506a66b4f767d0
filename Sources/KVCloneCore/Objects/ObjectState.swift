public import KVCloneModel
import Synchronization

/// The stored identity of an ``EntityObject``, and its values when it was read.
///
/// Two states are equal if they belong to the same object.
public struct ObjectState: Sendable, Hashable {
  /// The id of the object; a temporary one if the object is not stored yet.
  public let id: ObjectID
  /// The state when it was read; nil for a new object.
  package let original: ManagedObject?

  /// Creates the state of a new object.
  public init() {
    id = ObjectID.temporary()
    original = nil
  }

  /// Creates the state of an object that was read.
  public init(_ object: ManagedObject) {
    id = object.id
    original = object.withoutChanges
  }

  /// Returns whether two states belong to the same object.
  public static func == (left: Self, right: Self) -> Bool { left.id == right.id }

  /// Hashes the id.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
  }
}

extension ObjectID {
  private static let lastTemporarySerial = Atomic<UInt64>(0)

  /// A new id of no stored object, unique in this process: root codes of stored objects start at 1.
  package static func temporary() -> ObjectID {
    let serial = lastTemporarySerial.wrappingAdd(1, ordering: .relaxed).newValue
    return ObjectID(rootCode: 0, serial: serial & maximumSerial)
  }

  /// Whether the id belongs to an object that is not stored yet.
  public var isTemporary: Bool { rootCode == 0 }
}
