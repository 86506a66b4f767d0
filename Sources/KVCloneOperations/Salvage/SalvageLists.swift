import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// Copies the lists of records, and searches for unreferenced chunks. Hidden referrer lists are rebuilt later.
struct SalvageLists {
  private let copied: SalvageCopy
  private var schema: Schema { copied.schema }
  private var table: StorageTable { copied.schema.tables.links }

  init(_ copied: SalvageCopy) { self.copied = copied }

  func copy() throws(StoreError) {
    let (writer, run) = (copied.writer, copied.run)
    var last: (list: ListAddress, isWanted: Bool)?
    try copied.source.scan(.links) { (key, value) throws(StoreError) in
      guard let link = try? LinkKey(copy key) else { return true }
      let list = address(link)
      if last?.list != list { last = (list, try head(of: list) != nil) }
      guard last?.isWanted == true else { return true }
      run.steps.advance(value.byteCount)
      let seed = ValueEnvelope.seed(tableCode: .links, key: copy key)
      // A corrupted chunk is omitted, and missed when its list is checked.
      guard ValueEnvelope.isIntact(copy value, seed: seed) else { return true }
      try writer.append(table, unsafePointers(copy key), unsafePointers(copy value))
      return true
    }
    guard copied.lost.codes.contains(.links) else { return }
    try copied.findHidden([.links], includingFree: false) { (_, entry) throws(StoreError) in try take(entry) }
    // Incomplete lists: the content of outdated chunks is known, except for the order, at best from the other side.
    var incomplete: Set<ListAddress> = []
    var complete = RecentLists()
    try copied.findHidden([.links], includingFree: true) { (_, entry) throws(StoreError) in
      guard !entry.isCurrent, copied.lost.contains(.links, entry.key),
        let link = try? LinkKey(RawSpan(_unsafeBytes: entry.key))
      else { return }
      let list = address(link)
      if !incomplete.contains(list) {
        if complete.contains(list) { return }
        // An incomplete list accepts chunks until the end: later ones may be better than those that completed it.
        guard try lacksPieces(list) else { return complete.insert(list) }
        incomplete.insert(list)
      }
      try take(entry)
    }
  }

  private func address(_ link: LinkKey) -> ListAddress {
    ListAddress(links: table, owner: link.owner, relationship: link.relationship)
  }

  /// The head of a chunked list in its owner's record.
  private func head(of list: ListAddress) throws(StoreError) -> (head: ListHead, isOrdered: Bool)? {
    guard let objects = schema.objectTable(rootCode: list.owner.rootCode) else { return nil }
    let key = ShortKey.object(list.owner)
    guard let bytes = try copied.writer.get(objects, unsafePointers(key.bytes)) else { return nil }
    let view = try schema.view(of: RawSpan(_unsafeBytes: bytes), id: list.owner)
    let entity = try schema.entity(of: view, id: list.owner)
    guard let index = entity.relationshipIndexByCode[list.relationship], entity.relationships[index].isToMany,
      let field = view.layout.fieldIndex(ofProperty: list.relationship), view.head(field).isChunked
    else { return nil }
    return (view.head(field), entity.relationships[index].isOrdered)
  }

  private func lacksPieces(_ list: ListAddress) throws(StoreError) -> Bool {
    guard let (head, isOrdered) = try head(of: list) else { return false }
    let storage = StorageTransaction(lookingInto: copied.writer.backend)
    return try !storage.findProblems(list, head: head, isOrdered: isOrdered).isEmpty
  }

  private func take(_ entry: PageSalvage.Entry) throws(StoreError) {
    guard copied.lost.contains(.links, entry.key), let link = try? LinkKey(RawSpan(_unsafeBytes: entry.key)),
      try head(of: address(link)) != nil, let value = entry.value()
    else { return }
    let seed = ValueEnvelope.seed(tableCode: .links, key: entry.key)
    guard ValueEnvelope.isIntact(value, seed: seed) else { return }
    // Which of two is newer is unknown: a referenced one takes precedence, then the longer one, which has more members
    // that the other sides can confirm.
    if let known = try copied.writer.get(table, entry.key) {
      let isKnownForSure = !copied.run.hasDoubtfulLists(link.owner)
      if isKnownForSure != entry.isCurrent ? isKnownForSure : known.count >= value.count { return }
    }
    if !entry.isCurrent { copied.run.doubtList(of: link.owner) }
    try copied.writer.put(table, entry.key, value)
  }
}

/// Recently checked lists: a store may have any number, and chunks of one are adjacent.
private struct RecentLists {
  private static let limit = 65_536
  private var lists: Set<ListAddress> = []

  func contains(_ list: ListAddress) -> Bool { lists.contains(list) }

  mutating func insert(_ list: ListAddress) {
    if lists.count == Self.limit { lists.removeAll(keepingCapacity: true) }
    lists.insert(list)
  }
}
