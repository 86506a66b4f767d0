package import KVClone

extension JSONWriter {
  /// Writes the members of one entry of the document of `snapshot list`.
  ///
  /// - Parameter retainedBytes: nil if they were not counted.
  package mutating func snapshot(_ info: SnapshotInfo, retainedBytes: UInt64?) {
    member("name", info.name)
    key("created")
    AttributeJSON.write(.date(info.createdAt), to: &self)
    member("commit", info.commit)
    member("objects", info.objectCount)
    nullable("retainedBytes", retainedBytes)
    member("holds", info.holds)
    key("expires")
    if let expires = info.expiresAt { AttributeJSON.write(.date(expires), to: &self) } else { null() }
    member("automatic", info.isAutomatic)
    nullable("modelVersion", info.modelVersion)
    key("userInfo")
    beginObject()
    for (name, value) in info.userInfo.sorted(by: { $0.key < $1.key }) { member(name, value) }
    endObject()
  }
}

extension SnapshotDifference.Kind {
  /// The sign in lists of differences.
  package var sign: String {
    switch self {
    case .inserted: "+"
    case .updated: "M"
    case .deleted: "-"
    }
  }

  /// The name in documents.
  package var word: String {
    switch self {
    case .inserted: "inserted"
    case .updated: "updated"
    case .deleted: "deleted"
    }
  }
}

extension JSONWriter {
  /// Writes the members of one entry of the document of `snapshot diff`.
  package mutating func difference(
    _ difference: SnapshotDifference, _ old: borrowing ReadTransaction, _ new: borrowing ReadTransaction
  ) throws {
    member(difference.kind.word, difference.name)
    if difference.kind == .updated {
      key("attributes")
      beginObject()
      for attribute in difference.attributes.sorted(by: { $0.name < $1.name }) {
        key(attribute.name)
        beginObject()
        key("old")
        value(attribute.old)
        key("new")
        value(attribute.new)
        endObject()
      }
      endObject()
      key("relationships")
      beginObject()
      for relationship in difference.relationships.sorted(by: { $0.name < $1.name }) {
        key(relationship.name)
        beginObject()
        try members("added", relationship.added, new)
        try members("removed", relationship.removed, old)
        member("reordered", relationship.isReordered)
        endObject()
      }
      endObject()
    }
  }

  /// A value; for a blob, its size.
  private mutating func value(_ value: AttributeValue?) {
    switch value {
    case nil: null()
    case .blob(let blob)?:
      beginObject()
      member("size", blob.byteCount)
      endObject()
    case let value?: AttributeJSON.write(value, to: &self)
    }
  }

  private mutating func members(_ name: String, _ ids: [ObjectID], _ state: borrowing ReadTransaction) throws {
    key(name)
    beginArray()
    for id in ids { string(try state.name(of: id)) }
    endArray()
  }
}

extension JSONWriter {
  /// Writes the members of one transaction of the document of `history`, without its changes.
  package mutating func transaction(_ transaction: HistoryTransaction) {
    member("token", transaction.token.description)
    member("commit", transaction.commit)
    key("date")
    AttributeJSON.write(.date(transaction.date), to: &self)
    member("author", transaction.author)
    member("operation", transaction.operation)
    member("insertedCount", transaction.insertedCount)
    member("updatedCount", transaction.updatedCount)
    member("deletedCount", transaction.deletedCount)
  }
}
