import KVCloneCore
import KVCloneModel

/// Writes the links of a typed object.
extension ObjectValues {
  /// Makes the links that are set.
  func link(_ id: ObjectID, in transaction: inout WriteTransaction) throws(StoreError) {
    try linkTargets(id, in: &transaction)
    try linkMembers(id, in: &transaction)
  }

  /// Sets the to-one relationships that are set.
  func linkTargets(_ id: ObjectID, in transaction: inout WriteTransaction) throws(StoreError) {
    for name in targets.keys.sorted() { try transaction.setToOne(id, name, targets[name] ?? nil) }
  }

  /// Changes the to-many relationships that are changed.
  func linkMembers(_ id: ObjectID, in transaction: inout WriteTransaction) throws(StoreError) {
    for name in members.keys.sorted() {
      for edit in members[name] ?? [] { try apply(edit, to: id, name, in: &transaction) }
    }
  }

  private func apply(
    _ edit: MemberEdit, to id: ObjectID, _ relationship: String, in transaction: inout WriteTransaction
  ) throws(StoreError) {
    switch edit {
    case .replace(let members): try transaction.setMembers(id, relationship, members)
    case .insert(let members, nil): try transaction.link(id, relationship, members)
    case .insert(let members, let index?):
      // Others may have taken members out since the list was read.
      try transaction.link(id, relationship, members, at: min(index, try transaction.count(id, relationship)))
    case .remove(let members): try transaction.unlink(id, relationship, members)
    }
  }
}
