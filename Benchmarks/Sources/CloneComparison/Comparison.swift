import BenchmarkSupport
import Foundation
import PhotoStores

/// Runs all peers interleaved, graph by graph, and writes the report.
struct Comparison {
  let stores: String
  let output: String
  let isQuick: Bool
  /// The names of the graphs to run; nil for all.
  let only: [String]?

  func run() throws {
    let plans = (isQuick ? GraphPlan.quick : GraphPlan.full).filter { only?.contains($0.name) ?? true }
    if let unknown = only?.first(where: { name in !plans.contains { $0.name == name } }) {
      throw PeerFailure("there is no graph '\(unknown)'; there are: " + all.map(\.name).joined(separator: ", "))
    }
    try FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: true)
    let lab = try Lab(in: stores)
    defer { lab.remove() }
    var results = Results(isQuick: isQuick)
    let facts = MachineFacts(stores: stores, sqlite: SQLiteStore.version)
    let clock = ContinuousClock()
    let start = clock.now
    for plan in plans {
      run(plan, lab, &results)
      results.failures = lab.failures
      results.seconds = (clock.now - start).seconds
      // Written after each graph, so that an interrupted run keeps its results.
      try Report(results: results, facts: facts).write(to: output)
    }
    report("report: \(output)/report.md")
  }

  private var all: [GraphPlan] { isQuick ? GraphPlan.quick : GraphPlan.full }

  private func run(_ plan: GraphPlan, _ lab: Lab, _ results: inout Results) {
    report("\(plan.name): \(plan.title)")
    if plan.isInMemory, lab.memoryFolder == nil { return lab.fail("\(plan.name): /dev/shm cannot be written to") }
    let sources = lab.prepare(plan.families, plan.recipe, named: plan.name, inMemory: plan.isInMemory)
    defer { for path in sources.values { StoreFiles.remove(path) } }
    var result = GraphResult(plan: plan)
    for (family, path) in sources { result.storeBytes[family] = try? StoreFiles.bytes(path) }
    // A peer that has failed twice is skipped.
    var failed: [Run: Int] = [:]
    for round in 0..<plan.rounds {
      report("  round \(round + 1) of \(plan.rounds)")
      // Each round starts with another peer, so that the order varies.
      for index in plan.runs.indices {
        let run = plan.runs[(index + round) % plan.runs.count]
        guard let source = sources[run.peer.family], round < plan.rounds(of: run), failed[run, default: 0] < 2 else {
          continue
        }
        do {
          let reply = try lab.measure(run, source, plan.recipe, inMemory: plan.isInMemory) { request in
            request.repeats = plan.repeats
            request.samplesMemory = plan.repeats == 1
          }
          result.replies[run, default: []].append(reply)
        } catch {
          failed[run, default: 0] += 1
          lab.fail("\(plan.name), \(run.title): \(error)")
        }
      }
    }
    for run in plan.runs where !result.seconds(run).isEmpty {
      let columns = [
        "  " + run.title.padding(toLength: 36, withPad: " ", startingAt: 0),
        duration(result.seconds(run).median).right(10), (fixed(result.nanosecondsPerObject(run)) + " ns").right(14),
        (mebibytes(result.peak(run)) + " MiB").right(14),
      ]
      report(columns.joined())
    }
    results.graphs.append(result)
    for extra in plan.extras {
      let bench = ExtraBench(lab: lab, plan: plan, sources: sources, result: result)
      do { try bench.run(extra, &results) } catch { lab.fail("\(plan.name), \(extra): \(error)") }
    }
  }
}
