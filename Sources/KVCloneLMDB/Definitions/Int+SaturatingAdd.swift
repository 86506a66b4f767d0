extension Int {
  /// Returns the sum of two non-negative numbers, or the greatest number on overflow.
  func saturatingAdd(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
