import Synchronization

/// All registered hooks, by the entity of the objects that they are called for.
package final class LifecycleTable: SessionHooks {
  /// By entity code: super-entities' first, each entity's in the order of registration.
  private let hooks: [[ObjectLifecycle]]
  /// In the order of registration.
  private let registered: [(entity: CompiledEntity, hooks: ObjectLifecycle)]

  init(adding added: ObjectLifecycle, to entity: CompiledEntity, _ other: LifecycleTable?, _ schema: Schema) {
    registered = (other?.registered ?? []) + [(entity, added)]
    // A super-entity's lineage is the shorter one.
    let ordered = registered.enumerated().sorted {
      ($0.element.entity.lineage.count, $0.offset) < ($1.element.entity.lineage.count, $1.offset)
    }
    var hooks = [[ObjectLifecycle]](repeating: [], count: Int(schema.codes.lastEntity) + 1)
    for entity in schema.entities {
      hooks[Int(entity.code)] = ordered.filter { entity.isKind(of: $0.element.entity.code) }.map(\.element.hooks)
    }
    self.hooks = hooks
  }

  /// The hooks for objects of an entity.
  package func hooks(_ entity: CompiledEntity) -> [ObjectLifecycle] { hooks[Int(entity.code)] }

  /// Whether any hook validates deletions.
  var validatesDeletes: Bool { registered.contains { $0.hooks.validateForDelete != nil } }

  /// Whether any hook runs after commits.
  var announcesSaves: Bool { registered.contains { $0.hooks.didSave != nil } }

  /// Whether any hook runs before objects are saved.
  var changesSaves: Bool { registered.contains { $0.hooks.willSave != nil } }

  /// Whether any hook validates objects.
  var validatesSaves: Bool {
    registered.contains { $0.hooks.validateForInsert != nil || $0.hooks.validateForUpdate != nil }
  }
}

/// The hooks registered with a store, or nil.
final class RegisteredHooks: Attachment {
  let table = Mutex<LifecycleTable?>(nil)
}

extension Session {
  /// The hooks of the store; nil if none are registered.
  package var lifecycle: LifecycleTable? {
    @inline(__always) get { hooks.map { unsafeDowncast($0, to: LifecycleTable.self) } }
  }
}
