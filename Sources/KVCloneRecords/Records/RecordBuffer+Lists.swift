public import KVCloneModel

extension RecordBuffer {
  /// Replaces the members of a list by up to 16 inline ids. They must not be the buffer's own.
  ///
  /// - Precondition: at most `FormatLimits.inlineIDLimit` ids.
  @inlinable
  package mutating func setInlineIDs(_ field: Int, _ ids: Span<ObjectID>) throws(RecordError) {
    let start = try resizeInline(field, count: ids.count)
    for index in 0..<ids.count {
      base.set(ids[index].rawValue, at: start &+ 8 &* index)
    }
  }

  /// Replaces the members of a list by up to 16 inline ids.
  package mutating func setInlineIDs(_ field: Int, _ ids: [ObjectID]) throws(RecordError) {
    try setInlineIDs(field, ids.span)
  }

  /// Inserts a member into an inline list of fewer than 16.
  package mutating func insertInlineID(_ field: Int, at index: Int, _ id: ObjectID) throws(RecordError) {
    let head = view.head(field)
    precondition(!head.isChunked && head.count < FormatLimits.inlineIDLimit, "the list has no room in the record")
    precondition(index >= 0 && index <= head.count, "no such place in the list")
    let offset = view.inlineOffset(field) + 8 * index
    try splice(offset..<offset, count: 8)
    variableStart += 8
    base.set(id.rawValue, at: offset)
    base.set(UInt64(head.count + 1), at: layout.offset(field))
  }

  /// Removes a member from an inline list.
  package mutating func removeInlineID(_ field: Int, at index: Int) {
    let head = view.head(field)
    precondition(!head.isChunked && index >= 0 && index < head.count, "no such member")
    let offset = view.inlineOffset(field) + 8 * index
    // Shorter than before, so the splice cannot fail.
    try? splice(offset..<offset + 8, count: 0)
    variableStart -= 8
    base.set(UInt64(head.count - 1), at: layout.offset(field))
  }

  /// Marks the members of a list as stored in `links`; removes inline ids.
  ///
  /// - Precondition: the head is chunked, or has the count of the inline list.
  package mutating func setHead(_ field: Int, _ head: ListHead) {
    precondition(head.isValid, "flags without chunks, or a count above the inline limit")
    let old = view.head(field)
    if head.isChunked {
      // Shorter than before, so the splice cannot fail.
      if old.inlineCount > 0 { _ = try? resizeInline(field, count: 0) }
    } else {
      precondition(old.inlineCount == head.count && !(old.isChunked && head.count > 0), "set the ids instead")
    }
    base.set(head.rawValue, at: layout.offset(field))
  }

  /// Resizes an inline list to `count` ids; returns the offset of the first one to be written.
  @inlinable
  mutating func resizeInline(_ field: Int, count: Int) throws(RecordError) -> Int {
    precondition(count <= FormatLimits.inlineIDLimit, "an inline list has at most 16 ids")
    let old = view.head(field).inlineCount
    let start = view.inlineOffset(field)
    try splice(start..<start &+ 8 &* old, count: 8 &* count)
    variableStart = variableStart &+ 8 &* (count &- old)
    base.set(UInt64(count), at: layout.offset(field))
    return start
  }
}

extension RecordBuffer {
  /// Whether all lists could have the maximum number of inline ids without the record exceeding `limit`.
  ///
  /// Checked when values are set, so that links, which may be added to a record much later, always fit.
  @inlinable
  package func hasRoomForLists(limit: Int = FormatLimits.maximumRecordLength) -> Bool {
    let most = layout.fieldCount &* FormatLimits.inlineIDLimit &* 8
    return length <= limit &- most || length <= limit - unusedListRoom
  }

  /// The number of bytes by which the record's lists may still grow in it.
  @usableFromInline
  var unusedListRoom: Int {
    var room = 0
    for field in 0..<layout.fieldCount where layout.kind(field) == .toMany {
      room += 8 * (FormatLimits.inlineIDLimit - view.inlineIDs(field).count)
    }
    return room
  }
}
