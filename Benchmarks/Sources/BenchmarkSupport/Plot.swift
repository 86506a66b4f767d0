import Foundation

/// A line plot with logarithmic axes, written as SVG that is readable on light and dark pages.
package struct Plot {
  /// One line.
  package struct Series {
    package var name: String
    package var points: [(x: Double, y: Double)]
    /// The index of the colour and dashes, which are the same in every plot.
    package var style: Int

    package init(_ name: String, style: Int = 0, _ points: [(x: Double, y: Double)]) {
      self.name = name
      self.style = style
      self.points = points.filter { $0.x > 0 && $0.y > 0 }.sorted { $0.x < $1.x }
    }
  }

  package var title: String
  package var xTitle: String
  package var yTitle: String
  package var xLabel: (Double) -> String
  package var yLabel: (Double) -> String
  package var series: [Series]

  package init(
    _ title: String, x: String, y: String, series: [Series],
    xLabel: @escaping (Double) -> String = Plot.count, yLabel: @escaping (Double) -> String = Plot.count
  ) {
    self.title = title
    xTitle = x
    yTitle = y
    self.series = series.filter { !$0.points.isEmpty }
    self.xLabel = xLabel
    self.yLabel = yLabel
  }

  /// The label of a number at an axis: 10 k, 1 M.
  package static func count(_ value: Double) -> String {
    switch value {
    case 1e9...: compact(value / 1e9) + " G"
    case 1e6...: compact(value / 1e6) + " M"
    case 1e3...: compact(value / 1e3) + " k"
    default: compact(value)
    }
  }

  /// A number without trailing zeros.
  package static func compact(_ value: Double) -> String { String(format: "%.4g", value) }

  // Colours of different lightness that are distinguishable on white and on black.
  private static let colours = [
    "#d1242f", "#2f81f7", "#8957e5", "#bf8700", "#2da44e", "#e16f24", "#768390", "#1b9e9e", "#c2479b", "#5e7e2c",
    "#9acd32",
  ]
  private static let dashes = ["", "6 4", "2 3", "9 3 2 3"]
  private static let (width, height) = (920.0, 480.0)
  private static let (left, right, top, bottom) = (78.0, 650.0, 46.0, 424.0)

  /// The plot as SVG.
  package var svg: String {
    let (horizontal, vertical) = (
      Axis(series.flatMap { $0.points.map(\.x) }), Axis(series.flatMap { $0.points.map(\.y) })
    )
    func x(_ value: Double) -> Double { Self.left + horizontal.share(value) * (Self.right - Self.left) }
    func y(_ value: Double) -> Double { Self.bottom - vertical.share(value) * (Self.bottom - Self.top) }
    var lines = [Self.head, Self.text(Self.left, 26, title, "title", "start")]
    for tick in horizontal.ticks {
      lines.append(Self.line(x(tick), Self.top, x(tick), Self.bottom))
      lines.append(Self.text(x(tick), Self.bottom + 18, xLabel(tick), "label", "middle"))
    }
    for tick in vertical.ticks {
      lines.append(Self.line(Self.left, y(tick), Self.right, y(tick)))
      lines.append(Self.text(Self.left - 8, y(tick) + 4, yLabel(tick), "label", "end"))
    }
    lines.append(Self.text((Self.left + Self.right) / 2, Self.bottom + 42, xTitle, "label", "middle"))
    let middle = (Self.top + Self.bottom) / 2
    lines.append(
      #"<g transform="rotate(-90 16 \#(middle))">"# + Self.text(16, middle, yTitle, "label", "middle") + "</g>")
    for (number, one) in series.enumerated() {
      let style = Self.style(one.style)
      let path = one.points.map { "\(Self.short(x($0.x))),\(Self.short(y($0.y)))" }.joined(separator: " ")
      lines.append(#"<polyline fill="none" stroke-width="2" \#(style.stroke) points="\#(path)"/>"#)
      for point in one.points {
        let place = #"cx="\#(Self.short(x(point.x)))" cy="\#(Self.short(y(point.y)))""#
        lines.append(#"<circle r="3" \#(place) fill="\#(style.colour)"/>"#)
      }
      let row = Self.top + 10 + Double(number) * 22
      lines.append(
        #"<line x1="\#(Self.right + 16)" x2="\#(Self.right + 44)" y1="\#(row)" y2="\#(row)" stroke-width="2" "#
          + style.stroke + "/>")
      lines.append(Self.text(Self.right + 52, row + 4, one.name, "label", "start"))
    }
    return lines.joined(separator: "\n") + "\n</svg>\n"
  }

  private static let head = """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(short(width)) \(short(height))" \
    font-family="system-ui, sans-serif">
    <style>
    .label { font-size: 12px; fill: #57606a } .title { font-size: 16px; fill: #24292f } .grid { stroke: #d0d7de }
    @media (prefers-color-scheme: dark) {
    .label { fill: #9ea7b3 } .title { fill: #e6edf3 } .grid { stroke: #30363d } }
    </style>
    """

  private static func style(_ number: Int) -> (colour: String, stroke: String) {
    let colour = colours[number % colours.count]
    let dash = dashes[number / colours.count % dashes.count]
    return (colour, #"stroke="\#(colour)""# + (dash.isEmpty ? "" : #" stroke-dasharray="\#(dash)""#))
  }

  private static func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) -> String {
    #"<line class="grid" x1="\#(short(x1))" y1="\#(short(y1))" x2="\#(short(x2))" y2="\#(short(y2))"/>"#
  }

  private static func text(_ x: Double, _ y: Double, _ words: String, _ style: String, _ anchor: String) -> String {
    var escaped = ""
    for letter in words {
      switch letter {
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "&": escaped += "&amp;"
      default: escaped.append(letter)
      }
    }
    return #"<text class="\#(style)" text-anchor="\#(anchor)" x="\#(short(x))" y="\#(short(y))">\#(escaped)</text>"#
  }

  private static func short(_ value: Double) -> String { String(format: "%.5g", value) }
}

/// A logarithmic axis from one round number to another.
struct Axis {
  let ticks: [Double]
  private let lower: Double
  private let upper: Double

  init(_ values: [Double]) {
    let positive = values.filter { $0 > 0 && $0.isFinite }
    let least = positive.min() ?? 1
    let most = max(positive.max() ?? 10, least * 1.000_001)
    // Values over more than two decades use only powers of ten; otherwise 1, 2 and 5 times each.
    let steps: [Double] = most / least > 100 ? [1] : [1, 2, 5]
    let exponents = Int(log10(least).rounded(.down)) - 1...Int(log10(most).rounded(.up)) + 1
    let candidates = exponents.flatMap { exponent in steps.map { $0 * pow(10, Double(exponent)) } }
    let first = candidates.last { $0 <= least * 1.000_001 } ?? candidates[0]
    let last = candidates.first { $0 >= most * 0.999_999 } ?? candidates[candidates.count - 1]
    ticks = candidates.filter { $0 >= first && $0 <= last }
    (lower, upper) = (log10(first), log10(last))
  }

  /// The position of a value between the ends of the axis, from 0 to 1.
  func share(_ value: Double) -> Double { upper > lower ? (log10(value) - lower) / (upper - lower) : 0.5 }
}
