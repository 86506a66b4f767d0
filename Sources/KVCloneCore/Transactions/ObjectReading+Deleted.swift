package import KVCloneModel

/// Objects that may be gone, as what a repeated operation tells of (R31).
extension ObjectReading where Self: ~Copyable {
  /// Returns the name of an object. A deleted object is named after its root entity.
  package borrowing func nameOfAny(_ id: ObjectID) throws(StoreError) -> String {
    try _withSession { (session) throws(StoreError) in
      try session.exists(id) ? try session.name(of: id) : session.schema.rootName(of: id)
    }
  }

  /// The id that a name stands for, where there is no such object any more; nil for what is no name of this store.
  package borrowing func objectID(ofDeleted name: String) -> ObjectID? {
    _withSession { session in
      guard let id = try? session.parse(name).id, (try? session.exists(id)) == false else { return nil }
      return id
    }
  }
}
