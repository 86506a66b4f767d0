import Foundation

/// What durable transactions of a peer asked of the disk, as strace saw it in a process of its own, because a trace slows
/// everything down.
package struct SyncFigures {
  package let title: String
  package let transactions: Int
  package let syncs: Int
  package let bytesWritten: Int

  /// Runs this program with some arguments under strace.
  ///
  /// - Parameters:
  ///   - title: the title of the peer.
  ///   - transactions: how many durable transactions the program runs between the marks.
  ///   - sharesCommits: whether transactions run at the same time, so that several become durable by one sync.
  ///   - folder: the folder for the store and the trace. The store is made at the path that ends the arguments.
  ///   - words: the other arguments.
  /// - Throws: if the transactions were not durable: a sync has to begin after each began and to end before it returned.
  package init(
    of title: String, transactions: Int, sharesCommits: Bool = false, in folder: String, running words: [String]
  ) throws {
    guard let strace = Command.find("strace") else { throw PeerFailure("strace is not installed") }
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    // strace names files by their whole paths.
    let place = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
    let (trace, store) = (place + "/trace", place + "/traced")
    defer {
      unlink(trace)
      StoreFiles.remove(store)
    }
    let result = try Command.run(SystemCallTrace.wrapper(strace: strace, output: trace) + [program] + words + [store])
    guard result.status == 0, let text = FileManager.default.contents(atPath: trace) else {
      throw PeerFailure("\(title) under strace ended with \(result.status): \(result.errors)")
    }
    let calls = SystemCallTrace(String(decoding: text, as: UTF8.self), folder: store)
    guard calls.bytesWritten > 0 else { throw PeerFailure("strace saw \(title) write nothing") }
    guard sharesCommits || calls.syncCount >= transactions else {
      throw PeerFailure(
        "\(title) synced \(calls.syncCount) times in \(transactions) transactions: they are not durable")
    }
    guard !sharesCommits || calls.acknowledgements == transactions else {
      throw PeerFailure("\(title) acknowledged \(calls.acknowledgements) of \(transactions) transactions")
    }
    guard calls.unsyncedAcknowledgements == 0 else {
      throw PeerFailure(
        "\(title) returned from \(calls.unsyncedAcknowledgements) of \(transactions) transactions without a sync")
    }
    self.title = title
    self.transactions = transactions
    syncs = calls.syncCount
    bytesWritten = calls.bytesWritten
  }
}

extension [SyncFigures] {
  package var table: String {
    var table = MarkdownTable(["peer", "transactions", "syncs", "syncs a transaction", "written a transaction"])
    for one in self {
      let count = Double(Swift.max(1, one.transactions))
      table.rows.append(
        [
          one.title, grouped(one.transactions), grouped(one.syncs), fixed(Double(one.syncs) / count, 2),
          bytes(Double(one.bytesWritten) / count),
        ])
    }
    return table.text
  }
}
