import BenchmarkSupport
import PhotoStores

/// The plots of the report.
struct ReportPlots {
  let results: Results

  var all: [(name: String, plot: Plot)] {
    [
      ("time-objects", timeAgainstObjects), ("cost-per-object", costPerObject), ("time-bytes", timeAgainstBytes),
      ("memory-bytes", memoryAgainstBytes), ("memory-objects", memoryAgainstObjects),
    ].filter { !$0.1.series.isEmpty }
  }

  private var small: [GraphResult] {
    results.graphs.filter { $0.plan.name.hasPrefix("small-") }
  }

  private var withImages: [GraphResult] {
    results.graphs.filter { $0.plan.name.hasPrefix("images-") }
  }

  private func series(_ graphs: [GraphResult], _ x: (GraphResult) -> Double, _ y: (GraphResult, Run) -> Double)
    -> [Plot.Series]
  {
    Peer.allCases.enumerated().map { number, peer in
      let run = Run(peer: peer)
      return Plot.Series(
        peer.title, style: number, graphs.filter { !$0.seconds(run).isEmpty }.map { (x: x($0), y: y($0, run)) })
    }
  }

  private func objects(_ graph: GraphResult) -> Double { Double(graph.plan.recipe.objects) }
  private func imageBytes(_ graph: GraphResult) -> Double { Double(graph.plan.recipe.totalImageBytes) }

  private var timeAgainstObjects: Plot {
    Plot(
      "Time of a clone against the number of small objects", x: "objects", y: "time, durable",
      series: series(small, objects) { $0.seconds($1).median }, yLabel: Self.time)
  }

  private var costPerObject: Plot {
    Plot(
      "Cost of an object", x: "objects in the clone", y: "nanoseconds an object",
      series: series(small, objects) { $0.nanosecondsPerObject($1) })
  }

  private var timeAgainstBytes: Plot {
    Plot(
      "Time of a clone against the bytes of its images", x: "bytes of images", y: "time, durable",
      series: series(withImages, imageBytes) { $0.seconds($1).median }, xLabel: Self.size, yLabel: Self.time)
  }

  private var memoryAgainstBytes: Plot {
    Plot(
      "Peak anonymous memory against the bytes of images", x: "bytes of images", y: "peak of the process",
      series: series(withImages, imageBytes) { Double($0.peak($1)) }, xLabel: Self.size, yLabel: Self.binary)
  }

  private var memoryAgainstObjects: Plot {
    Plot(
      "Peak anonymous memory against the number of small objects", x: "objects", y: "peak of the process",
      series: series(small, objects) { Double($0.peak($1)) }, yLabel: Self.binary)
  }

  private static func time(_ seconds: Double) -> String {
    switch seconds {
    case 1...: Plot.compact(seconds) + " s"
    case 1e-3...: Plot.compact(seconds * 1e3) + " ms"
    default: Plot.compact(seconds * 1e6) + " µs"
    }
  }

  /// Labels of sizes at a logarithmic axis.
  private static func size(_ bytes: Double) -> String { Plot.count(bytes) + "B" }

  private static func binary(_ bytes: Double) -> String { Plot.count(bytes) + "B" }
}
