import PhotoStores

/// One way to run a clone of a graph.
struct Run: Hashable {
  var peer: Peer
  /// Whether the store's files are dropped from the page cache first.
  var isCold = false

  var title: String { peer.title + (isCold ? ", cold" : "") }
}

/// Additional measurements with a graph's stores.
enum Extra {
  /// Whole-file copies: cp, mdb_copy -c, cp --reflink.
  case fileCopies
  /// The system calls of a clone, to verify that the data was written and synced before it returned.
  case syncs
  /// A clone in a store after 100 rounds of clones and deletes.
  case aged
  /// The file size after ten rounds of clone and delete.
  case rounds
  /// The wait of a writer during a clone.
  case stall
  /// A clone within 256 MiB of memory.
  case memoryLimit
}

/// A graph, the peers that clone it, and the number of rounds.
struct GraphPlan {
  var name: String
  var title: String
  var recipe: GraphRecipe
  var runs: [Run]
  var rounds: Int
  /// The number of rounds for slow clones in SQLite and RocksDB.
  var slowRounds: Int?
  /// The number of rounds for row-by-row clones.
  var rowRounds: Int?
  /// The number of rounds with the files dropped from the page cache.
  var coldRounds = 3
  /// The number of measured clones in one process, one after another.
  var repeats = 1
  /// Whether the store is on a file system in memory, on which a sync costs nothing.
  var isInMemory = false
  var extras: [Extra] = []

  func rounds(of run: Run) -> Int {
    let most =
      switch run.peer {
      case .kvclone, .kvcloneCopy, .lmdb, .lmdbPlain, .lmdbFloor, .lmdbCopy: rounds
      case .sqliteSet, .sqliteSetNormal, .rocksdb: slowRounds ?? rounds
      case .sqliteRows, .sqliteRowsNormal: rowRounds ?? slowRounds ?? rounds
      }
    return min(rounds, run.isCold ? coldRounds : most)
  }

  var families: [Peer.Family] { Peer.Family.allCases.filter { family in runs.contains { $0.peer.family == family } } }
}

extension GraphPlan {
  private static let everybody: [Peer] = [
    .kvclone, .lmdb, .lmdbPlain, .lmdbFloor, .sqliteSet, .sqliteSetNormal, .sqliteRows, .sqliteRowsNormal, .rocksdb,
  ]
  private static let durable: [Peer] = [.kvclone, .lmdb, .sqliteSet, .sqliteRows, .rocksdb]
  private static let withImages: [Peer] = [
    .kvclone, .kvcloneCopy, .lmdb, .lmdbCopy, .sqliteSet, .sqliteRows, .rocksdb,
  ]
  private static let coldRuns: [Run] = [
    Run(peer: .kvclone, isCold: true), Run(peer: .lmdb, isCold: true), Run(peer: .sqliteSet, isCold: true),
    Run(peer: .rocksdb, isCold: true),
  ]
  private static let coldImageRuns: [Run] = [
    Run(peer: .kvclone, isCold: true), Run(peer: .kvcloneCopy, isCold: true),
  ]

  private static func runs(_ peers: [Peer]) -> [Run] { peers.map { Run(peer: $0) } }

