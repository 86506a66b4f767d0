import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// Copies the lists that records say they have, and looks for pieces that no tree leads to any more. Hidden lists of referrers are made
/// anew later.
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
      // A piece that is damaged is left out, and missed when its list is looked at.
      guard ValueEnvelope.isIntact(copy value, seed: seed) else { return true }
      try writer.append(table, unsafePointers(copy key), unsafePointers(copy value))
      return true
    }
    guard copied.lost.codes.contains(.links) else { return }
    try copied.findHidden([.links], includingFree: false) { (_, entry) throws(StoreError) in try take(entry) }
    // Lists that lack pieces still: what older ones say is known, but for the order, from the other side at best.
    var incomplete: Set<ListAddress> = []
    var complete = RecentLists()
    try copied.findHidden([.links], includingFree: true) { (_, entry) throws(StoreError) in
      guard !entry.isCurrent, copied.lost.contains(.links, entry.key),
        let link = try? LinkKey(RawSpan(_unsafeBytes: entry.key))
      else { return }
      let list = address(link)
      if !incomplete.contains(list) {
        if complete.contains(list) { return }
        // Once incomplete, a list takes what is found until the end: the pieces that come may be better than those that filled it.
        guard try lacksPieces(list) else { return complete.insert(list) }
        incomplete.insert(list)
      }
      try take(entry)
    }
  }

  private func address(_ link: LinkKey) -> ListAddress {
    ListAddress(links: table, owner: link.owner, relationship: link.relationship)
  }

  /// The head of a list that its owner's record says it has in pieces.
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
    // Nothing tells which of two is newer: what the state names comes first, then the longer one, which has more that the other
    // sides can confirm.
    if let known = try copied.writer.get(table, entry.key) {
      let isKnownForSure = !copied.run.hasDoubtfulLists(link.owner)
      if isKnownForSure != entry.isCurrent ? isKnownForSure : known.count >= value.count { return }
    }
    if !entry.isCurrent { copied.run.doubtList(of: link.owner) }
    try copied.writer.put(table, entry.key, value)
  }
}

/// Lists that were looked at lately: a store may have any number of them, and pieces of one stand side by side.
private struct RecentLists {
  private static let limit = 65_536
  private var lists: Set<ListAddress> = []

  func contains(_ list: ListAddress) -> Bool { lists.contains(list) }

  mutating func insert(_ list: ListAddress) {
    if lists.count == Self.limit { lists.removeAll(keepingCapacity: true) }
    lists.insert(list)
  }
}
