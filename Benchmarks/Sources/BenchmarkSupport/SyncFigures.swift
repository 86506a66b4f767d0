import Foundation

/// The disk operations of a peer's durable transactions, traced with strace in a separate process, because tracing
/// slows down everything.
package struct SyncFigures {
  package let title: String
  package let transactions: Int
  package let syncs: Int
  package let bytesWritten: Int

  /// Runs this program with arguments under strace.
  ///
  /// - Parameters:
  ///   - title: the title of the peer.
  ///   - transactions: the number of durable transactions between the marks.
  ///   - sharesCommits: whether concurrent transactions can become durable by one sync.
  ///   - folder: the folder for the store and the trace. The path of the store is the last argument.
  ///   - words: the other arguments.
  /// - Throws: ``PeerFailure`` if a transaction was not durable: a sync must begin after the transaction and end before
  ///   its return.
  package init(
    of title: String, transactions: Int, sharesCommits: Bool = false, in folder: String, running words: [String]
  ) throws {
    guard let strace = Command.find("strace") else { throw PeerFailure("strace is not installed") }
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    // strace prints absolute paths.
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
