import BenchmarkSupport
import Foundation
import PhotoStores

/// Measurements with a graph's stores besides the clones of all peers.
struct ExtraBench {
  let lab: Lab
  let plan: GraphPlan
  let sources: [Peer.Family: String]
  let result: GraphResult

  func run(_ extra: Extra, _ results: inout Results) throws {
    switch extra {
    case .fileCopies: results.sections.append(("Whole-file copies: \(plan.title)", try FileCopies(self).run()))
    case .syncs: try syncs(&results)
    case .aged: results.sections.append(("A store that has aged: \(plan.title)", try aged()))
    case .rounds: try rounds(&results)
    case .stall: results.sections.append(("Writers while a clone runs: \(plan.title)", try stall()))
    case .memoryLimit: try memoryLimit(&results)
    }
  }

  /// The path of KVClone's store of this graph.
  func source() throws -> String {
    guard let path = sources[.kvclone] else { throw PeerFailure("there is no store to work on") }
    return path
  }

  private func work(_ work: StoreWork) throws -> PeerReply {
    try lab.measure(Run(peer: .kvclone), source(), plan.recipe) { request in
      request.verb = .work
      request.work = work
    }
  }

  private func syncs(_ results: inout Results) throws {
    for run in plan.runs where !run.isCold {
      guard let source = sources[run.peer.family] else { continue }
      do {
        results.syncs.append(try SyncTrace(lab: lab).look(at: run, source, plan.recipe))
      } catch {
        lab.fail("system calls of \(run.title): \(error)")
      }
    }
  }

  private func rounds(_ results: inout Results) throws {
    let count = 10
    var table = MarkdownTable(["file after round"] + (1...count).map(String.init))
    for apart in [false, true] {
      let figures = try work(.rounds(count, apart: apart)).figures
      guard let first = figures["bytes after round 1"], let last = figures["bytes after round \(count)"] else { return }
      if !apart { results.growth = (count, first, last) }
      table.rows.append(
        [apart ? "a small commit between them" : "one right after the other"]
          + (1...count).map { bytes(figures["bytes after round \($0)"] ?? 0) })
    }
    results.sections.append(("Rounds of clone and delete: \(plan.title)", table.text))
  }

  private func aged() throws -> String {
    let path = lab.folder + "/aged"
    defer { StoreFiles.remove(path) }
    try StoreFiles.copy(source(), to: path)
    var request = PeerRequest(.work, .kvclone, path, plan.recipe)
    request.work = .age(100)
    let grown = try lab.ask(request).fileBytesAfter
    var samples: [(fresh: PeerReply, aged: PeerReply)] = []
    for _ in 0..<max(3, plan.rounds) {
      samples.append(
        (
          try lab.measure(Run(peer: .kvclone), source(), plan.recipe),
          try lab.measure(Run(peer: .kvclone), path, plan.recipe)
        ))
    }
    var table = MarkdownTable(["store", "clone, median", "least", "most", "file before", "file after"])
    for (title, replies) in [("fresh", samples.map(\.fresh)), ("aged", samples.map(\.aged))] {
      let times = Rounds(replies.flatMap(\.seconds))
      let (before, after) = (replies.last?.fileBytesBefore ?? 0, replies.last?.fileBytesAfter ?? 0)
      table.rows.append(
        [
          title, duration(times.median), duration(times.least), duration(times.most), bytes(Double(before)),
          bytes(Double(after)),
        ])
    }
    return "Aged: 100 rounds in which some albums of the library are cloned and an earlier such clone is deleted "
      + "(\(bytes(Double(grown))) then; deleted clones leave free pages, which later ones use).\n\n" + table.text
  }

  private func stall() throws -> String {
    let reply = try work(.stall)
    func figure(_ name: String) -> String { duration(reply.figures[name] ?? 0) }
    var table = MarkdownTable(["writer", "commits", "median", "p99", "longest"])
    table.rows = [
      [
        "alone", fixed(reply.figures["commits alone"] ?? 0), figure("median alone"), figure("p99 alone"),
        figure("longest alone"),
      ],
      ["beside a clone", fixed(reply.figures["commits"] ?? 0), figure("median"), figure("p99"), figure("longest")],
    ]
    return "One thread changes an attribute and commits, again and again, while another clones "
      + "(\(duration(reply.seconds.first ?? 0))). The longest commit is the one that waited for the clone: what is cloned "
      + "is found without the lock, and copied with it.\n\n" + table.text
  }

  private func memoryLimit(_ results: inout Results) throws {
    let limit = try MemoryLimit(bytes: 256 << 20)
    defer { limit.remove() }
    let path = lab.folder + "/limited"
    defer { StoreFiles.remove(path) }
    try StoreFiles.copy(source(), to: path)
    var request = PeerRequest(.clone, plan.recipe.imageBytes > 0 ? .kvcloneCopy : .kvclone, path, plan.recipe)
    var title = "\(plan.title), images copied (\(bytes(Double(plan.recipe.totalImageBytes))))"
    if plan.recipe.imageBytes == 0 {
      let one = max(1, result.storeBytes[.kvclone] ?? 1)
      let count = isFullSize ? ((4 << 30) + one - 1) / one : 3
      var multiply = PeerRequest(.work, .kvclone, path, plan.recipe)
      multiply.work = .multiply(count)
      let grown = try lab.ask(multiply).fileBytesAfter
      request.roots = (1...count).map { "Library/\($0)" }
      title = "\(grouped(plan.recipe.objects * count)) small objects (\(bytes(Double(grown))))"
    }
    StoreFiles.settle(path)
    do {
      let reply = try lab.ask(request, wrapper: limit.wrapper)
      results.limits.append(
        LimitResult(
          title: title, isComplete: true,
          says: "\(grouped(reply.objects)) objects in \(duration(reply.seconds.first ?? 0)), peak "
            + "\(mebibytes(reply.peakAnonymousBytes)) MiB anonymous, \(limit.title)"))
    } catch {
      lab.fail("\(title) inside \(limit.title): \(error)")
      results.limits.append(LimitResult(title: title, isComplete: false, says: "\(error)"))
    }
  }

  private var isFullSize: Bool { plan.recipe.objects > 5_000_000 }
}

/// A memory limit for a process.
struct MemoryLimit {
  let title: String
  /// The command prefix that applies the limit.
  let wrapper: [String]
  private let group: String?

  init(bytes count: Int) throws {
    let size = "\(count >> 20) MiB"
    for (folder, file) in [
      ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max"),
    ] {
      let path = "\(folder)/kvclone-\(getpid())"
      guard mkdir(path, 0o755) == 0 else { continue }
      let handle = open("\(path)/\(file)", O_WRONLY | O_CLOEXEC)
      let text = "\(count)"
      let written = handle >= 0 ? write(handle, text, text.utf8.count) : -1
      if handle >= 0 { close(handle) }
      if written > 0 {
        group = path
        title = "a cgroup of \(size), which counts cached pages too"
        wrapper = ["/bin/bash", "-c", "echo $$ >\(path)/cgroup.procs && exec \"$@\"", "limited"]
        return
      }
      rmdir(path)
    }
    group = nil
    title = "`ulimit -d` of \(size)"
    wrapper = ["/bin/bash", "-c", "ulimit -d \(count >> 10) && exec \"$@\"", "limited"]
  }

  func remove() {
    guard let group else { return }
    // The kernel removes the last process from the group with a short delay.
    for _ in 0..<50 where rmdir(group) != 0 { usleep(100_000) }
  }
}
