public import KVCloneModel

extension WriteTransaction {
  /// Sets a binary or transformable attribute from a stream, with constant memory use.
  ///
  /// `source` runs while the transaction holds the write lock. For bytes from a network or a pipe, use
  /// ``ObjectStore/stageBlob(timeout:_:)`` instead.
  ///
  /// - Throws: the error of `source`; `objectNotFound`, `unknownProperty`, `wrongType`, `mapFull`, `diskFull`.
  public mutating func setData(
    _ id: ObjectID, _ attribute: String, from source: (inout BlobWriter) throws -> Void
  ) throws {
    try change { session in try session.setData(id, attribute, from: source) }
  }
}
