/// The numbers of objects that a merge inserts, updates and deletes.
public struct MergeCount: Sendable, Hashable, Codable {
  /// The number of objects that only theirs has and the result has, too.
  public var inserted: Int
  /// The number of objects with other attributes or links.
  public var updated: Int
  /// The number of deleted objects, including those that delete rules delete.
  public var deleted: Int

  /// Creates counts.
  public init(inserted: Int = 0, updated: Int = 0, deleted: Int = 0) {
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
  }

  /// Whether nothing changes.
  public var isEmpty: Bool { inserted == 0 && updated == 0 && deleted == 0 }

  package static func total(of counts: [String: MergeCount]) -> MergeCount {
    counts.values.reduce(into: MergeCount()) { total, count in
      total.inserted += count.inserted
      total.updated += count.updated
      total.deleted += count.deleted
    }
  }
}
