import BenchmarkSupport
import Foundation
import PhotoStores

/// The report in Markdown, with plots in SVG.
struct Report {
  let results: Results
  let facts: MachineFacts

  func write(to folder: String) throws {
    let plots = ReportPlots(results: results).all
    for (name, plot) in plots { try write(plot.svg, "\(folder)/\(name).svg") }
    var text = "# Clones compared\n\n"
    if results.isQuick { text += "A quick run: small sizes, few rounds. The figures are a first look and no more.\n\n" }
    text += Targets(results: results).all.section() + facts.table(seconds: results.seconds)
    for (name, plot) in plots { text += "![\(plot.title)](\(name).svg)\n\n" }
    text += howto
    for graph in results.graphs { text += section(graph) }
    text += cold
    if !results.syncs.isEmpty { text += syncs }
    for section in results.sections { text += "## \(section.title)\n\n\(section.text)\n" }
    if !results.failures.isEmpty {
      text += "## What failed\n\n" + results.failures.map { "- \($0)\n" }.joined() + "\n"
    }
    try write(text, "\(folder)/report.md")
  }

  private func write(_ text: String, _ path: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  private var howto: String {
    var table = MarkdownTable(["peer", "what it is"], wordColumns: 2)
    let seen = Peer.allCases.filter { peer in results.graphs.contains { $0.plan.runs.contains { $0.peer == peer } } }
    table.rows = seen.map { [$0.title, $0.explanation] }
    return """
      ## How it was measured

      Every peer holds the same seeded graph and does the same logical work: it copies the root and everything that belongs \
      to it in one durable transaction, and shares the tags. Each run is a process of its own on a fresh, written-out copy \
      of a store; it clones a small document first, and KVClone 1,500 of them at once, which is not measured: what a process \
      does once in its life (for KVClone, 13 ms to find out whether LMDB can be made to spill) is not in the figures. Rounds are interleaved: each peer once, then \
      each again. The time is from the call to the durable return, by the monotonic clock. Warm means that the file lies \
      in the page cache; cold, that it was dropped from it. The peak is the whole process's anonymous memory (RssAnon), \
      looked at every 2 ms; pages of a mapped file are not in it, and a peer's own cache is. Processor time is that of the whole process, its other threads and the kernel's part included; \
      a wait for the disk is not in it.


      """ + table.text + "\n"
  }

  private func section(_ graph: GraphResult) -> String {
    let recipe = graph.plan.recipe
    var title = "## \(graph.plan.name): \(graph.plan.title)\n\n\(grouped(recipe.objects)) objects are cloned"
    if recipe.shape == .photos { title += ", \(recipe.tagsPerPhoto) tags a photo of \(grouped(recipe.tagCount))" }
    if recipe.totalImageBytes > 0 { title += ", \(bytes(Double(recipe.totalImageBytes))) of images" }
    let stores = Peer.Family.allCases.compactMap { family in
      graph.storeBytes[family].map { "\(family.rawValue) \(bytes(Double($0)))" }
    }
    title += ". Stores: " + stores.joined(separator: ", ") + ".\n\n"
    let isShort = graph.plan.repeats > 1
    var table = MarkdownTable(
      ["peer", "rounds", "median", "least", isShort ? "p99" : "most"]
        + (isShort
          ? [] : ["ns/object", "processor ns/object", "against KVClone", "peak MiB", "from disk", "file grows by"]))
    let ours = graph.seconds(.kvclone).median
    for run in graph.plan.runs {
      let times = graph.seconds(run)
      guard !times.isEmpty, let last = graph.replies[run]?.last else {
        table.rows.append([run.title, "failed"])
        continue
      }
      let most = isShort ? times.percentile(0.99) : times.most
      var row = [run.title, "\(times.values.count)", duration(times.median), duration(times.least), duration(most)]
      if !isShort {
        row += [
          fixed(graph.nanosecondsPerObject(run)), fixed(graph.processorNanosecondsPerObject(run)),
          ours > 0 ? fixed(times.median / ours, 2) + " ×" : "",
          mebibytes(graph.peak(run)), bytes(Double(last.diskBytesRead)),
          bytes(Double(max(0, last.fileBytesAfter - last.fileBytesBefore))),
        ]
      }
      table.rows.append(row)
    }
    return title + table.text + parts(graph) + "\n"
  }

  /// The parts of the time, for peers that report them.
  private func parts(_ graph: GraphResult) -> String {
    let lines = graph.plan.runs.filter { !$0.isCold }.compactMap { run -> String? in
      guard let parts = graph.replies[run]?.last?.parts, !parts.isEmpty else { return nil }
      let shown = parts.keys.sorted().compactMap { name in
        graph.part(name, run.peer).map { "\(name) \(duration($0))" }
      }
      return "\(run.title): \(shown.joined(separator: ", "))"
    }
    return lines.isEmpty ? "" : "\nParts of the time. \(lines.joined(separator: "; ")).\n"
  }

  /// The disk reads of clones with a cold page cache.
  private var cold: String {
    var table = MarkdownTable(["graph and clone", "warm", "cold", "read"])
    for graph in results.graphs {
      for peer in [Peer.kvclone, .kvcloneCopy] {
        let cold = Run(peer: peer, isCold: true)
        guard !graph.seconds(cold).isEmpty else { continue }
        let read = Measuring.median((graph.replies[cold] ?? []).map { Double($0.diskBytesRead) })
        table.rows.append(
          [
            "\(graph.plan.title): \(peer.title)", duration(graph.seconds(peer).median),
            duration(graph.seconds(cold).median), bytes(read),
          ])
      }
    }
    return table.rows.isEmpty ? "" : "## From disk\n\n\(table.text)\n"
  }

  private var syncs: String {
    var table = MarkdownTable(["peer", "written to the store", "calls", "synced before it returned"], wordColumns: 4)
    for one in results.syncs {
      let calls = one.calls.keys.sorted().map { "\($0) × \(one.calls[$0] ?? 0)" }.joined(separator: ", ")
      table.rows.append(
        [one.peer.title, bytes(Double(one.bytesWritten)), calls, one.reachesDisk ? "yes" : "no"])
    }
    return
      "## System calls between the call and its return\n\nSeen by strace, on files of the store. SQLite with NORMAL "
      + "syncs at its checkpoints only; a clone that is too short for one is lost with the power.\n\n\(table.text)\n"
  }
}
