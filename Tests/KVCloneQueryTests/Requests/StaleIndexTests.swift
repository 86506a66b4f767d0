import Foundation
import KVClone
import KVCloneTestSupport
import Synchronization
import Testing

/// Review findings at the boundaries between fetch indexes, derived attributes, hooks and the history.
@Suite struct StaleIndexTests {
  private static func model(sum: String, isIndexed: Bool = true) -> ManagedObjectModel {
    ManagedObjectModel(
      name: "Orders",
      entities: [
        EntityDescription("Order", indexes: isIndexed ? [FetchIndexDescription("byTotal", [.init("total")])] : []) {
          AttributeDescription("note", .string)
          AttributeDescription("total", .integer64, derivation: sum)
          RelationshipDescription("items", toMany: "Item", inverse: "order")
        },
        EntityDescription("Item") {
          AttributeDescription("price", .integer64)
          AttributeDescription("net", .integer64)
          RelationshipDescription("order", toOne: "Order", inverse: "items")
        },
      ])
  }

  private static let pages = ManagedObjectModel("Pages") {
    EntityDescription("Page", indexes: [FetchIndexDescription("byTitle", [.init("title"), .init("day")])]) {
      AttributeDescription("title", .string)
      AttributeDescription("day", .integer64)
    }
  }

  @Test("a text that is cut in a compound index decides before the column behind it", arguments: [true, false])
  func cutText(ascending: Bool) throws {
    let test = try TestStore(Self.pages)
    let start = String(repeating: "/long/path", count: 30)
    let later = try test.store.insert("Page", ["title": .string(start + "B"), "day": 1])
    let first = try test.store.insert("Page", ["title": .string(start + "A"), "day": 2])
    let order = [
      QuerySortDescriptor(key: "title", ascending: ascending), QuerySortDescriptor(key: "day", ascending: ascending),
    ]
    let expected = ascending ? [first, later] : [later, first]
    let (all, one) = try test.store.read { tx in
      (
        try tx.fetchIDs(FetchRequest("Page", sortDescriptors: order)),
        try tx.fetchIDs(FetchRequest("Page", sortDescriptors: order, fetchLimit: 1))
      )
    }
    #expect(all == expected && one == [expected[0]])
  }

  @Test("an index on a derived attribute runs no hook of the object that has it")
  func indexedDerivedIsNoUpdate() throws {
    for isIndexed in [true, false] {
      let test = try TestStore(Self.model(sum: "items.@sum.price", isIndexed: isIndexed))
      let order = try test.store.insert("Order")
      let item = try test.store.insert("Item", ["price": 1], relationships: ["order": [order]])
      let asked = Mutex(0)
      var hooks = ObjectLifecycle()
      hooks.validateForUpdate = { _, _ in asked.withLock { $0 += 1 } }
      try test.store.register(hooks, for: "Order")
      try test.store.write { tx in try tx.set(item, "price", 5) }
      #expect(try test.store.read { try $0.value(order, "total") } == 5)
      #expect(asked.withLock { $0 } == 0, "indexed: \(isIndexed)")
    }
  }

  @Test("values that are recomputed at opening are in the history")
  func rebuildIsReported() throws {
    var options = StoreOptions()
    options.tracksHistory = true
    let test = try TestStore(Self.model(sum: "items.@sum.price"), options: options)
    let order = try test.store.insert("Order")
    _ = try test.store.insert("Item", ["price": 1, "net": 7], relationships: ["order": [order]])
    try test.reopen(model: Self.model(sum: "items.@sum.net"))
    #expect(try test.store.read { try $0.value(order, "total") } == 7)
    let history = try test.store.history()
    #expect(history.last?.updatedCount == 1)
    let request = FetchRequest("Order", predicate: try QueryPredicate(format: "total == 7"))
    #expect(try test.store.read { try $0.fetchIDs(request) } == [order])
    #expect(try test.store.check().isClean)
  }

  @Test("willSave runs for a clone that willSave makes, too")
  func cloneInWillSave() throws {
    let test = try TestStore(Self.model(sum: "items.@count"))
    let source = try test.store.insert("Item", ["price": 1])
    var ofOrder = ObjectLifecycle()
    ofOrder.willSave = { tx, id in
      if try tx.value(id, "note") == nil {
        try tx.set(id, "note", "done")
        _ = try tx.clone([source])
      }
    }
    var ofItem = ObjectLifecycle()
    ofItem.willSave = { tx, id in if try tx.value(id, "net") == nil { try tx.set(id, "net", 9) } }
    try test.store.register(ofOrder, for: "Order")
    try test.store.register(ofItem, for: "Item")
    _ = try test.store.insert("Order")
    let request = FetchRequest("Item", predicate: try QueryPredicate(format: "net == 9"))
    #expect(try test.store.read { try $0.count(request) } == 1)
  }
}
