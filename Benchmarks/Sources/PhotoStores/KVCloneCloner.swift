import KVClone

/// The clone of the library.
package struct KVCloneCloner: Cloner {
  private let store: ObjectStore
  private let roots: [ObjectID]
  private var options = CloneOptions()

  /// - Parameters:
  ///   - roots: the names of the objects that are cloned together.
  ///   - copiesImages: whether images are copied instead of shared.
  package init(at path: String, roots names: [String], copiesImages: Bool = false) throws {
    let store = try ObjectStore.open(at: path)
    self.store = store
    roots = try store.read { transaction in try names.map { try transaction.objectID(named: $0) } }
    if copiesImages { options.blobs = .copy }
  }

  package mutating func clone() throws -> CloneOutcome {
    CloneOutcome(objects: try store.clone(roots, options: options).objectCount)
  }

  /// Clones in a small store, and then determines whether LMDB can be made to spill, as the first large transaction of
  /// a process does. That transaction is rolled back, so that the store stays small.
  package mutating func warmUp() throws {
    for _ in 0..<3 { _ = try clone() }
    struct GivenUp: Error {}
    var many = CloneOptions()
    many.count = 1_500
    do {
      try store.write { transaction in
        _ = try transaction.clone(roots, options: many)
        throw GivenUp()
      }
    } catch is GivenUp {}
  }

  package mutating func close() { store.close() }
}
