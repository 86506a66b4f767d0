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

/// The parts of a difference that a document of a page has.
package struct DifferenceLimits: Sendable {
  /// The longest value, in bytes. Longer ones are objects with `size`, and `beginning` for texts.
  var valueBytes: Int
  /// The number of added and of removed members. `addedCount` and `removedCount` are those of all.
  var members: Int

  static let object = DifferenceLimits(valueBytes: 1 << 20, members: 1000)
  static let list = DifferenceLimits(valueBytes: 16 << 10, members: 100)
}

extension JSONWriter {
  /// Writes the members of one entry of the document of `snapshot diff`.
  ///
  /// - Parameter limits: nil for whole values and lists.
  package mutating func difference(
    _ difference: SnapshotDifference, _ old: borrowing ReadTransaction, _ new: borrowing ReadTransaction,
    _ limits: DifferenceLimits? = nil
  ) throws {
    member(difference.kind.word, difference.name)
    if difference.kind == .updated {
      key("attributes")
      beginObject()
      for attribute in difference.attributes.sorted(by: { $0.name < $1.name }) {
        key(attribute.name)
        beginObject()
        key("old")
        value(attribute.old, limits)
        key("new")
        value(attribute.new, limits)
        endObject()
      }
      endObject()
      key("relationships")
      beginObject()
      for relationship in difference.relationships.sorted(by: { $0.name < $1.name }) {
        key(relationship.name)
        beginObject()
        try members("added", relationship.added, new, limits)
        try members("removed", relationship.removed, old, limits)
        member("reordered", relationship.isReordered)
        endObject()
      }
      endObject()
    }
  }

  /// A value; for a blob and a long value, its size.
  private mutating func value(_ value: AttributeValue?, _ limits: DifferenceLimits?) {
    let longest = limits?.valueBytes ?? .max
    switch value {
    case nil: null()
    case .blob(let blob)?: long(blob.byteCount)
    case .string(let text)? where text.utf8.count > longest, .uri(let text)? where text.utf8.count > longest:
      long(UInt64(text.utf8.count), beginning: Excerpt.beginning(of: text, 1000))
    case .binary(let data)? where data.count > longest, .transformable(let data)? where data.count > longest:
      long(UInt64(data.count))
    case let value?: AttributeJSON.write(value, to: &self)
    }
  }

  private mutating func long(_ byteCount: UInt64, beginning: String? = nil) {
    beginObject()
    member("size", byteCount)
    if let beginning { member("beginning", beginning) }
    endObject()
  }

  private mutating func members(
    _ name: String, _ ids: [ObjectID], _ state: borrowing ReadTransaction, _ limits: DifferenceLimits?
  ) throws {
    key(name)
    beginArray()
    for id in ids.prefix(limits?.members ?? .max) { string(try state.name(of: id)) }
    endArray()
    if limits != nil { member("\(name)Count", ids.count) }
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
