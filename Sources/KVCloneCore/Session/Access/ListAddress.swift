package import KVCloneModel
package import KVCloneRecords

/// Identifies one to-many list with members in `links`.
///
/// Invariant: every chunk has 1…128 ids. In an unordered list, ids ascend over all chunks, and a chunk's position is
/// its first id. In an ordered list, chunks are in the order of their labels, and the member index and the directory,
/// if the head says that the list has them, agree with the chunks. `StorageTransaction.findProblems` checks all of it.
package struct ListAddress: Hashable, Sendable {
  package let links: StorageTable
  package let owner: ObjectID
  package let relationship: UInt16

  package init(links: StorageTable, owner: ObjectID, relationship: UInt16) {
    self.links = links
    self.owner = owner
    self.relationship = relationship
  }

  /// The key at a position of one of the list's three kinds of entries.
  @inline(__always)
  package func key(_ kind: LinkKey.Kind, _ position: UInt64) -> ShortKey {
    .link(LinkKey(owner: owner, relationship: relationship, kind: kind, position: position))
  }

  /// The prefix of the keys of all entries of one kind, or of all kinds.
  package func prefix(_ kind: LinkKey.Kind? = nil) -> ShortKey {
    guard let kind else { return .linkPrefix(owner: owner, relationship: relationship) }
    return .linkPrefix(owner: owner, relationship: relationship, kind: kind)
  }

  /// The seed of the checksum of the value at `key`.
  @inline(__always)
  package func seed(_ key: ShortKey) -> UInt64 {
    ValueEnvelope.seed(tableCode: links.code, key: key)
  }

  /// The position in a key that a seek found; nil if the key does not belong to this list and `kind`.
  package func position(in key: RawSpan, _ kind: LinkKey.Kind) throws(StoreError) -> UInt64? {
    do throws(RecordError) {
      let link = try LinkKey(key)
      return link.owner == owner && link.relationship == relationship && link.kind == kind ? link.position : nil
    } catch {
      throw corrupted(error.description)
    }
  }

  /// Decodes and verifies a stored chunk.
  @_lifetime(copy value)
  package func chunk(_ value: RawSpan, at position: UInt64, isOrdered: Bool) throws(StoreError) -> ObjectIDList {
    do throws(RecordError) {
      let seed = seed(key(.chunk, position))
      return try ListChunk(value, seed: seed, unorderedAt: isOrdered ? nil : position).ids
    } catch {
      throw corrupted(error.description)
    }
  }

  /// The error for corrupted bytes of this list.
  package func corrupted(_ what: String) -> StoreError {
    StoreError(
      .corrupted,
      "list \(relationship) of object \(owner) is corrupted: \(what) Restore from a backup, or run `salvage`",
      object: owner.description)
  }

  /// The error for chunks with another number of members than the count in the list's head.
  package func wrongCount(_ count: Int, head: Int) -> StoreError {
    corrupted("It has \(count) members, and its head has the count \(head).")
  }

  /// The error for an index outside of the list.
  func invalidIndex(_ index: Int, count: Int) -> StoreError {
    StoreError(
      .invalidIndex, "index \(index) is outside list \(relationship) of object \(owner), which has \(count) members",
      object: owner.description)
  }
}
