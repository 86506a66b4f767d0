package import KVClone
package import KVCloneMerge

/// The end of `kvclone demo`: edits of a project and of its clone, and the merge of the clone into the project.
package struct DemoDraft: Sendable {
  /// Options of a clone that can be merged back.
  package static var options: CloneOptions {
    var options = CloneOptions()
    options.keepsBase = true
    return options
  }

  private let source: ObjectID
  private let draft: ObjectID

  package init(source: ObjectID, draft: ObjectID) {
    self.source = source
    self.draft = draft
  }

  /// Edits both sides, each in a transaction of its own. Both change the title of the project, which is a conflict.
  package func edit(_ store: ObjectStore) throws {
    try store.write(label: "demo") { tx in
      try tx.set(source, "title", "Iceland 2026")
      let photo = try Self.photo(7, ofAlbum: 2, of: source, tx)
      try tx.set(photo, "title", "Old bakery")
    }
    var random = SeededGenerator(seed: 2025)
    let image = DemoImage.bitmap(&random)
    try store.write(label: "demo") { tx in
      try tx.set(draft, "title", "Iceland in winter")
      let photo = try Self.photo(5, ofAlbum: 2, of: draft, tx)
      try tx.set(photo, "title", "Harbour cat")
      let album = try tx.members(draft, "albums")[0]
      try tx.insert("Photo", ["title": "Aurora", "image": .binary(image)], relationships: ["album": [album]])
    }
  }

  private static func photo<T: ObjectReading & ~Copyable>(
    _ index: Int, ofAlbum album: Int, of project: ObjectID, _ transaction: borrowing T
  ) throws -> ObjectID {
    let album = try transaction.members(project, "albums")[album]
    return try transaction.members(album, "photos")[index]
  }

  /// Plans the merge, without answers.
  package func plan(_ store: ObjectStore) throws -> MergePlan { try store.drafts.planMerge(draft) }

  /// Merges with the draft's side of each conflict of a plan. The clones stay, so that they can be looked at.
  package func merge(_ store: ObjectStore, _ plan: MergePlan) throws -> MergeResult {
    var options = MergeOptions()
    options.answers = plan.conflicts.map { AnsweredConflict($0, .theirs) }
    options.keepsClones = true
    return try store.drafts.merge(draft, options: options)
  }
}
