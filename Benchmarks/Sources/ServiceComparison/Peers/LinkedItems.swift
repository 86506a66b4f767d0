import BenchmarkSupport
import ItemPeers

/// The graph of the fetch benchmark in a KVClone store; requests insert items with two links.
struct KVCloneItems: DurablePeer {
  let title = "KVClone, write-ahead log"
  private let peer: KVClonePeer
  private let graph: ItemGraph

  init(_ graph: ItemGraph, in folder: String) throws {
    self.graph = graph
    peer = try KVClonePeer(making: graph, in: folder)
  }

  var filledCount: Int { graph.itemCount }

  func insert(_ number: Int) async throws {
    let item = graph.item(number)
    try await peer.store.write { transaction in try peer.insert(item, &transaction) }
  }

  func verify(count: Int) throws { try graph.verify(peer, count: count) }

  func close() { peer.close() }
}

/// The same graph in SQLite through GRDB.
struct SQLiteItems: DurablePeer {
  let title = "SQLite through GRDB"
  private let peer: SQLitePeer
  private let graph: ItemGraph

  init(_ graph: ItemGraph, in folder: String) throws {
    self.graph = graph
    peer = try SQLitePeer(making: graph, in: folder)
  }

  var filledCount: Int { graph.itemCount }

  func insert(_ number: Int) async throws {
    let item = graph.item(number)
    try await peer.pool.write { database in try ItemInsertion(database).run(item) }
  }

  func verify(count: Int) throws { try graph.verify(peer, count: count) }

  func close() throws { try peer.close() }
}

extension ItemGraph {
  /// Compares the inserted items, and the number of all items, with the expected ones.
  fileprivate func verify<Peer: Contestant>(_ peer: Peer, count: Int) throws {
    let inserted = itemCount + 1..<count + 1
    var expected = RowSum()
    for number in inserted { expected.append(item(number).digest) }
    expected.add(counted: count)
    guard try peer.readBack(inserted) == expected else {
      throw PeerFailure("\(Peer.title) has other items than were inserted")
    }
  }
}
