extension UInt64 {
  /// Returns the product, or the greatest number on overflow.
  package func saturatingMultiply(_ other: UInt64) -> UInt64 {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? .max : product
  }

  /// Returns the sum, or the greatest number on overflow: lengths from a file may be anything.
  package func saturatingAdd(_ other: UInt64) -> UInt64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
