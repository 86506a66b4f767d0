import BenchmarkSupport
import Foundation
import Testing

#if canImport(FoundationXML)
  import FoundationXML
#endif

@Suite struct PlotTests {
  @Test func plotIsWellFormedAndHoldsEveryPoint() throws {
    let plot = Plot(
      "a < b & c", x: "objects", y: "seconds",
      series: [Plot.Series("one", [(10_000, 0.1), (1_000_000, 3)]), Plot.Series("two", [(10_000, 2), (0, 1)])])
    let svg = plot.svg
    #expect(XMLParser(data: Data(svg.utf8)).parse())
    #expect(svg.components(separatedBy: "<circle").count - 1 == 3)
    #expect(svg.components(separatedBy: "<polyline").count - 1 == 2)
    #expect(!svg.contains("nan") && !svg.contains("inf"))
  }

  @Test func plotOfOnePointOrNoneIsWellFormed() {
    for points in [[], [(x: 5.0, y: 5.0)]] {
      let svg = Plot("t", x: "x", y: "y", series: [Plot.Series("s", points)]).svg
      #expect(XMLParser(data: Data(svg.utf8)).parse())
      #expect(!svg.contains("nan") && !svg.contains("inf"))
    }
  }
}

@Suite struct ReportPiecesTests {
  @Test func tableEscapesBarsAndFillsRows() {
    var table = MarkdownTable(["a", "b"])
    table.rows = [["x|y"], ["1", "2\n3"]]
    #expect(table.text == "| a | b |\n| --- | ---: |\n| x\\|y |  |\n| 1 | 2 3 |\n")
  }

  @Test func percentilesAreValuesThatWereMeasured() {
    let rounds = Rounds([3, 1, 2, 4])
    #expect(rounds.median == 2.5)
    #expect(rounds.percentile(0.99) == 4)
    #expect(rounds.percentile(0.5) == 2)
    #expect(Rounds([]).median == 0)
  }

  @Test func numbersAreWrittenForReaders() {
    #expect(grouped(1_234_567) == "1,234,567")
    #expect(duration(0.000_150) == "150 µs")
    #expect(bytes(64 * 1_048_576) == "64.0 MiB")
  }
}
