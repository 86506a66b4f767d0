extension Int {
  /// The sum of two numbers that are not negative, or the greatest number there is.
  func saturatingAdd(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
