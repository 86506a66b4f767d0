import BenchmarkSupport

/// The report's plots.
struct ServicePlots {
  let results: ServiceResults

  var all: [(name: String, plot: Plot)] {
    [("tasks-rate", rate), ("tasks-latency", latency), ("readers", readers)].filter { !$0.1.series.isEmpty }
  }

  private static let tasks: [(row: ServiceRow, count: Double)] = [(.tasks1, 1), (.tasks8, 8), (.tasks64, 64)]

  private func series(_ y: (ContestantResult) -> Double, style: Int = 0, _ suffix: String = "") -> [Plot.Series] {
    let titles = Self.tasks.lazy.compactMap { results[$0.row]?.contestants.map(\.title) }.first ?? []
    return titles.enumerated().map { number, title in
      Plot.Series(
        title + suffix, style: style + number,
        Self.tasks.compactMap { task in results[task.row]?[title].map { (x: task.count, y: y($0)) } })
    }
  }

  private var rate: Plot {
    Plot(
      "Durable transactions of one object", x: "tasks", y: "transactions a second", series: series { $0.rate })
  }

  private var latency: Plot {
    Plot(
      "Latency of a durable transaction of one object", x: "tasks", y: "time",
      series: series({ $0.latency(0.5) }, ", p50") + series({ $0.latency(0.99) }, style: 4, ", p99"),
      yLabel: Self.time)
  }

  /// A line for each peer, from its limited readers to its unlimited ones.
  private var readers: Plot {
    let rows = [ServiceRow.readersLimited, .readers].compactMap { results[$0] }
    let titles = rows.first?.contestants.map(\.title) ?? []
    return Plot(
      "A writer next to 8 readers", x: "reads a second", y: "durable transactions a second",
      series: titles.enumerated().map { number, title in
        Plot.Series(title, style: number, rows.compactMap { $0[title] }.map { (x: $0.readRate, y: $0.rate) })
      })
  }

  private static func time(_ seconds: Double) -> String {
    switch seconds {
    case 1...: Plot.compact(seconds) + " s"
    case 1e-3...: Plot.compact(seconds * 1e3) + " ms"
    default: Plot.compact(seconds * 1e6) + " µs"
    }
  }
}
