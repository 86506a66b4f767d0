import BenchmarkSupport
import Foundation
import ItemPeers

/// The report in Markdown.
struct FetchReport {
  let results: FetchResults
  let facts: MachineFacts

  var text: String {
    var text = "# Fetches and writes compared with SQLite\n\n"
    if results.isQuick {
      text += "A quick run: a small graph, short rounds. The figures are a first look and no more.\n\n"
    }
    if !results.differences.isEmpty { text += list("Results differ", results.differences) }
    text += results.measurements.map(\.asTarget).section(measured: "measured, SQLite / KVClone")
    text += facts.table(seconds: results.seconds) + howto + figures + syncs + plans
    if !results.failures.isEmpty { text += list("What failed", results.failures) }
    return text
  }

  func write(to folder: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/report.md"), options: .atomic)
  }

  private func list(_ title: String, _ lines: [String]) -> String {
    "## \(title)\n\n" + lines.map { "- \($0)\n" }.joined() + "\n"
  }

  private var howto: String {
    let stores = results.stores.map { "\($0.title) \(bytes(Double($0.bytes))), filled in \(duration($0.seconds))" }
    return """
      ## How it was measured

      Both peers hold the same seeded graph: \(grouped(results.graph.itemCount)) items with seven attributes, two of them \
      indexed, one to three of \(grouped(ItemGraph.tagCount)) tags, and one of \(grouped(ItemGraph.listCount)) lists; both \
      ways of every relationship can be followed. \(stores.joined(separator: "; ")).

      KVClone is used through its public interface. SQLite is used through GRDB's pool: write-ahead log, synchronous FULL, \
      foreign keys checked, integer keys, a join table without row ids, prepared statements, rows decoded by position, \
      64 MiB of cache a connection, 1 GiB of map; its checkpoints come as they do by default, in the commits that owe \
      them. A round that reads is one read transaction; a round has as many operations as the slower peer does in about \
      \(fixed(FetchRun.roundSeconds(isQuick: results.isQuick), 1)) s, the same for both. Rounds are interleaved, begin with \
      either peer in turn, and follow one that is not measured. The stores lie in the page cache. All results are summed up, \
      text by text and number by number, which is in both peers' time, and the sums of both compared after each round; what was \
      written is read back, which is not in the time.


      """
  }

  private var figures: String {
    var table = MarkdownTable(
      ["task", "one operation", "operations a round", "rows", "KVClone", "best", "worst", "SQLite", "best", "worst"],
      wordColumns: 2)
    for one in results.measurements {
      let (ours, theirs) = (Rounds(one.kvclone), Rounds(one.sqlite))
      let operations = one.operations > 0 ? grouped(one.operations) : ""
      let rows = one.rows > 0 ? fixed(one.rows, one.rows < 100 ? 1 : 0) : ""
      let times = [ours.median, ours.least, ours.most, theirs.median, theirs.least, theirs.most]
      table.rows.append([one.title, one.operation, operations, rows] + times.map(one.text))
    }
    return """
      ## Figures

      Times are of one operation; rows are the objects or links that it gave, or counted.


      """ + table.text + "\n"
  }

  private var syncs: String {
    guard !results.syncs.isEmpty else { return "" }
    return """
      ## Syncs of single-object transactions

      Seen by strace in a small store: fsync, fdatasync, and writes through a descriptor that is open with O_DSYNC.


      """ + results.syncs.table + "\n"
  }

  private var plans: String {
    var table = MarkdownTable(["query", KVClonePeer.title, SQLitePeer.title], wordColumns: 3)
    for plan in results.plans { table.rows.append([plan.query.rawValue, plan.kvclone, plan.sqlite]) }
    return "## What the peers say they do\n\n\(table.text)\n"
  }
}
