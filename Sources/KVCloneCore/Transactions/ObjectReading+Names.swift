package import KVCloneModel

extension ObjectReading where Self: ~Copyable {
  /// Refuses names that ``WriteTransaction/setData(_:_:_:)`` would refuse. The attribute's value is not looked at: whether
  /// it can be read is of no account to who replaces it.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongType`.
  package borrowing func checkIsBinary(_ id: ObjectID, _ attribute: String) throws(StoreError) {
    try _withSession { (session) throws(StoreError) in
      _ = try session.binaryAttribute(attribute, try session.entity(of: id))
    }
  }
}