  /// The full plan; about half an hour.
  static let full: [GraphPlan] =
    [
      GraphPlan(
        name: "small-10k", title: "10,000 small objects", recipe: .small(10_000), runs: runs(everybody), rounds: 9),
      GraphPlan(
        name: "small-100k", title: "100,000 small objects", recipe: .small(100_000), runs: runs(everybody), rounds: 7,
        rowRounds: 5, extras: [.syncs]),
      GraphPlan(
        name: "small-1m", title: "1,000,000 small objects", recipe: .small(1_000_000), runs: runs(everybody) + coldRuns,
        rounds: 5, rowRounds: 3, extras: [.fileCopies, .stall, .rounds, .aged]),
      GraphPlan(
        name: "small-10m", title: "10,000,000 small objects", recipe: .small(10_000_000, copies: 10),
        runs: runs([.kvclone, .lmdb, .lmdbFloor, .sqliteSet]), rounds: 3, slowRounds: 1, extras: [.memoryLimit]),
      GraphPlan(
        name: "images-4k", title: "20,000 photos with 4 KiB each", recipe: .images(20_000, of: 4_096),
        runs: runs(withImages), rounds: 5),
      GraphPlan(
        name: "images-1g", title: "1,000 photos with 1 MiB each", recipe: .images(1_000, of: 1 << 20),
        runs: runs([.kvclone, .kvcloneCopy, .lmdbCopy, .sqliteSet, .rocksdb]), rounds: 3, slowRounds: 2),
      GraphPlan(
        name: "images-100k", title: "20,000 photos with 100 kB each", recipe: .images(20_000, of: 100_000),
        runs: runs(withImages) + coldImageRuns, rounds: 3, rowRounds: 2, coldRounds: 1),
      GraphPlan(
        name: "images-1m", title: "4,096 photos with 1 MiB each",
        recipe: GraphRecipe(albums: 64, photosPerAlbum: 64, imageBytes: 1 << 20, seed: 1 << 20),
        runs: runs([.kvclone, .kvcloneCopy, .lmdbCopy, .sqliteSet, .rocksdb]), rounds: 2, slowRounds: 1,
        extras: [.memoryLimit]),
      GraphPlan(
        name: "chain", title: "a chain of 1,000,000 nodes", recipe: .chain(1_000_000), runs: runs(durable), rounds: 3,
        rowRounds: 1),
      GraphPlan(
        name: "fan", title: "1,000,000 photos in one album", recipe: .fan(1_000_000), runs: runs(durable), rounds: 3,
        rowRounds: 1),
      GraphPlan(
        name: "dense", title: "1,000,000 objects with 10 tags a photo", recipe: .dense(1_000_000), runs: runs(durable),
        rounds: 3, slowRounds: 2, rowRounds: 1),
    ] + documents(rounds: 5, repeats: 20)

  /// A plan for a few minutes, with smaller graphs.
  static let quick: [GraphPlan] =
    [
      GraphPlan(
        name: "small-10k", title: "10,000 small objects", recipe: .small(10_000), runs: runs(everybody), rounds: 5),
      GraphPlan(
        name: "small-100k", title: "100,000 small objects", recipe: .small(100_000), runs: runs(everybody) + coldRuns,
        rounds: 3, extras: [.syncs, .fileCopies, .stall, .rounds, .aged, .memoryLimit]),
      GraphPlan(
        name: "images-4k", title: "2,000 photos with 4 KiB each", recipe: .images(2_000, of: 4_096),
        runs: runs(withImages),
        rounds: 3),
      GraphPlan(
        name: "images-100k", title: "2,000 photos with 100 kB each", recipe: .images(2_000, of: 100_000),
        runs: runs(withImages) + coldImageRuns, rounds: 3, extras: [.memoryLimit]),
      GraphPlan(
        name: "chain", title: "a chain of 50,000 nodes", recipe: .chain(50_000), runs: runs(durable), rounds: 3),
      GraphPlan(name: "fan", title: "50,000 photos in one album", recipe: .fan(50_000), runs: runs(durable), rounds: 3),
      GraphPlan(
        name: "dense", title: "50,000 objects with 10 tags a photo", recipe: .dense(50_000), runs: runs(durable),
        rounds: 3),
    ] + documents(rounds: 3, repeats: 10)

  private static func documents(rounds: Int, repeats: Int) -> [GraphPlan] {
    [
      GraphPlan(
        name: "document", title: "a document: 101 objects, 5 images of 100 kB", recipe: .document,
        runs: runs(withImages),
        rounds: rounds, repeats: repeats),
      GraphPlan(
        name: "document-memory", title: "the same document on a file system in memory, where a sync costs nothing",
        recipe: .document, runs: runs(withImages), rounds: rounds, repeats: repeats, isInMemory: true),
      GraphPlan(
        name: "document-tags", title: "a document in memory that links to nearly 192 of 1,000 tags, not to 24",
        recipe: .documentWithManyTags, runs: runs(withImages), rounds: rounds, repeats: repeats, isInMemory: true),
    ]
  }
}
