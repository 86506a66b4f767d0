import Foundation
import KVClone
import KVCloneCore
import KVCloneOperations
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

@Suite(.bounded) struct StorePageTests {
  @Test("an empty store has a page with a treemap of all bytes", .needsDataFile(.statistics))
  func empty() async throws {
    let files = try TestStore(snapshotModel)
    let client = ExplorerClient(files.store)
    let page = await client.page("/store")
    #expect(page.contains("<svg viewBox=\"0 0 960 400\"") && page.contains("The write lock is free."))
    // The policy of the pages forbids styles in them.
    #expect(!page.contains("<style") && !page.contains("style=\""))
    let json = try await client.json("/store")
    #expect(json["objects"] as? Int == 0 && json["areas"] != nil && json["writer"] is NSNull)
  }

  @Test("the tiles of the drawing add up to its area", .needsDataFile(.statistics))
  func treemap() throws {
    let files = try TestStore(snapshotModel)
    _ = try files.store.insert("Book", count: 500)
    try files.store.insert("Book", ["cover": .binary(Data(repeating: 7, count: 100_000))])
    let area = Treemap.Rectangle(left: 0, top: 0, right: 960, bottom: 400)
    let map = StorageTreemap(try files.store.deepStatistics(), in: area, Text.bytes)
    let tiles = map.groups.flatMap(\.tiles)
    #expect(abs(tiles.reduce(0) { $0 + $1.place.width * $1.place.height } - 960 * 400) < 0.01)
    #expect(tiles.reduce(0) { $0 + $1.byteCount } == map.total)
    #expect(Set(tiles.map(\.name)).isSuperset(of: ["Book", "Book.cover"]))
  }

  @Test("tiles lead to the objects whose bytes they are", .needsDataFile(.statistics))
  func links() async throws {
    let files = try TestStore(snapshotModel)
    _ = try files.store.insert("Book", count: 500)
    try files.store.insert("Book", ["cover": .binary(Data(repeating: 7, count: 100_000))])
    let page = await ExplorerClient(files.store).page("/store")
    let drawing = try #require(page.range(of: "<svg viewBox").map { page[$0.lowerBound...] })
    let svg = drawing[..<(try #require(drawing.range(of: "</svg>"))).lowerBound]
    let tiles = svg.components(separatedBy: "<a href=\"").dropFirst()
    for name in ["objects: Book,", "blobs: Book.cover,"] {
      #expect(tiles.contains { $0.hasPrefix("/entities/Book\"><title>\(name)") }, "\(name)")
    }
    #expect(svg.components(separatedBy: "</a>").count == tiles.count + 1)
  }

  @Test("names of the model are escaped in the drawing", .needsDataFile(.statistics))
  func names() async throws {
    let model = ManagedObjectModel("M") {
      EntityDescription("A\u{202E}<b>", unique: [["x&y"]]) { AttributeDescription("x&y", .string) }
    }
    let files = try TestStore(model)
    _ = try files.store.insert("A\u{202E}<b>", count: 2000)
    let page = await ExplorerClient(files.store).page("/store")
    #expect(page.contains("A⟨U+202E⟩&lt;b&gt;") && !page.contains("<b>") && !page.contains("\u{202E}"))
  }

  @Test("readers are listed with their owners, and the writer with its operation")
  func readersAndWriter() async throws {
    let files = try TestStore(snapshotModel)
    let pinned = try files.store.pinnedSnapshot(owner: "report <b>")
    defer { pinned.close() }
    try files.store.insert("Book", ["title": .string("x")])
    let client = ExplorerClient(files.store)
    #expect(await client.page("/store").contains("report &lt;b&gt;"))
    let json = try await client.json("/store")
    let readers = try #require(json["activeReaders"] as? [[String: Any]])
    #expect(readers.contains { $0["owner"] as? String == "report <b>" })
  }

  @Test("a store without pages shows what its engine has, and refuses to measure pages")
  func otherEngine() async throws {
    let store = try ObjectStore.create(in: MemoryStorage(), model: snapshotModel)
    defer { store.close() }
    try store.insert("Book", ["title": .string("x")])
    let client = ExplorerClient(store)
    // The engine of this store has no name: the frame shows only the model and the moment.
    let page = await client.page("/store")
    #expect(page.contains("has no pages of its own") && page.contains("<span class=\"facts\">Library · present</span>"))
    #expect(try await client.json("/store")["commit"] as? Int == 1)
    #expect(await client.post("/store/sizes").status == 501)
    let target = try #require(await client.post("/store/check").header("Location"))
    #expect(try await client.wait(for: "The check found no issue.", at: target).contains("ok"))
  }

  @Test("CSV has a row for each area of the file", .needsDataFile(.statistics))
  func table() async throws {
    let files = try TestStore(snapshotModel)
    let rows = await ExplorerClient(files.store).page("/store.csv").split(separator: "\n")
    #expect(rows.first == "area,name,count,bytes" && rows.contains { $0.hasPrefix("free,") || $0.hasPrefix("unused,") })
  }

  @Test("above the limit, only entities with a table of their own are counted", .needsDataFile(.statistics))
  func largeStore() throws {
    let fixture = try CheckFixture()
    let all = try fixture.store.statistics()
    let few = try StoreStatistics(of: fixture.store, headerLimit: 10)
    #expect(all.objectCount == 24 && few.objectCount == 24 && all.counts["Item"] == 20)
    #expect(few.counts == ["Tag": 2])
    #expect(try StoreStatistics(of: fixture.store, headerLimit: 24).counts == all.counts)
  }
}
