import BenchmarkSupport
import Foundation

/// The report in Markdown, with plots in SVG.
struct ServiceReport {
  let results: ServiceResults
  let facts: MachineFacts

  var text: String {
    var text = "# Workloads of a service\n\n"
    if results.isQuick {
      text += "A quick run: small stores, short rounds. The figures are a first look and no more.\n\n"
    }
    if !results.failures.isEmpty {
      text += "## Failures\n\n" + results.failures.map { "- \($0)\n" }.joined() + "\n"
    }
    text += ServiceTargets(results: results).all.section(measured: "measured")
    text += facts.table(seconds: results.seconds)
    for (name, plot) in ServicePlots(results: results).all { text += "![\(plot.title)](\(name).svg)\n\n" }
    text += howto
    for row in results.rows { text += section(row) }
    return text + syncs
  }

  func write(to folder: String) throws {
    for (name, plot) in ServicePlots(results: results).all { try write(plot.svg, "\(folder)/\(name).svg") }
    try write(text, folder + "/report.md")
  }

  private func write(_ text: String, _ path: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  private var howto: String {
    """
    ## Method

    Every transaction is durable when it returns. KVClone is used through its public interface. SQLite is used through \
    GRDB's pool: write-ahead log, synchronous FULL, set and verified on the writer, prepared statements, 64 MiB of cache \
    a connection, 1 GiB of map. C on LMDB puts a record of 200 bytes and an index entry of 8 bytes in each transaction, \
    without a model or checksums. Rounds are interleaved, last equally long for all contestants, begin with another one in \
    turn, and follow one that is not measured. Figures are medians of the rounds. Processor time is that of all threads; a \
    wait for the disk is not in it. After each row, the content of every \
    store is compared with what was written.

    Cold clones use default options, each in a process of its own, on a fresh copy of a store whose files are dropped \
    from the page cache after it is opened; a small clone comes first and is not measured. C on LMDB works on the same \
    file, with the kernel's read-ahead. Loads, dumps and imports are runs of the tool, from its start to its end; the \
    memory is the peak of RssAnon, looked at every 5 ms.


    """
  }

  private func section(_ result: RowResult) -> String {
    var text = "## \(result.row.rawValue): \(result.title)\n\n"
    switch result.row {
    case .tasks64, .tasks8, .tasks1, .links: text += rates(result, reads: false)
    case .readersLimited, .readers: text += rates(result, reads: true)
    case .savepoints: text += times(result)
    case .coldPhotos, .coldObjects, .dump, .load, .coreData: text += times(result, memory: true)
    }
    return text + "\n"
  }

  private func rates(_ result: RowResult, reads: Bool) -> String {
    var table = MarkdownTable(
      ["contestant", "transactions/s", "least", "most", "p50", "p99", "longest"]
        + [reads ? "reads/s" : "processor time a transaction"])
    for one in result.contestants {
      let rates = Rounds(one.samples.map { Double($0.operations) / $0.seconds })
      let row = [one.title] + [rates.median, rates.least, rates.most].map { grouped(Int($0)) }
      table.rows.append(
        row + [duration(one.latency(0.5)), duration(one.latency(0.99)), duration(one.latency(1))]
          + [reads ? grouped(Int(one.readRate)) : one.processorSeconds.map(duration) ?? ""])
    }
    return table.text
  }

  private func times(_ result: RowResult, memory: Bool = false) -> String {
    let isCold = result.row == .coldPhotos || result.row == .coldObjects
    var table = MarkdownTable(
      ["contestant", "rounds", "median", "least", "most", "processor time"] + (memory ? ["peak anonymous memory"] : [])
        + (isCold ? ["read from disk"] : []))
    for one in result.contestants {
      let times = [one.seconds.median, one.seconds.least, one.seconds.most]
      var row = [one.title, "\(one.samples.count)"] + times.map(duration)
      row.append(one.processorSeconds.map(duration) ?? "")
      if memory { row.append(mebibytes(one.anonymousBytes) + " MiB") }
      if isCold { row.append(bytes(one.diskBytesRead)) }
      table.rows.append(row)
    }
    return table.text
  }

  private var syncs: String {
    guard !results.syncs.isEmpty else { return "" }
    return """
      ## Durability

      Seen by strace in small stores: fsync, fdatasync, and writes through a descriptor that is open with O_DSYNC. A sync \
      began after each transaction began, and ended before the transaction returned. Tasks at the same time can share a \
      sync.


      """ + results.syncs.table + "\n"
  }
}
