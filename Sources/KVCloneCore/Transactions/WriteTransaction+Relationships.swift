public import KVCloneModel

extension WriteTransaction {
  /// Sets a to-one relationship; nil clears it. The links of the previous target, and of the previous partner of
  /// `target`, are removed.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongDestination`.
  public mutating func setToOne(_ id: ObjectID, _ relationship: String, _ target: ObjectID?) throws(StoreError) {
    try setMembers(id, relationship, target.map { [$0] } ?? [])
  }

  /// Replaces the members of a relationship. An ordered relationship stores them in this order.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongDestination`.
  public mutating func setMembers(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID]) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in try session.setMembers(id, relationship, targets) }
  }

  /// Adds links to `targets`.
  ///
  /// A to-one relationship replaces its target. A to-many relationship adds the targets that are not members yet. An
  /// ordered relationship without `index` appends them. With `index`, it inserts all targets there, and moves those
  /// that are members already.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongDestination`; `invalidIndex` if `index` is outside the list,
  ///   or the relationship is not ordered.
  public mutating func link(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID], at index: Int? = nil)
    throws(StoreError)
  {
    try changeObjects { (session) throws(StoreError) in try session.link(id, relationship, targets, at: index) }
  }

  /// Removes the links to `targets`, or all links of the relationship if `targets` is nil.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`.
  public mutating func unlink(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID]? = nil) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in try session.unlink(id, relationship, targets) }
  }
}
