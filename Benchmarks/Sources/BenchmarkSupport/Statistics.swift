/// The durations of several rounds of the same work.
package struct Rounds {
  package let values: [Double]

  package init(_ values: [Double]) { self.values = values.sorted() }

  package var isEmpty: Bool { values.isEmpty }
  package var least: Double { values.first ?? 0 }
  package var most: Double { values.last ?? 0 }
  package var median: Double { Measuring.median(values) }

  /// The value that the given share of the rounds does not exceed.
  package func percentile(_ share: Double) -> Double {
    guard !values.isEmpty else { return 0 }
    let rank = Int((share * Double(values.count)).rounded(.up)) - 1
    return values[min(max(rank, 0), values.count - 1)]
  }
}
