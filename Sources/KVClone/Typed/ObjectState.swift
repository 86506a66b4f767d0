public import KVCloneModel
import Synchronization

/// What an ``EntityObject`` remembers of the store: which object it is, and what it was when it was read.
///
/// Two states are equal when they are of the same object.
public struct ObjectState: Sendable, Hashable {
  /// The object's id; a temporary one for an object that is not stored yet.
  public let id: ObjectID
  /// What was read; nil for a new object.
  let original: ManagedObject?

  /// The state of a new object.
  public init() {
    id = ObjectID.temporary()
    original = nil
  }

  /// The state of an object that was read.
  public init(_ object: ManagedObject) {
    id = object.id
    original = object.withoutChanges
  }

  /// Whether both are of the same object.
  public static func == (left: Self, right: Self) -> Bool { left.id == right.id }

  /// Feeds the id.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
  }
}

extension ObjectID {
  private static let lastTemporarySerial = Atomic<UInt64>(0)

  /// A new id of no stored object, unique in this process: root codes of stored objects start at 1.
  static func temporary() -> ObjectID {
    let serial = lastTemporarySerial.wrappingAdd(1, ordering: .relaxed).newValue
    return ObjectID(rootCode: 0, serial: serial & maximumSerial)
  }

  /// Whether the id is of an object that is not stored yet.
  public var isTemporary: Bool { rootCode == 0 }
}
