import BenchmarkSupport

/// Counts the syncs of transactions, in a separate process under strace.
enum ServiceSyncs {
  private static let transactionCount = 512
  private static let filledCount = 1_000

  enum PeerName: String, CaseIterable {
    case kvclone, copyOnWrite = "kvclone-cow", sqlite, lmdb
  }

  /// Runs this program on small stores of all peers.
  static func look(in folder: String) throws -> [SyncFigures] {
    try PeerName.allCases.flatMap { name in
      try [64, 1].filter { $0 == 1 || name != .lmdb }.map { tasks in
        try SyncFigures(
          of: "\(title(name)), \(tasks) task\(tasks == 1 ? "" : "s")", transactions: transactionCount,
          sharesCommits: tasks > 1, in: folder, running: ["syncs", name.rawValue, String(tasks)])
      }
    }
  }

  private static func title(_ name: PeerName) -> String {
    switch name {
    case .kvclone: "KVClone, write-ahead log"
    case .copyOnWrite: "KVClone, copy-on-write"
    case .sqlite: "SQLite through GRDB"
    case .lmdb: "C on LMDB"
    }
  }

  /// The work of the traced process.
  static func work(_ name: PeerName, tasks: Int, in folder: String) async throws {
    let peer: any DurablePeer =
      switch name {
      case .kvclone: try KVCloneEvents(in: folder, journalMode: .writeAheadLog, filledWith: filledCount)
      case .copyOnWrite: try KVCloneEvents(in: folder, journalMode: .copyOnWrite, filledWith: filledCount)
      case .sqlite: try SQLiteEvents(in: folder, filledWith: filledCount)
      case .lmdb: BlockingPeer(try LMDBEvents(in: folder, filledWith: filledCount))
      }
    let numbered = NumberedPeer(peer, filledCount: filledCount)
    // The first writes of a process include one-time costs, so they are not counted.
    for _ in 0..<10 { try await peer.insert(numbered.next()) }
    Marks.write(Marks.begin)
    try await withThrowingTaskGroup { group in
      for task in 0..<tasks {
        group.addTask {
          for _ in 0..<transactionCount / tasks {
            try await peer.insert(numbered.next())
            Marks.acknowledge(task: task)
          }
        }
      }
      try await group.waitForAll()
    }
    Marks.write(Marks.end)
    try peer.verify(count: numbered.count)
    try peer.close()
  }

  /// A peer without asynchronous writes.
  private struct BlockingPeer: DurablePeer {
    private let peer: any CrowdedPeer

    init(_ peer: any CrowdedPeer) { self.peer = peer }

    var title: String { peer.title }
    var filledCount: Int { peer.filledCount }
    func insert(_ number: Int) async throws { try peer.insertBlocking(number) }
    func verify(count: Int) throws { try peer.verify(count: count) }
    func close() throws { try peer.close() }
  }
}
