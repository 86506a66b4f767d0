import KVClone
import KVCloneMerge

/// The names of objects and the digests of blobs in a merge, from all states that it compares.
struct MergeNames {
  /// Reads one of the states.
  typealias State = ((borrowing ReadTransaction) throws -> Void) throws -> Void

  private var names: [ObjectID: String] = [:]
  private var digests: [UInt64: String] = [:]

  /// - Parameter states: ours, theirs and the base; an object is named after the first that has it.
  init(_ report: MergeReport, _ states: [State]) throws {
    var ids: Set<ObjectID> = []
    var blobs: Set<UInt64> = []
    for conflict in report.shownConflicts { if let other = conflict.other { ids.insert(other) } }
    for conflict in report.shownAnswers { if let other = conflict.conflict.other { ids.insert(other) } }
    for value in report.values {
      switch value {
      case .attribute(.blob(let blob)): blobs.insert(blob.id)
      case .attribute: continue
      case .object(let id): if let id { ids.insert(id) }
      case .members(let members): ids.formUnion(members)
      }
    }
    for state in states where !ids.isEmpty || !blobs.isEmpty {
      try state { transaction in
        for id in ids where try transaction.exists(id) {
          names[id] = try transaction.name(of: id)
          ids.remove(id)
        }
        try transaction._withSession { session in
          for blob in blobs {
            guard let info = try session.storage.blobInfo(session.blobTables, blob) else { continue }
            digests[blob] = String(info.digest, radix: 16)
            blobs.remove(blob)
          }
        }
      }
    }
    // Deleted in all states, as a member of a list in the base of a draft.
    if let first = states.first, !ids.isEmpty {
      try first { transaction in for id in ids { names[id] = try transaction.nameOfAny(id) } }
    }
  }

  /// The states of a merge of a store and a branch: both, and the base.
  static func states(_ store: ObjectStore, _ branch: ObjectStore) -> [State] {
    [
      { body in try store.read(body) }, { body in try branch.read(body) },
      { body in try BranchComparison(branch)?.base().read(body) },
    ]
  }

  func name(_ id: ObjectID) -> String { names[id] ?? id.description }

  /// The digest of a blob, in hexadecimal digits.
  func digest(_ blob: BlobReference) -> String { digests[blob.id] ?? "" }
}
