import KVClone
import KVCloneCore
import Synchronization

/// The diagrams of the latest models of a store, because a large one takes long to lay out.
///
/// They belong to whole models, not to their hashes: models that store the same data can differ in the `userInfo`, and
/// so in the colours of the diagram.
final class ModelDiagramCache: Attachment {
  private static let limit = 4

  /// The latest last.
  private let diagrams = Mutex<[(model: ManagedObjectModel, diagram: ModelDiagram)]>([])

  static func of(_ store: ObjectStore) -> ModelDiagramCache {
    store.schema.attachments.value(of: ModelDiagramCache.self)
  }

  var count: Int { diagrams.withLock { $0.count } }

  /// Returns the diagram of a model.
  func diagram(_ model: ManagedObjectModel) -> ModelDiagram {
    if let known = diagrams.withLock({ $0.first { $0.model == model }?.diagram }) { return known }
    // Not in the lock: other models need not wait.
    let diagram = ModelDiagram(model)
    diagrams.withLock { diagrams in
      diagrams.removeAll { $0.model == model }
      diagrams.append((model, diagram))
      if diagrams.count > Self.limit { diagrams.removeFirst() }
    }
    return diagram
  }
}
